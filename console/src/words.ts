/** Words for what the contract has as numbers. */
import type { DescEnum } from "@bufbuild/protobuf";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { RecoveryMoveKindSchema, type Memory, type RecoveryMove } from "@sidemirror/api/v1/reflective_memory";

/** The name of an enum's value in lower case, without the enum's own name; empty for 0. */
export function word(names: DescEnum, value: number): string {
  if (value === 0) return "";
  const name = names.value[value]?.localName ?? String(value);
  return name.toLowerCase().replaceAll("_", " ");
}

/** A name in camelCase as words. */
export function spaced(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

// What is invisible, or changes how the text around it is shown: controls, formats, separators of lines, half
// surrogates and private characters. Line breaks and tabs stay, and the two joiners that scripts and emoji need.
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

// Scripts stack a few marks on a letter; more of them would run over what is around it.
const STACKED = /(\p{M}{8})(\p{M}+)/gu;

/** A text whose unseen characters are named instead, and so are marks that are stacked high. */
export function seen(text: string): string {
  const shown = text.replaceAll(STACKED, (_, first: string, rest: string) => `${first}‹${[...rest].length} marks›`);
  return shown.replaceAll(UNSEEN, (one) => `‹U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** The first line that says something, cut to `chars`, which a mark says; unseen characters are named. */
export function headline(text: string, chars = 300): string {
  const line = text.slice(0, 4 * chars).split("\n").find((one) => one.trim() !== "") ?? "";
  return seen(line.slice(0, chars)).trim() + (line.trimEnd().length > chars ? "…" : "");
}

const LETTERS = /\p{L}/gu;
const RIGHT_TO_LEFT = /[\p{sc=Arab}\p{sc=Hebr}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}]/u;
// So much of a text says which way it is written.
const LOOKED_AT = 1_000;

/** Which way most letters of a text are written. The first one does not say it: a rule's English may begin with the name of
 * a tool. */
export function directionOf(text: string): "ltr" | "rtl" {
  const letters = text.slice(0, LOOKED_AT).match(LETTERS) ?? [];
  return 2 * letters.filter((one) => RIGHT_TO_LEFT.test(one)).length > letters.length ? "rtl" : "ltr";
}

/** A whole number with its thousands set apart. The browser's own formats are slow. */
export function whole(count: number | bigint): string {
  return Number(count) < 1_000 ? String(count) : count.toLocaleString("en");
}

/** `1 call`, `2 calls`. */
export function counted(count: number | bigint, noun: string): string {
  return `${whole(count)} ${noun}${Number(count) === 1 ? "" : "s"}`;
}

// So many episodes a lesson records.
const MOST_EPISODES = 16;

/** How often a lesson was learned, and of how many episodes: one that is told again counts once more among the times
 * only. The same words as in `operations/lesson_sources.py`. */
export function timesLearned({ strength, episodeCount }: Memory): string {
  const repeated = strength > Math.max(1, episodeCount) ? ", each repetition counted" : "";
  const times = `${counted(strength, "time")}${repeated}`;
  if (episodeCount === 0) return times;
  const of = episodeCount === 1 ? "1 episode" : counted(episodeCount, "different episode");
  return `${times}, from ${of}${episodeCount === MOST_EPISODES ? " or more" : ""}`;
}

/** What was done after a failure, in words. Moves of one argument differ by the form alone. */
export function moveName(move: RecoveryMove): string {
  const steps = move.steps.map((step) => headline(step, 120)).join(", ") + (move.form && ` as ${headline(move.form, 120)}`);
  return [word(RecoveryMoveKindSchema, move.kind), steps].filter(Boolean).join(": ");
}

/** Why a memory is in quarantine: its kind, and the reason if there is one. */
export function heldBecause(memory: Memory): string {
  return headline([memory.quarantine, memory.reason].filter(Boolean).join(": "), 200);
}

/** Whether a lesson was learned from a user who corrected the agent. */
export function isCorrection(memory: Memory): boolean {
  const causes = memory.metadata?.learned_from;
  return memory.quarantine === "correction" || (Array.isArray(causes) && causes.includes("correction"));
}

/** The command that makes a memory active. */
export function reviewCommand(memory: Memory): string {
  return `sidemirror memory review ${headline(memory.id, 256)} active --reason …`;
}

/** The words by which something was found, as the index has them; empty for none. */
export function stems(words: readonly string[]): string {
  return words.length > 0 ? `word stems ${words.join(", ")}` : "";
}

/** A share as percent, without a sign. */
export function percent(part: number): string {
  return `${(100 * part).toFixed(part > 0 && part < 0.1 ? 1 : 0)}\u00a0%`;
}

/** A lift in percentage points, with its sign. */
export function points(lift: number): string {
  const value = Math.round(100 * lift);
  return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${Math.abs(value)}`;
}

/** USD with as many digits as say something. */
export function usd(amount: number): string {
  return `$${amount >= 1 || amount === 0 ? amount.toFixed(2) : amount.toPrecision(2)}`;
}

export function millisOf(moment: Timestamp): number {
  return Number(moment.seconds) * 1_000 + moment.nanos / 1e6;
}

/** A duration in the unit that fits it. */
export function lasting(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function durationMs(duration: Duration): number {
  return Number(duration.seconds) * 1_000 + duration.nanos / 1e6;
}
