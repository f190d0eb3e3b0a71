/** One turn: what happened, what the sidecar said to it, and why. An open turn grows while it is looked at. */
import type { LessonStatistics } from "@sidemirror/api/v1/reflective_memory";
import { ThinkingService, TurnState, type FailureFollowUp, type GetTurnResponse, type Turn as TurnRecord, type TurnEntry } from "@sidemirror/api/v1/thinking";
import { useEffect, useMemo, useState } from "preact/hooks";

import { AsideRow, asidesAt, useAsides, type Aside } from "./asides.js";
import { useApi, useAsked, type Asked } from "./api.js";
import { ShadowSpan } from "./changes.js";
import { Entry } from "./entry.js";
import { goalOfTurn } from "./goals.js";
import { LiveState } from "./live_state.js";
import { NearTurns } from "./near.js";
import { Answered, Empty, Facts, Failed, Grpcurl, Heading, Id, Link, Missing, Text, Time, Unread } from "./parts.js";
import { hrefOf, scopeOf, usePlace } from "./place.js";
import { blocksOf, idOf, isTold, MEMORY_KINDS, references, spanOf, timedBy, timeOf, type Told } from "./record.js";
import { Taught, useNewestLessons, type NewestLessons } from "./taught.js";
import { BEFORE, PAGE, useEntries } from "./turn_entries.js";
import { Standing, tookOf } from "./turns.js";
import { counted, lasting, millisOf, whole } from "./words.js";

// Within how many entries of its cause something is said, as far as this screen is concerned.
const SAID_WITHIN = 20n;

export function Turn(props: { id: string }) {
  const api = useApi();
  const { query } = usePlace();
  const [start] = useState(() => BigInt(Math.max(0, (Number(query.at ?? 0) || 0) - BEFORE)));
  const request = { turnId: props.id, afterSequence: start, pageSize: PAGE };
  const head = useAsked(`turn ${props.id}`, (signal) => api.thinking.getTurn({ ...api.scope, ...request }, { signal }));
  const isFound = head.value !== undefined && query.sought !== undefined;
  useEffect(() => {
    // The address names the turn from here on.
    if (isFound) history.replaceState(history.state, "", hrefOf(["turns", props.id], scopeOf(query)));
  }, [isFound]);
  return (
    <>
      {!head.value && <Unread name="Turn" />}
      <Answered asked={head}>
        {(page) => page.turn && <Record turn={page.turn} head={page} start={start} again={head.again} />}
      </Answered>
      {head.problem?.isUnknown && <NearTurns id={props.id} goesOn={query.sought !== undefined} />}
      <Grpcurl method={ThinkingService.method.getTurn} request={request} />
    </>
  );
}

function Record(props: { turn: TurnRecord; head: GetTurnResponse; start: bigint; again: () => void }) {
  const { turn } = props;
  const api = useApi();
  const { query } = usePlace();
  const loaded = useEntries(turn, props.head, props.start, props.again);
  const { entries, start, hasMore, live, isOpen, problem } = loaded;
  const [onlyTold, setOnlyTold] = useState(false);
  const at = Number(query.at ?? 0) || 0;
  const { event, receipt } = query;
  const named = useMemo(
    () => Number(entries.find((entry) => (at ? Number(entry.sequence) === at : isMeant(entry, event, receipt)))?.sequence ?? 0),
    [entries, at, event, receipt],
  );
  const [isNowhere, setNowhere] = useState(false);
  useEffect(() => {
    setNowhere(false);
    if (named > 0) return;
    if (at > 0) void loaded.around(BigInt(at));
    else if (event || receipt) void loaded.seek((entry) => isMeant(entry, event, receipt)).then((found) => setNowhere(!found));
  }, [at, event, receipt]);
  useEffect(() => {
    if (named > 0) document.getElementById(idOf(BigInt(named)))?.scrollIntoView({ block: "center" });
  }, [named]);

  const lifts = useLifts(entries);
  const aside = useAsides(turn, isOpen);
  const newest = useNewestLessons(turn);
  const told = useTold(turn, entries, loaded.followUps, lifts, aside, newest, hasMore);
  const shown = onlyTold ? entries.filter(isTold) : entries;
  const wished = goalOf(entries);
  const reported = useAsked(`goal of ${turn.turnId} ${turn.state} ${wished}`, async (signal) => wished || goalOfTurn(api, turn.turnId, signal));
  const goalId = wished || reported.value || "";
  const asides = asidesAt(aside.value ?? [], entries, start === 0n, !hasMore);
  const toldCount = entries.filter(isTold).length + asides.length;
  // An agent's clock may be ahead of the sidecar's, whose start of the turn the head has.
  const span = start === 0n ? spanOf(entries) : undefined;
  const timed = start === 0n && !hasMore && turn.state !== TurnState.OPEN ? spanOf(timedBy(entries, turn.state)) : undefined;
  const took = timed ? lasting(timed.ms) : tookOf(turn);
  const isWhole = start === 0n && !hasMore;
  return (
    <>
      <div class="title">
        <Heading of={turn.task || turn.turnId}>Turn</Heading>
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
            goalId && (
              <Link to={["goals", goalId]}>
                <Id>{goalId}</Id>
              </Link>
            ),
          ],
          ["Id", <Id copied>{turn.turnId}</Id>],
          ["Events", turn.eventCount],
          ["Reflections left", turn.budgetLeft?.reflections],
          ["Shadow mode", turn.isShadow && <ShadowSpan at={turn.startTime} />],
        ]}
      />
      {newest.value && <Taught turn={turn} lessons={newest.value} />}
      <div class="bar">
        <h2>
          {counted(entries.length, "entry").replace("entrys", "entries")}
          {!isWhole && <span class="dim"> of {whole(turn.lastSequence)}</span>}
        </h2>
        <label class="check">
          <input type="checkbox" checked={onlyTold} onChange={() => setOnlyTold(!onlyTold)} /> Only what the sidecar said (
          {toldCount})
        </label>
      </div>
      {problem && <Failed problem={problem} />}
      {isNowhere && !problem && (
        <Empty>
          <p>No entry of this turn is what the link names: it is shown from where it was.</p>
        </Empty>
      )}
      <Missing asked={aside} what="What the agent asked for by itself" />
      <Missing asked={lifts} what="Whether these lessons help" />
      <Missing asked={newest} what="Which lessons were learned from it, or are in quarantine" />
      <Missing asked={reported} what="For which goal it was reported" />
      {start > 0n && (
        <button type="button" onClick={() => void loaded.earlier()}>
          Earlier entries
        </button>
      )}
      {hasMore && (
        <button type="button" onClick={() => void loaded.latest()}>
          Latest entries
        </button>
      )}
      {shown.length + asides.length === 0 ? (
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
        <button type="button" onClick={() => void loaded.later()}>
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

/** What is known of the lessons that entries show, by their ids. */
function useLifts(entries: readonly TurnEntry[]): Asked<ReadonlyMap<string, LessonStatistics>> {
  const api = useApi();
  const ids = useMemo(() => {
    const items = entries.flatMap(blocksOf).flatMap((block) => block.items);
    return [...new Set(items.filter((item) => MEMORY_KINDS.has(item.kind)).map((item) => item.id))].slice(0, 100);
  }, [entries]);
  return useAsked(`lifts ${ids.join(" ")}`, async (signal) => {
    if (ids.length === 0) return new Map<string, LessonStatistics>();
    const answer = await api.memory.getLessonStatistics({ ...api.scope, reflectionIds: ids }, { signal });
    return new Map(answer.lessons.map((lesson) => [lesson.reflectionId, lesson]));
  });
}

/** What directives refer to: events by their ids, and what is known of the lessons that they show. */
function useTold(
  { turnId, task, recalledCount, state }: TurnRecord,
  entries: readonly TurnEntry[],
  followed: readonly FailureFollowUp[],
  { value }: Asked<ReadonlyMap<string, LessonStatistics>>,
  { value: asides }: Asked<readonly Aside[]>,
  { value: newest }: Asked<NewestLessons>,
  hasMore: boolean,
): Told {
  const last = entries.at(-1)?.sequence ?? 0n;
  const saidUntil = hasMore || state === TurnState.OPEN ? last - SAID_WITHIN : last;
  return useMemo(() => {
    const followUps = new Map(followed.map((one) => [one.signature, one]));
    const critiques = new Map(asides?.flatMap(({ key, critique }) => (critique ? [[key, critique] as const] : [])));
    const isOver = state !== TurnState.OPEN;
    return { turnId, task, isOver, recalledCount, entries, ...references(entries), lessons: value ?? new Map(), held: newest?.held ?? [], followUps, critiques, saidUntil };
  }, [turnId, task, state, recalledCount, entries, value, followed.length, asides, newest, saidUntil]);
}
