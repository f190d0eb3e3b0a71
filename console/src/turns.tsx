/** Turns, the newest first, narrowed by session, state and outcome. New ones come in as they begin. */
import { TaskOutcome, TaskOutcomeSchema } from "@sidemirror/api/v1/common";
import {
  ThinkingService,
  TurnState,
  TurnStateSchema,
  type Turn as TurnRecord,
} from "@sidemirror/api/v1/thinking";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useEffect, useRef, useState } from "preact/hooks";

import { useApi, useAsked } from "./api.js";
import { useLive } from "./live.js";
import { LiveState } from "./live_state.js";
import { Badge, Answered, Empty, Grpcurl, Heading, Id, Link, Time } from "./parts.js";
import { hrefOf, scopeOf } from "./place.js";
import { counted, headline, lasting, millisOf, percent, word } from "./words.js";

const PAGE = 50;
// How long changes are gathered before the list is read again.
const GATHER_MS = 400;

type Query = Readonly<Record<string, string>>;

/** How a turn stands, in a word. */
export function Standing(props: { turn: TurnRecord }) {
  const { state, outcome, score } = props.turn;
  if (state === TurnState.OPEN) return <Badge tone="told">open</Badge>;
  if (outcome === TaskOutcome.UNSPECIFIED) {
    return state === TurnState.ABANDONED ? <Badge tone="warn">abandoned</Badge> : <Badge>ended</Badge>;
  }
  const tone = outcome === TaskOutcome.SUCCESS ? "good" : outcome === TaskOutcome.PARTIAL ? "warn" : "bad";
  return (
    <>
      <Badge tone={tone}>{word(TaskOutcomeSchema, outcome)}</Badge>
      {score !== undefined && (
        <span class="dim wide" title="How well the task went">
          {" "}
          {percent(score)}
        </span>
      )}
    </>
  );
}

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

export function Turns(props: { query: Query }) {
  const api = useApi();
  const { query } = props;
  const asked = narrowed(query);
  const key = JSON.stringify([query]);
  const first = useAsked(`turns ${key}`, (signal) =>
    api.thinking.listTurns({ ...api.scope, ...asked, pageSize: PAGE }, { signal }),
  );
  const [older, setOlder] = useState<{ key: string; turns: TurnRecord[]; next: string }>();
  const more = older?.key === key ? older : undefined;
  const gathering = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const live = useLive({ on: true, sessionId: query.session ?? "", cursor: "" }, () => {
    gathering.current ??= setTimeout(() => {
      gathering.current = undefined;
      first.again();
    }, GATHER_MS);
  });
  useEffect(() => () => clearTimeout(gathering.current), []);
  // What happened between the first answer and the watch.
  useEffect(() => {
    if (live.state === "live") first.again();
  }, [live.state, first.again]);
  const readOlder = async (pageToken: string) => {
    const page = await api.thinking.listTurns({ ...api.scope, ...asked, pageSize: PAGE, pageToken });
    // With those of the first page: newer ones may push them out of it.
    const before = more?.turns ?? first.value?.turns ?? [];
    setOlder({ key, turns: [...before, ...page.turns], next: page.nextPageToken });
  };
  return (
    <>
      <div class="title">
        <Heading>Turns</Heading>
        <LiveState live={live} />
      </div>
      <Filters query={query} />
      <Answered asked={first}>
        {(page) => {
          const known = new Set(page.turns.map((turn) => turn.turnId));
          const turns = [...page.turns, ...(more?.turns ?? []).filter((turn) => !known.has(turn.turnId))];
          const next = more ? more.next : page.nextPageToken;
          return (
            <>
              {turns.length === 0 ? <NoTurns query={query} /> : <Table turns={turns} />}
              {next !== "" && (
                <p>
                  <button type="button" onClick={() => void readOlder(next)}>
                    Older turns
                  </button>
                </p>
              )}
            </>
          );
        }}
      </Answered>
      <Grpcurl method={ThinkingService.method.listTurns} request={{ ...asked, pageSize: PAGE }} />
    </>
  );
}

function Table(props: { turns: readonly TurnRecord[] }) {
  return (
    <table class="turns">
      <thead>
        <tr>
          <th scope="col">Started</th>
          <th scope="col">Task</th>
          <th scope="col">Outcome</th>
          <th scope="col" class="number wide" title="Lessons and recoveries that it was told">
            Told
          </th>
          <th scope="col" class="number wide" title="Tool calls, and how many of them failed">
            Calls
          </th>
          <th scope="col" class="number wide">
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
            </td>
            <td>
              <Standing turn={turn} />
            </td>
            <td class="number wide">{turn.lessonCount || ""}</td>
            <td class="number wide">
              {turn.toolCallCount || ""}
              {turn.toolErrorCount > 0 && (
                <span class="bad" title={counted(turn.toolErrorCount, "failed call")}>
                  {" "}
                  {turn.toolErrorCount} ✕
                </span>
              )}
            </td>
            <td class="number wide">{tookOf(turn)}</td>
            <td class="wide session">
              <Link to={["turns"]} query={{ session: turn.sessionId }} title="Only this session">
                <Id>{turn.sessionId}</Id>
              </Link>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How long an ended turn took. */
export function tookOf(turn: TurnRecord): string {
  if (turn.state === TurnState.OPEN || !turn.startTime || !turn.updateTime) return "";
  return lasting(Math.max(0, millisOf(turn.updateTime) - millisOf(turn.startTime)));
}

const NAMES: readonly (readonly [string, string])[] = [
  ["session", "Session"],
  ["state", "State"],
  ["outcome", "Outcome"],
  ["from", "From"],
  ["until", "Until"],
];

function Filters(props: { query: Query }) {
  const { query } = props;
  const form = useRef<HTMLFormElement>(null);
  const narrow = () => {
    if (!form.current) return;
    const given = new FormData(form.current);
    const asked = Object.fromEntries(NAMES.map(([name]) => [name, String(given.get(name) ?? "").trim()]));
    location.hash = hrefOf(["turns"], { ...scopeOf(query), ...asked });
  };
  const open = (event: SubmitEvent) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget as HTMLFormElement).get("id")).trim();
    if (id) location.hash = hrefOf(["turns", id], scopeOf(query));
  };
  const isNarrowed = NAMES.some(([name]) => query[name]);
  return (
    <div class="filters">
      <form
        ref={form}
        onChange={narrow}
        onSubmit={(event) => {
          event.preventDefault();
          narrow();
        }}
      >
        <Choice name="outcome" of={query} options={TaskOutcomeSchema.values.slice(1).map((one) => one.localName)} />
        <Choice name="state" of={query} options={TurnStateSchema.values.slice(1).map((one) => one.localName)} />
        <label>
          Session
          <input name="session" value={query.session ?? ""} maxLength={128} placeholder="any" size={14} />
        </label>
        {["from", "until"].map((name) => (
          <label key={name}>
            {name === "from" ? "From" : "Until"}
            <input name={name} type="datetime-local" step={1} value={query[name] ?? ""} />
          </label>
        ))}
        {isNarrowed && (
          <Link to={["turns"]} class="clear">
            Clear
          </Link>
        )}
      </form>
      <form onSubmit={open} class="open">
        <label>
          Turn
          <input name="id" maxLength={128} placeholder="open by id" size={14} />
        </label>
      </form>
    </div>
  );
}

function Choice(props: { name: string; of: Query; options: readonly string[] }) {
  const chosen = (props.of[props.name] ?? "").toUpperCase();
  return (
    <label>
      {props.name === "state" ? "State" : "Outcome"}
      <select name={props.name} value={chosen.toLowerCase()}>
        <option value="">any</option>
        {props.options.map((option) => (
          <option key={option} value={option.toLowerCase()}>
            {option.toLowerCase().replaceAll("_", " ")}
          </option>
        ))}
      </select>
    </label>
  );
}

function NoTurns(props: { query: Query }) {
  if (NAMES.some(([name]) => props.query[name])) {
    return (
      <Empty>
        <p>
          No turn is like that. <Link to={["turns"]}>Show all turns</Link>
        </p>
      </Empty>
    );
  }
  return (
    <Empty>
      <p>
        <strong>No turn is recorded here yet.</strong> They appear as soon as an agent reports one: attach a coding agent
        with <code>sidemirror attach</code>, use a client, or try <code>sidemirror replay FILE --address …</code>. What
        hooks tell of belongs to the project of its folder: choose it above, at the right.
      </p>
    </Empty>
  );
}
