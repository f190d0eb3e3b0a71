/** The entries of a turn that are there, and how others come: by pages, and as they happen. What comes live is appended
 * only where nothing is missing before it. */
import { TurnState, type FailureFollowUp, type GetTurnResponse, type Turn, type TurnEntry } from "@sidemirror/api/v1/thinking";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { problemOf, useApi, type Problem } from "./api.js";
import { useLive, type Live } from "./live.js";
import { millisOf } from "./words.js";

export const PAGE = 200;
// How many entries before the one that a link names are read with it.
export const BEFORE = 20;
// How many are looked through at once for the one that a link names.
const SOUGHT = 1_000;
// How long after a turn's end more may come of it: its summary, and what followed its failing calls.
const FRESH_MS = 60_000;
// When it is asked again what followed: learning takes a moment.
const LEARNED_MS = [1_000, 4_000, 15_000];
// How long what happens is gathered before the turn's counts are read again.
const GATHER_MS = 2_000;

interface Part {
  readonly entries: readonly TurnEntry[];
  /** What comes before the first of them ends with this sequence number; 0: nothing does. */
  readonly start: bigint;
  readonly hasMore: boolean;
}

export interface Loaded extends Part {
  readonly followUps: readonly FailureFollowUp[];
  readonly live: Live;
  /** More may come, and is read as it happens. */
  readonly isOpen: boolean;
  readonly problem: Problem | undefined;
  readonly earlier: () => Promise<void>;
  readonly later: () => Promise<void>;
  readonly latest: () => Promise<void>;
  /** Shows the entries around this one. */
  readonly around: (sequence: bigint) => Promise<void>;
  /** Shows those around the first entry that fits; false if none does. */
  readonly seek: (fits: (entry: TurnEntry) => boolean) => Promise<boolean>;
}

/** `head`: the turn with the entries after `start`; `again`: asks for it anew. */
export function useEntries(turn: Turn, head: GetTurnResponse, start: bigint, again: () => void): Loaded {
  const api = useApi();
  const [part, setPart] = useState<Part>({ entries: head.entries, start, hasMore: head.nextPageToken !== "" });
  // Those of other pages; the head's come with it.
  const [followUps, setFollowUps] = useState<readonly FailureFollowUp[]>([]);
  const [problem, setProblem] = useState<Problem>();
  const held = useRef(part);
  held.current = part;
  const newest = useRef(0n);
  const gathering = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const put = useCallback((next: Part) => {
    held.current = next;
    setPart(next);
  }, []);

  const page = async (afterSequence: bigint, pageSize: number): Promise<GetTurnResponse> => {
    const answer = await api.thinking.getTurn({ ...api.scope, turnId: turn.turnId, afterSequence, pageSize });
    setFollowUps((before) => [...before, ...answer.followUps]);
    return answer;
  };
  const told = async (read: () => Promise<void>): Promise<void> => {
    try {
      await read();
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  const earlier = () =>
    told(async () => {
      const { start: until } = held.current;
      const from = until > BigInt(PAGE) ? until - BigInt(PAGE) : 0n;
      const { entries } = await page(from, PAGE);
      put({ ...held.current, entries: joined(held.current.entries, entries), start: from });
    });
  const later = () =>
    told(async () => {
      for (;;) {
        const after = lastOf(held.current);
        const { entries, nextPageToken } = await page(after, PAGE);
        put({ ...held.current, entries: joined(held.current.entries, entries), hasMore: nextPageToken !== "" });
        // What came live meanwhile was not appended.
        if (nextPageToken !== "" || entries.length === 0 || newest.current <= lastOf(held.current)) return;
      }
    });
  const showAfter = async (after: bigint): Promise<void> => {
    const { entries, nextPageToken } = await page(after, PAGE);
    put({ entries, start: after, hasMore: nextPageToken !== "" });
  };
  const showAround = (sequence: bigint) => showAfter(sequence > BigInt(BEFORE) ? sequence - BigInt(BEFORE) : 0n);
  const around = (sequence: bigint) => told(() => showAround(sequence));
  const latest = () =>
    told(async () => {
      const known = (await page(lastOf(held.current), 1)).turn?.lastSequence ?? 0n;
      await showAfter(known > BigInt(PAGE) ? known - BigInt(PAGE) : 0n);
    });
  const seek = async (fits: (entry: TurnEntry) => boolean): Promise<boolean> => {
    let found = false;
    await told(async () => {
      const shown = held.current;
      const last = lastOf(shown);
      // What is there was looked through: of a turn that is shown from its begin, what follows is left.
      for (let after = shown.start === 0n ? last : 0n; ; ) {
        const { entries, nextPageToken } = await page(after, SOUGHT);
        const meant = entries.find(fits);
        if (meant) {
          found = true;
          await showAround(meant.sequence);
        }
        if (meant || nextPageToken === "" || entries.length === 0) return;
        after = entries.at(-1)?.sequence ?? after;
      }
    });
    return found;
  };

  // What the head has by now, where nothing is missing between.
  useEffect(() => {
    if (held.current.hasMore) return;
    const next = following(held.current.entries, head.entries);
    if (next.length > 0) put({ ...held.current, entries: [...held.current.entries, ...next] });
  }, [head, put]);

  const wasOpen = useRef(false);
  wasOpen.current ||= turn.state === TurnState.OPEN;
  const [isSummed, setSummed] = useState(false);
  const hasSummary = isSummed || part.entries.some(isSummary);
  const isFresh = wasOpen.current || (turn.updateTime !== undefined && Date.now() - millisOf(turn.updateTime) < FRESH_MS);
  const isOpen = turn.state === TurnState.OPEN || (!hasSummary && isFresh && (wasOpen.current || !part.hasMore));
  const cursor = part.hasMore ? "" : (part.entries.at(-1)?.cursor ?? "");
  const live = useLive({ on: isOpen, sessionId: turn.sessionId, cursor }, (entry) => {
    if (entry.turnId !== turn.turnId) return;
    if (entry.sequence > newest.current) newest.current = entry.sequence;
    if (isSummary(entry)) setSummed(true);
    if (isSummary(entry) || isFinish(entry)) again();
    gathering.current ??= setTimeout(() => {
      gathering.current = undefined;
      again();
    }, GATHER_MS);
    if (held.current.hasMore || entry.sequence <= lastOf(held.current)) return;
    if (entry.sequence === lastOf(held.current) + 1n) put({ ...held.current, entries: [...held.current.entries, entry] });
    else void later();
  });
  useEffect(() => () => clearTimeout(gathering.current), []);
  // What happened between the first answer and the watch, and while nobody saw the page.
  useEffect(() => {
    if (live.state !== "live") return;
    again();
    if (!held.current.hasMore) void later();
  }, [live.state]);

  const all = [...followUps, ...head.followUps];
  const isLearned = signaturesOf(part.entries).every((one) => all.some(({ signature }) => signature === one));
  const awaits = !isOpen && isFresh && !isLearned;
  useEffect(() => {
    if (!awaits) return;
    const timers = LEARNED_MS.map((ms) => setTimeout(() => void page(held.current.start, PAGE).catch(() => undefined), ms));
    return () => timers.forEach(clearTimeout);
  }, [awaits]);

  return { ...part, followUps: all, live, isOpen, problem, earlier, later, latest, around, seek };
}

function lastOf(part: Part): bigint {
  return part.entries.at(-1)?.sequence ?? part.start;
}

function isSummary({ entry }: TurnEntry): boolean {
  return entry.case === "directive" && entry.value.kind.case === "turnSummary";
}

function isFinish({ entry }: TurnEntry): boolean {
  return entry.case === "event" && entry.value.kind.case === "turnFinished";
}

/** By what the failing calls are recognised at which something was told, or not. */
function signaturesOf(entries: readonly TurnEntry[]): string[] {
  return entries.flatMap(({ entry }) => {
    const kind = entry.case === "directive" ? entry.value.kind : undefined;
    return (kind?.case === "advice" || kind?.case === "silence") && kind.value.signature ? [kind.value.signature] : [];
  });
}

/** Those of `more` that come next after all of `before`, one after the other. */
function following(before: readonly TurnEntry[], more: readonly TurnEntry[]): TurnEntry[] {
  const found: TurnEntry[] = [];
  let last = before.at(-1)?.sequence ?? 0n;
  for (const entry of more) {
    if (entry.sequence !== last + 1n) continue;
    found.push(entry);
    last = entry.sequence;
  }
  return found;
}

/** Both lists in order of the sequence, each entry once. */
function joined(before: readonly TurnEntry[], more: readonly TurnEntry[]): readonly TurnEntry[] {
  const last = before.at(-1)?.sequence ?? 0n;
  if (more.every((entry) => entry.sequence > last)) return [...before, ...more];
  const all = new Map([...before, ...more].map((entry) => [entry.sequence, entry]));
  return [...all.values()].sort((one, other) => Number(one.sequence - other.sequence));
}
