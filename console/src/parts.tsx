/** The small parts that every screen is made of. */
import { create, toJsonString, type DescMethod } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { TaskOutcome, TaskOutcomeSchema } from "@sidemirror/api/v1/common";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { problemOf, useApi, type Asked, type Problem } from "./api.js";
import { hrefOf, scopeOf, usePlace } from "./place.js";
import { grpcAddress } from "./session.js";
import { counted, directionOf, headline, millisOf, seen, word } from "./words.js";

const NAME = "Sidemirror";

/** A screen's heading, which takes the focus when the screen is opened, and stands in the page's title. `of`: which one
 * of them it is. */
export function Heading(props: { children: string; of?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { children, of = "" } = props;
  useLayoutEffect(() => {
    document.title = [[children, headline(of, 60)].filter(Boolean).join(": "), NAME].join(" – ");
  }, [children, of]);
  // With what it stands above: where one heading takes the place of another, the focus does not get lost between.
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

/** The heading of a screen whose data is not there. */
export function Unread(props: { name: string }) {
  return (
    <div class="title">
      <Heading>{props.name}</Heading>
    </div>
  );
}

/** A link to another place on the page, in the same scope. */
export function Link(props: {
  to: readonly string[];
  query?: Record<string, string>;
  class?: string;
  current?: boolean;
  title?: string;
  children: ComponentChildren;
}) {
  const scope = scopeOf(usePlace().query);
  return (
    <a
      href={hrefOf(props.to, { ...scope, ...props.query })}
      class={props.class}
      title={props.title}
      aria-current={props.current ? "page" : undefined}
    >
      {props.children}
    </a>
  );
}

/** An id in letters of one width. Where there is no room it is cut; whole on hover, with the focus, and when copied. */
export function Id(props: { children: string; copied?: boolean }) {
  const id = (
    <bdi class="id" title={seen(props.children)}>
      {headline(props.children, 256)}
    </bdi>
  );
  if (!props.copied) return id;
  return (
    <span class="copied">
      {id} <Copy text={props.children} quiet />
    </span>
  );
}

/** Copies a text. */
function Copy(props: { text: string; quiet?: boolean }) {
  const [told, setTold] = useState("Copy");
  const copy = () => {
    navigator.clipboard.writeText(props.text).then(
      () => setTold("Copied"),
      () => setTold("Not allowed: select it"),
    );
    setTimeout(() => setTold("Copy"), 2_000);
  };
  return (
    <button type="button" class={props.quiet ? "quiet" : undefined} onClick={copy} aria-live="polite">
      {told}
    </button>
  );
}

/** What is said of a thing in a word. */
export function Badge(props: { tone?: "good" | "bad" | "warn" | "told" | ""; title?: string; children: ComponentChildren }) {
  return (
    <span class={`badge ${props.tone ?? ""}`} title={props.title}>
      {props.children}
    </span>
  );
}

/** How a task ended; not for one whose end is not reported. */
export function Outcome(props: { of: TaskOutcome }) {
  const tone = props.of === TaskOutcome.SUCCESS ? "good" : props.of === TaskOutcome.PARTIAL ? "warn" : "bad";
  return <Badge tone={tone}>{word(TaskOutcomeSchema, props.of)}</Badge>;
}

/** A moment in the viewer's zone, with its date unless it is of today; the exact one on hover. `exact`: to the
 * millisecond. */
export function Time(props: { at: Timestamp | undefined; exact?: boolean }) {
  if (props.at === undefined) return <span class="dim">–</span>;
  const { date, clock, millis, whole } = shapesOf(props.at);
  const time = props.exact ? clock + millis : clock;
  const shown = date === dayOf(new Date()) ? time : `${date} ${time}`;
  return (
    <time dateTime={new Date(millisOf(props.at)).toISOString()} title={whole}>
      {shown}
    </time>
  );
}

// To ask for the zone's name is slow, and a screen has a hundred times.
const zones = new Map<number, string>();

/** The name of the viewer's zone. `ahead`: of UTC, in minutes; a zone that was changed meanwhile differs in it. */
function zoneAt(ahead: number): string {
  const known = zones.get(ahead) ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  zones.set(ahead, known);
  return known;
}

function shapesOf(at: Timestamp): { date: string; clock: string; millis: string; whole: string } {
  const moment = new Date(millisOf(at));
  const clock = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
  const micros = String(Math.floor(at.nanos / 1_000)).padStart(6, "0");
  const ahead = -moment.getTimezoneOffset();
  const zone = `${ahead < 0 ? "-" : "+"}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`;
  const name = zoneAt(ahead);
  const date = dayOf(moment);
  return { date, clock, millis: `.${micros.slice(0, 3)}`, whole: `${date} ${clock}.${micros} ${zone} (${name})` };
}

function dayOf(moment: Date): string {
  return [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

// What a long text shows at first. 256 KiB would push everything else off the screen.
const FIRST_CHARS = 600;
const FIRST_LINES = 8;

/** A text of an agent, a tool or a model: always text, its unseen characters named, long ones cut until asked for.
 * `said`: it may be a rule's sentence; others are set by the first letter of each line. `marked`: parts of it that stand
 * out, each where it is found first. */
export function Text(props: { children: string; plain?: boolean; said?: boolean; marked?: readonly string[] }) {
  const [whole, setWhole] = useState(false);
  const text = props.children;
  const first = text.split("\n", FIRST_LINES + 1).slice(0, FIRST_LINES).join("\n").slice(0, FIRST_CHARS);
  const kind = props.said ? "text plain written" : props.plain ? "text plain" : "text";
  const dir = props.said ? directionOf(text) : undefined;
  if (first.length >= text.length) return <div class={kind} dir={dir}>{withMarks(text, props.marked)}</div>;
  return (
    <div class="long">
      {whole ? (
        <div class={`${kind} whole`} dir={dir} tabIndex={0} role="region" aria-label="The whole text">
          {pieces(text).map((piece, index) => (
            <div key={index}>{piece ? withMarks(piece, props.marked) : " "}</div>
          ))}
        </div>
      ) : (
        <div class={kind} dir={dir}>{withMarks(first, props.marked)}…</div>
      )}
      <button type="button" class="quiet" onClick={() => setWhole(!whole)} aria-expanded={whole}>
        {whole ? "Show less" : `Show all ${counted(text.length, "character")}`}
      </button>
    </div>
  );
}

/** What a lesson or a recovery says, in one line. */
export function Line(props: { children: string; chars?: number }) {
  return <bdi dir={directionOf(props.children)}>{headline(props.children, props.chars) || "no text"}</bdi>;
}

function withMarks(text: string, marked: readonly string[] = []): ComponentChildren {
  const found = marked.flatMap((part) => {
    const at = text.indexOf(part);
    return at < 0 ? [] : [{ at, end: at + part.length }];
  });
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const one of found.sort((first, other) => first.at - other.at)) {
    if (one.at < end) continue;
    parts.push(seen(text.slice(end, one.at)), <mark key={one.at}>{seen(text.slice(one.at, one.end))}</mark>);
    end = one.end;
  }
  return [...parts, seen(text.slice(end))];
}

// A browser takes minutes to break one line of 256 KiB.
const PIECE_CHARS = 2_000;

/** A long text in parts that are laid out one by one: they end with a line, or in a line that is longer than a part. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; ) {
    const most = at + PIECE_CHARS;
    const line = most < text.length ? text.lastIndexOf("\n", most) : -1;
    // Not between the two halves of a character.
    const cut = (text.codePointAt(most - 1) ?? 0) > 0xffff ? most - 1 : most;
    const end = line >= at ? line : cut;
    found.push(text.slice(at, end));
    at = line >= at ? end + 1 : end;
  }
  return found;
}

/** Names and values, side by side or one below the other. Pairs whose value is missing are left out. */
export function Facts(props: { of: readonly (readonly [string, ComponentChildren])[]; stacked?: boolean }) {
  const told = props.of.filter(([, value]) => value !== undefined && value !== "" && value !== false);
  return (
    <dl class={props.stacked ? "facts stacked" : "facts"}>
      {told.map(([name, value]) => (
        <div key={name}>
          <dt>{seen(name)}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What is shown in place of data that does not come. `asksAgain`: the page does so by itself, if it may be over soon. */
export function Failed(props: { problem: Problem; again?: () => void; asksAgain?: boolean }) {
  const { title, todo, passes } = props.problem;
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>{seen(title)}</strong> {seen(todo)} {props.asksAgain && passes && "This page asks again by itself."}
      </p>
      {props.again && (
        <button type="button" onClick={props.again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What is shown where there is nothing yet: why, and what to do. */
export function Empty(props: { children: ComponentChildren }) {
  return <div class="notice">{props.children}</div>;
}

/** An answer once it is there; until then nothing but a place for it. */
export function Answered<T>(props: { asked: Asked<T>; children: (value: T) => ComponentChildren }) {
  const { value, problem, again } = props.asked;
  return (
    <>
      {problem && <Failed problem={problem} again={again} asksAgain />}
      {value === undefined ? !problem && <p class="waiting" role="status">Loading</p> : props.children(value)}
    </>
  );
}

/** Where a question that goes beside the screen's own has no answer: what is missing, why, and a way to ask again. */
export function Missing(props: { asked: Asked<unknown>; what: string }) {
  const { problem, again } = props.asked;
  if (!problem) return null;
  return (
    <p class="notice warn" role="status">
      {props.what}: not read. {seen(problem.title)}{" "}
      <button type="button" onClick={again}>
        Try again
      </button>
    </p>
  );
}

/** A button that reads more. Where that fails it says so, and tries again. */
export function More(props: { read: () => Promise<void>; children: string }) {
  const [isReading, setReading] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const press = async () => {
    if (isReading) return;
    setReading(true);
    try {
      await props.read();
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setReading(false);
    }
  };
  return (
    <>
      {problem && <Failed problem={problem} />}
      <p>
        <button type="button" onClick={() => void press()} aria-busy={isReading}>
          {problem ? `Try again: ${props.children}` : props.children}
        </button>
      </p>
    </>
  );
}

/** What this screen has asked, as a command of grpcurl. */
export function Grpcurl(props: { method: DescMethod; request: Record<string, unknown> }) {
  const { scope } = useApi();
  const { method } = props;
  const message = create(method.input, { ...scope, ...props.request });
  const json = toJsonString(method.input, message, { useProtoFieldName: true });
  const address = grpcAddress();
  const path = address.startsWith(UNIX) ? address.slice(UNIX.length) : "";
  const to = path ? `-unix -d ${quoted(json)} ${quoted(path)}` : `-d ${quoted(json)} ${isPlain(address) ? address : quoted(address)}`;
  const command = `grpcurl -plaintext ${to} ${method.parent.typeName}/${method.name}`;
  return (
    <details class="grpcurl">
      <summary>As grpcurl</summary>
      <div>
        <code tabIndex={0}>{command}</code>
        <Copy text={command} />
      </div>
    </details>
  );
}

const UNIX = "unix:";

/** Whether a shell takes an address as it is. */
function isPlain(address: string): boolean {
  return /^[\w.:-]+$/.test(address);
}

/** A word for a POSIX shell; what is no ASCII, or a control, is escaped as JSON escapes it. */
function quoted(json: string): string {
  const ascii = json.replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `'${ascii.replaceAll("'", "'\\''")}'`;
}
