/** One turn: what happened, what the sidecar said to it, and why. An open turn grows while it is looked at. */
import type { LessonStatistics } from "@sidemirror/api/v1/reflective_memory";
import { ThinkingService, TurnState, type FailureFollowUp, type Turn as TurnRecord, type TurnEntry } from "@sidemirror/api/v1/thinking";
import { useEffect, useMemo, useState } from "preact/hooks";

import { AsideRow, useAsides, type Aside } from "./asides.js";
import { problemOf, useApi, useAsked, type Problem } from "./api.js";
import { ShadowSpan } from "./changes.js";
import { Entry } from "./entry.js";
import { useLive } from "./live.js";
import { LiveState } from "./live_state.js";
import { NearTurns } from "./near.js";
import { Answered, Empty, Facts, Failed, Grpcurl, Heading, Id, Link, Text, Time, Unread } from "./parts.js";
import { hrefOf, scopeOf, usePlace } from "./place.js";
import { blocksOf, idOf, isTold, MEMORY_KINDS, spanOf, timeOf, type Told } from "./record.js";
import { Standing, tookOf } from "./turns.js";
import { counted, headline, lasting, millisOf } from "./words.js";

const PAGE = 200;
// How many entries before the one that a link names are read with it.
const BEFORE = 20;

export function Turn(props: { id: string }) {
  const api = useApi();
  const { query } = usePlace();
  const at = Number(query.at ?? 0) || 0;
  const [start] = useState(() => BigInt(Math.max(0, at - BEFORE)));
  const head = useAsked(`turn ${props.id}`, (signal) =>
    api.thinking.getTurn({ ...api.scope, turnId: props.id, afterSequence: start, pageSize: PAGE }, { signal }),
  );
  const isFound = head.value !== undefined && query.sought !== undefined;
  useEffect(() => {
    // The address names the turn from here on.
    if (isFound) history.replaceState(history.state, "", hrefOf(["turns", props.id], scopeOf(query)));
  }, [isFound]);
  return (
    <>
      {!head.value && <Unread name="Turn" />}
      <Answered asked={head}>
        {(page) =>
          page.turn && (
            <Record
              turn={page.turn}
              first={page.entries}
              followUps={page.followUps}
              hasMore={page.nextPageToken !== ""}
              start={start}
              at={at}
              again={head.again}
            />
          )
        }
      </Answered>
      {head.problem?.isUnknown && <NearTurns id={props.id} goesOn={query.sought !== undefined} />}
      <Grpcurl method={ThinkingService.method.getTurn} request={{ turnId: props.id }} />
    </>
  );
}

function Record(props: {
  turn: TurnRecord;
  first: readonly TurnEntry[];
  followUps: readonly FailureFollowUp[];
  hasMore: boolean;
  start: bigint;
  at: number;
  again: () => void;
}) {
  const api = useApi();
  const { turn } = props;
  const [entries, setEntries] = useState<readonly TurnEntry[]>(props.first);
  // Those of other pages; the first one may be asked for again.
  const [otherFollowUps, setOtherFollowUps] = useState<readonly FailureFollowUp[]>([]);
  const [start, setStart] = useState(props.start);
  const [hasMore, setHasMore] = useState(props.hasMore);
  const [problem, setProblem] = useState<Problem>();
  const [onlyTold, setOnlyTold] = useState(false);
  const last = entries.at(-1);

  const read = async (afterSequence: bigint, pageSize: number): Promise<void> => {
    try {
      const page = await api.thinking.getTurn({ ...api.scope, turnId: turn.turnId, afterSequence, pageSize });
      if (afterSequence < start) setStart(afterSequence);
      else setHasMore(page.nextPageToken !== "");
      setEntries((before) => joined(before, page.entries));
      setOtherFollowUps((before) => [...before, ...page.followUps]);
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  const { event, receipt } = usePlace().query;
  const named = useMemo(
    () => props.at || Number(entries.find((entry) => isMeant(entry, event, receipt))?.sequence ?? 0),
    [props.at, entries, event, receipt],
  );
  const live = useLive(
    { on: turn.state === TurnState.OPEN && !hasMore, sessionId: turn.sessionId, cursor: last?.cursor ?? "" },
    (entry) => {
      if (entry.turnId !== turn.turnId) return;
      setEntries((before) => joined(before, [entry]));
      // The head has the counts, and the outcome.
      if (entry.entry.case === "event" && entry.entry.value.kind.case === "turnFinished") props.again();
    },
  );
  useEffect(() => {
    if (named > 0) document.getElementById(idOf(BigInt(named)))?.scrollIntoView({ block: "center" });
  }, [named]);

  const told = useTold(turn, entries, useMemo(() => [...otherFollowUps, ...props.followUps], [otherFollowUps, props.followUps]));
  const shown = onlyTold ? entries.filter(isTold) : entries;
  const asides = useAsides(turn, entries);
  const toldCount = entries.filter(isTold).length + asides.length;
  // An agent's clock may be ahead of the sidecar's, whose start of the turn the head has.
  const span = start === 0n ? spanOf(entries) : undefined;
  const took = span && !hasMore && turn.state !== TurnState.OPEN ? lasting(span.ms) : tookOf(turn);
  return (
    <>
      <div class="title">
        <Heading>Turn</Heading>
        <Standing turn={turn} />
        <LiveState live={live} />
      </div>
      {turn.task && <Text plain>{turn.task}</Text>}
      <Facts
        of={[
          ["Started", <Time at={turn.startTime} />],
          ["Took", took],
          [
            "Session",
            <Link to={["turns"]} query={{ session: turn.sessionId }}>
              <Id>{turn.sessionId}</Id>
            </Link>,
          ],
          ["Turn of the session", turn.turnCount],
          [
            "Goal",
            goalOf(entries) && (
              <Link to={["goals", goalOf(entries)]}>
                <Id>{goalOf(entries)}</Id>
              </Link>
            ),
          ],
          ["Id", <Id copied>{turn.turnId}</Id>],
          ["Events", turn.eventCount],
          ["Reflections left", turn.budgetLeft?.reflections],
          ["Shadow mode", turn.isShadow && <ShadowSpan at={turn.startTime} />],
        ]}
      />
      <div class="bar">
        <h2>{counted(entries.length, "entry").replace("entrys", "entries")}</h2>
        <label class="check">
          <input type="checkbox" checked={onlyTold} onChange={() => setOnlyTold(!onlyTold)} /> Only what the sidecar said (
          {toldCount})
        </label>
      </div>
      {problem && <Failed problem={problem} />}
      {start > 0n && (
        <button type="button" onClick={() => void read(start > BigInt(PAGE) ? start - BigInt(PAGE) : 0n, PAGE)}>
          Earlier entries
        </button>
      )}
      {shown.length === 0 ? (
        <Empty>
          <p>{onlyTold ? "The sidecar has said nothing to these entries." : "Nothing of this turn is kept."}</p>
        </Empty>
      ) : (
        <ol class="timeline">
          {inOrder(shown, asides).map((one) =>
            "key" in one ? (
              <AsideRow key={one.key} aside={one} begun={span?.first ?? turn.startTime} told={told} />
            ) : (
              <Entry key={String(one.sequence)} entry={one} begun={span?.first ?? turn.startTime} told={told} isNamed={Number(one.sequence) === named} />
            ),
          )}
        </ol>
      )}
      {hasMore && (
        <button type="button" onClick={() => void read(last?.sequence ?? 0n, PAGE)}>
          Later entries
        </button>
      )}
    </>
  );
}

/** Whether an entry is the event of this id, or shows the block of this receipt. */
function isMeant(entry: TurnEntry, event: string | undefined, receipt: string | undefined): boolean {
  if (entry.entry.case === "event") return event !== undefined && entry.entry.value.eventId === event;
  return receipt !== undefined && blocksOf(entry).some((block) => block.receiptId === receipt);
}

/** The goal whose lessons the turn asked for at its start, or empty. */
function goalOf(entries: readonly TurnEntry[]): string {
  for (const { entry } of entries) {
    if (entry.case === "event" && entry.value.kind.case === "turnStarted") return entry.value.kind.value.context?.goalId ?? "";
  }
  return "";
}

/** Entries in their order, with the asides of their time between them. */
function inOrder(entries: readonly TurnEntry[], asides: readonly Aside[]): (TurnEntry | Aside)[] {
  const left = [...asides];
  const all: (TurnEntry | Aside)[] = [];
  for (const entry of entries) {
    const at = timeOf(entry);
    while (left[0]?.time && at && millisOf(left[0].time) < millisOf(at)) all.push(...left.splice(0, 1));
    all.push(entry);
  }
  return [...all, ...left];
}

/** What directives refer to: events by their ids, and what is known of the lessons that they show. */
function useTold({ turnId, task, recalledCount }: TurnRecord, entries: readonly TurnEntry[], followed: readonly FailureFollowUp[]): Told {
  const api = useApi();
  const ids = useMemo(() => {
    const items = entries.flatMap(blocksOf).flatMap((block) => block.items);
    return [...new Set(items.filter((item) => MEMORY_KINDS.has(item.kind)).map((item) => item.id))].slice(0, 100);
  }, [entries]);
  const { value } = useAsked(`lifts ${ids.join(" ")}`, async (signal) => {
    if (ids.length === 0) return new Map<string, LessonStatistics>();
    const answer = await api.memory.getLessonStatistics({ ...api.scope, reflectionIds: ids }, { signal });
    return new Map(answer.lessons.map((lesson) => [lesson.reflectionId, lesson]));
  });
  return useMemo(() => {
    const events = new Map<string, TurnEntry>();
    const tools = new Map<string, string>();
    let asksLevel: boolean | undefined;
    for (const entry of entries) {
      if (entry.entry.case !== "event") continue;
      const { eventId, kind } = entry.entry.value;
      events.set(eventId, entry);
      if (kind.case === "turnStarted") asksLevel = Boolean(kind.value.config?.level);
      if (kind.case === "toolCalled" && kind.value.callId) tools.set(kind.value.callId, headline(kind.value.name, 80));
    }
    const followUps = new Map(followed.map((one) => [one.signature, one]));
    return { turnId, task, asksLevel, recalledCount, events, tools, lessons: value ?? new Map(), followUps };
  }, [turnId, task, recalledCount, entries, value, followed]);
}

/** Both lists in order of the sequence, each entry once. */
function joined(before: readonly TurnEntry[], more: readonly TurnEntry[]): readonly TurnEntry[] {
  const last = before.at(-1)?.sequence ?? 0n;
  if (more.every((entry) => entry.sequence > last)) return [...before, ...more];
  const all = new Map([...before, ...more].map((entry) => [entry.sequence, entry]));
  return [...all.values()].sort((one, other) => Number(one.sequence - other.sequence));
}
