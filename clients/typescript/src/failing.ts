// Whether the result of a tool may report a failure, though the tool says no such thing. As `sidemirror_client.failing` of the
// Python client, which says why; `tests/clients/test_failing.py` holds both against the sidecar.

/** In characters. A result names its failure in its first or last lines, and JSON is read as far as the sidecar reads it. */
const READ_CHARS = 2_000;
const JSON_CHARS = 100_000;
const LINE_CHARS = 400;
const READ_LINES = 20;

/** Fields of JSON, or of a dictionary as Python shows it, that say that something went wrong. */
const FIELD = new RegExp(
  "['\"](?:" +
    "(?:errors?|err|exception|error_?message)['\"]\\s{0,4}:\\s{0,4}" +
    "(?!null\\b|none\\b|false\\b|0\\b|\\[\\]|\\{\\}|(?<quote>['\"])(?:null|none)?\\k<quote>)\\S|" +
    "(?:is_?error|failed|has_error)['\"]\\s{0,4}:\\s{0,4}true\\b|" +
    "(?:success|ok|succeeded|successful)['\"]\\s{0,4}:\\s{0,4}false\\b|" +
    "(?:exit_?code|return_?code|exit_status)['\"]\\s{0,4}:\\s{0,4}['\"]?-?[1-9]|" +
    "(?:status|state|result|type|outcome)['\"]\\s{0,4}:\\s{0,4}['\"](?:error|failed|failure|fatal|exception)['\"]|" +
    "(?:(?:http_)?status|status_?code|code)['\"]\\s{0,4}:\\s{0,4}['\"]?[45]\\d\\d\\b)",
  "i",
);
const LIST = /^\[\s{0,20}[[{"'\d\]-]/;
/** Words of a line that says what went wrong: of the first and the last one, */
const SAYS_SO = new RegExp(
  "error|exception|fatal|fail|panic|abort|traceback|timed out|did not pass|invalid|could not find|no such|unknown|" +
    "denied|not found|malformed|not exist|expected to be|interrupt|exit|usage:|syntax error|no [\\p{L}\\p{N}_]+ code|format your",
  "iu",
);
/** and of one in which a program speaks, which begins with the program's name. */
const BY_PROGRAM = new RegExp(
  "^(?:/[\\p{L}\\p{N}_./-]{1,80}|[a-z][\\p{L}\\p{N}_.+-]{0,30}|-[\\p{L}\\p{N}_]{1,3})(?: \\([\\p{L}\\p{N}_ ]{1,20}\\))?: .*?" +
    "(?:error|fail|\\bno|n't\\b|\\bun\\w|\\bin\\w|\\bmis|\\bmust|\\bshould|\\bis |can|denied|refus|time|out\\b|exceed|" +
    "ambiguous|duplicate|exists|expect|bad\\b|illegal|must|too |reset|broken|closed|requires|try )",
  "iu",
);

/** Whether a tool's result may report a failure. */
export function mayHaveFailed(text: string): boolean {
  const whole = text.trim();
  if (whole.startsWith("{")) return FIELD.test(whole.slice(0, JSON_CHARS));
  if (whole === "" || LIST.test(whole)) return false;
  const said = whole.length > 2 * READ_CHARS ? `${whole.slice(0, READ_CHARS)}\n${whole.slice(-READ_CHARS)}` : whole;
  const trimmed = said.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).map((line) => line.trim());
  const lines = trimmed.filter((line) => line !== "").map((line) => line.slice(0, LINE_CHARS));
  if (lines.length === 0) return false;
  if ([...lines.slice(0, 2), ...lines.slice(-2)].some((line) => SAYS_SO.test(line))) return true;
  const read = lines.slice(0, READ_LINES);
  return 2 * read.filter((line) => BY_PROGRAM.test(line)).length >= read.length;
}
