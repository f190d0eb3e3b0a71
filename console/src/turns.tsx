/** Turns, the newest first, narrowed by what they came to. New ones come in as they begin. */
import { TaskOutcome, TaskOutcomeSchema } from "@sidemirror/api/v1/common";
import {
  ThinkingService,
  TurnState,
  TurnStateSchema,
  type Turn as TurnRecord,
} from "@sidemirror/api/v1/thinking";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useEffect, useRef } from "preact/hooks";

import { useApi, useAsked, type Api } from "./api.js";
import { Elsewhere } from "./elsewhere.js";
import { Choice, Filters, optionsOf, type Query } from "./filters.js";
import { joined, useKept, type Part } from "./kept.js";
import { useLive } from "./live.js";
import { LiveState } from "./live_state.js";
import { NearSessions } from "./near.js";
import { Badge, Answered, Empty, Grpcurl, Heading, Id, Link, More, Outcome, Time } from "./parts.js";
import { hrefOf, scopeOf } from "./place.js";
import { counted, headline, lasting, millisOf, percent, whole, word } from "./words.js";

const PAGE = 50;
// What the turns were told is no part of the question to the sidecar: so many are read at once, and looked through.
const LOOKED_AT = 200;
const MOST_LOOKED_AT = 1_000;
// How long changes are gathered before the list is read again.
const GATHER_MS = 400;
// And how many times as long as reading it takes: a filter by what was told reads much, and the sidecar has agents to serve.
const GATHER_TIMES = 4;

/** How a turn stands, in a word. */
export function Standing(props: { turn: TurnRecord }) {
  const { state, outcome, score } = props.turn;
  if (state === TurnState.OPEN) return <Badge tone="told">open</Badge>;
  if (outcome === TaskOutcome.UNSPECIFIED) {
    return state === TurnState.ABANDONED ? <Badge tone="warn">abandoned</Badge> : <Badge>ended</Badge>;
  }
  return (
    <>
      <Outcome of={outcome} />
      {score !== undefined && (
        <span class="dim wide" title="How well the task went">
          {" "}
          {percent(score)}
        </span>
      )}
    </>
  );
}

/** How many lessons and recoveries a turn was given: told by the sidecar, and recalled by its agent. */
function givenTo(turn: TurnRecord): number {
  return turn.lessonCount + turn.recalledCount;
}

/** What else the sidecar told a turn, also because its agent asked, in words. */
function saidTo(turn: TurnRecord): string[] {
  const counts = [
    [turn.nudgeCount, "nudge"],
    [turn.reflectionCount, "reflection"],
    [judgedIn(turn), "critique"],
  ] as const;
  const said = counts.filter(([count]) => count > 0).map(([count, noun]) => counted(count, noun));
  return turn.reviseCount > 0 ? [...said, `${turn.reviseCount} revise`] : said;
}

/** How many critiques a turn got; of an older one, or of an earlier server, those that it was told. */
function judgedIn(turn: TurnRecord): number {
  return Math.max(turn.judgedCount, turn.critiqueCount);
}

function isTold(turn: TurnRecord): boolean {
  return givenTo(turn) > 0 || saidTo(turn).length > 0;
}

/** Turns that were told something, by the filter's value. */
const TOLD: ReadonlyMap<string, (turn: TurnRecord) => boolean> = new Map([
  ["something", isTold],
  ["revise", (turn: TurnRecord) => turn.reviseCount > 0],
  ["let through", (turn: TurnRecord) => turn.judgedCount > turn.reviseCount],
  ["nothing", (turn: TurnRecord) => !isTold(turn) && !turn.isShadow],
  ["shadow", (turn: TurnRecord) => turn.isShadow],
]);

/** The fields of ListTurnsRequest that a query stands for. */
function narrowed(query: Query): Record<string, unknown> {
  const state = TurnState[(query.state ?? "").toUpperCase() as keyof typeof TurnState];
  const outcome = TaskOutcome[(query.outcome ?? "").toUpperCase() as keyof typeof TaskOutcome];
  return {
    sessionId: query.session ?? "",
    ...(state !== undefined && { state }),
    ...(outcome !== undefined && { outcomes: [outcome] }),
    ...timed("fromTime", query.from),
    ...timed("untilTime", query.until),
  };
}

function timed(field: string, local: string | undefined): Record<string, unknown> {
  const ms = local ? new Date(local).getTime() : NaN;
  return Number.isNaN(ms) ? {} : { [field]: timestampFromMs(ms) };
}

/** `lookedAt`: how many turns were looked through. */
interface TurnsPart extends Part<TurnRecord> {
  readonly lookedAt: number;
}

async function read(api: Api, query: Query, pageToken: string, signal?: AbortSignal): Promise<TurnsPart> {
  const fits = TOLD.get(query.told ?? "");
  const rows: TurnRecord[] = [];
  let [next, lookedAt] = [pageToken, 0];
  do {
    const asked = { ...api.scope, ...narrowed(query), pageSize: fits ? LOOKED_AT : PAGE, pageToken: next };
    const page = await api.thinking.listTurns(asked, { signal });
    rows.push(...(fits ? page.turns.filter(fits) : page.turns));
    next = page.nextPageToken;
    lookedAt += page.turns.length;
  } while (next !== "" && rows.length < PAGE && lookedAt < MOST_LOOKED_AT);
  return { rows, next, lookedAt };
}

export function Turns(props: { query: Query }) {
  const api = useApi();
  const { query } = props;
  const tookMs = useRef(0);
  const first = useAsked(`turns ${JSON.stringify(query)}`, async (signal) => {
    const beganMs = performance.now();
    const part = await read(api, query, "", signal);
    tookMs.current = performance.now() - beganMs;
    return part;
  });
  const [older, setOlder] = useKept<TurnsPart>("older turns");
  const gathering = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const live = useLive({ on: true, sessionId: query.session ?? "", cursor: "" }, () => {
    gathering.current ??= setTimeout(() => {
      gathering.current = undefined;
      first.again();
    }, Math.max(GATHER_MS, GATHER_TIMES * tookMs.current));
  });
  useEffect(() => () => clearTimeout(gathering.current), []);
  // What happened between the first answer and the watch.
  useEffect(() => {
    if (live.state === "live") first.again();
  }, [live.state, first.again]);
  const readOlder = async (part: TurnsPart) => {
    const more = await read(api, query, part.next);
    setOlder({ rows: [...part.rows, ...more.rows], next: more.next, lookedAt: part.lookedAt + more.lookedAt });
  };
  return (
    <>
      <div class="title">
        <Heading>Turns</Heading>
        <LiveState live={live} />
      </div>
      <TurnFilters query={query} />
      <Answered asked={first}>
        {(newest) => {
          const part = joined(newest, older, (turn: TurnRecord) => turn.turnId);
          return (
            <>
              {part.rows.length === 0 ? <NoTurns query={query} /> : <Table turns={part.rows} />}
              {query.told && (
                <p class="dim">{`${counted(part.lookedAt, "turn")} looked through, the newest first. ${cameTo(part.rows)}`}</p>
              )}
              {part.next !== "" && <More read={() => readOlder(part)}>Older turns</More>}
            </>
          );
        }}
      </Answered>
      <Grpcurl method={ThinkingService.method.listTurns} request={{ ...narrowed(query), pageSize: PAGE }} />
    </>
  );
}

/** What turns came to, in numbers. */
function cameTo(turns: readonly TurnRecord[]): string {
  const counts = new Map<string, number>();
  for (const { state, outcome } of turns) {
    const name = word(TaskOutcomeSchema, outcome) || (state === TurnState.OPEN ? "open" : "no outcome");
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const each = [...counts].map(([name, count]) => `${whole(count)} ${name}`).join(", ");
  return turns.length > 0 ? `${counted(turns.length, "turn")} shown: ${each}.` : "";
}

function Table(props: { turns: readonly TurnRecord[] }) {
  return (
    <table class="turns">
      <thead>
        <tr>
          <th scope="col">Started</th>
          <th scope="col">Task</th>
          <th scope="col">Outcome</th>
          <th scope="col" class="number wide" title="Lessons and recoveries that it was told, or recalled by itself, then nudges, reflections and critiques, and how many of these said to revise">
            Told
          </th>
          <th scope="col" class="number wide" title="Tool calls, and how many of them failed">
            Calls
          </th>
          <th scope="col" class="number wide" title="By the sidecar's clock">
            Took
          </th>
          <th scope="col" class="wide">
            Session
          </th>
        </tr>
      </thead>
      <tbody>
        {props.turns.map((turn) => (
          <tr key={turn.turnId}>
            <td>
              <Time at={turn.startTime} />
            </td>
            <td class="task">
              <Link to={["turns", turn.turnId]}>
                <bdi>{headline(turn.task) || <span class="dim">no task: {headline(turn.turnId)}</span>}</bdi>
              </Link>
              <p class="narrow dim small">
                <ToldTo turn={turn} words /> <Calls turn={turn} words /> {tookOf(turn)} <OfSession turn={turn} />
              </p>
            </td>
            <td>
              <Standing turn={turn} />
            </td>
            <td class="number wide">
              <ToldTo turn={turn} />
            </td>
            <td class="number wide">
              <Calls turn={turn} />
            </td>
            <td class="number wide">{tookOf(turn)}</td>
            <td class="wide session">
              <OfSession turn={turn} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How much a turn was told. `words`: where no heading says what the number is. */
function ToldTo(props: { turn: TurnRecord; words?: boolean }) {
  const { recalledCount, isShadow } = props.turn;
  const given = givenTo(props.turn);
  if (isShadow) {
    return (
      <Badge tone="warn" title="advice__mode was shadow: what it would have been told is kept, and it was not told">
        shadow
      </Badge>
    );
  }
  const said = saidTo(props.turn).join(", ");
  if (!given && !said) return null;
  if (props.words) {
    const isRecalled = given > 0 && recalledCount === given;
    const told = [!isRecalled && given > 0 && given, said].filter(Boolean).join(", ");
    return <>{[isRecalled && `recalled ${given}`, told && `told ${told}`].filter(Boolean).join(", ")},</>;
  }
  return (
    <>
      {given > 0 && <span title={recalledCount ? `${recalledCount} of them recalled by the agent` : undefined}>{given}</span>}
      {said && <span class="dim small said"> {said}</span>}
    </>
  );
}

function Calls(props: { turn: TurnRecord; words?: boolean }) {
  const { toolCallCount, toolErrorCount } = props.turn;
  if (!toolCallCount) return null;
  return (
    <>
      {props.words ? counted(toolCallCount, "call") : toolCallCount}
      {toolErrorCount > 0 && (
        <span class="bad" title={counted(toolErrorCount, "failed call")}>
          {" "}
          {toolErrorCount} ✕
        </span>
      )}
      {props.words && ","}
    </>
  );
}

function OfSession(props: { turn: TurnRecord }) {
  const session = props.turn.sessionId;
  return (
    <Link to={["turns"]} query={{ session }} title="Only this session">
      <Id>{session}</Id>
    </Link>
  );
}

/** How long an ended turn took. */
export function tookOf(turn: TurnRecord): string {
  if (turn.state === TurnState.OPEN || !turn.startTime || !turn.updateTime) return "";
  return lasting(Math.max(0, millisOf(turn.updateTime) - millisOf(turn.startTime)));
}

const NAMES = ["outcome", "state", "told", "session", "from", "until"];

function TurnFilters(props: { query: Query }) {
  const { query } = props;
  const open = (event: SubmitEvent) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget as HTMLFormElement).get("id")).trim();
    if (id) location.hash = hrefOf(["turns", id], { ...scopeOf(query), sought: "1" });
  };
  const told = [
    ["something", "something"],
    ["nothing", "nothing"],
    ["revise", "answer doubtful: revise"],
    ["let through", "answer let through"],
    ["shadow", "in shadow"],
  ] as const;
  const byId = (
    <form onSubmit={open} class="open">
      <label>
        Turn
        <input name="id" maxLength={128} placeholder="id or its start" size={12} />
      </label>
    </form>
  );
  return (
    <Filters screen="turns" query={query} names={NAMES} beside={byId}>
      <Choice name="outcome" label="Outcome" query={query} options={optionsOf(TaskOutcomeSchema)} />
      <Choice name="state" label="State" query={query} options={optionsOf(TurnStateSchema)} />
      <Choice name="told" label="Told" query={query} options={told} />
      <label>
        Session
        <input name="session" value={query.session ?? ""} maxLength={128} placeholder="id or a part" size={10} />
      </label>
      {["from", "until"].map((name) => (
        <label key={name}>
          {name === "from" ? "From" : "Until"}
          <input name={name} type="datetime-local" step={1} value={query[name] ?? ""} />
        </label>
      ))}
    </Filters>
  );
}

function NoTurns(props: { query: Query }) {
  const { query } = props;
  if (NAMES.some((name) => query[name])) {
    return (
      <>
        <Empty>
          <p>
            No turn is like that. <Link to={["turns"]}>Show all turns</Link>
          </p>
        </Empty>
        {query.session && <NearSessions part={query.session} />}
        <Elsewhere />
      </>
    );
  }
  return (
    <>
      <Empty>
        <p>
          <strong>No turn is recorded here yet.</strong> They appear as soon as an agent reports one: attach a coding agent
          with <code>sidemirror attach</code>, use a client, or try <code>sidemirror replay FILE --address …</code>. What
          hooks tell of belongs to the project of its folder.
        </p>
      </Empty>
      <Elsewhere />
    </>
  );
}
