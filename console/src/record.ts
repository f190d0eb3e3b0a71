/** What an entry of a turn's record is. */
import type { ContextBlock } from "@sidemirror/api/v1/common";
import type { LessonStatistics, Memory } from "@sidemirror/api/v1/reflective_memory";
import { TurnState, type FailureFollowUp, type TurnCritique, type TurnEntry, type TurnEvent } from "@sidemirror/api/v1/thinking";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

import { headline, millisOf, spaced } from "./words.js";

/** What the entries of a turn refer to. */
export interface Told {
  readonly turnId: string;
  readonly task: string;
  readonly isOver: boolean;
  /** Whether the turn's start asked for a level of thinking; otherwise its session has one. Undefined without the start. */
  readonly asksLevel: boolean | undefined;
  /** Whether the turn's start said that its agent shows no advice. */
  readonly showsNoAdvice: boolean;
  /** How many lessons the agent was given because it asked for them after the start. */
  readonly recalledCount: number;
  /** The entries that are there, in their order. */
  readonly entries: readonly TurnEntry[];
  /** The events of the turn, by id. */
  readonly events: ReadonlyMap<string, TurnEntry>;
  /** The names of the tools that were called, by the call's id. */
  readonly tools: ReadonlyMap<string, string>;
  /** The evidence about the lessons that are shown, by id. */
  readonly lessons: ReadonlyMap<string, LessonStatistics>;
  /** The lessons that are in quarantine, the newest first. */
  readonly held: readonly Memory[];
  /** What followed the failing calls, by what they are recognised by: of each kind the first one in the turn. */
  readonly followUps: ReadonlyMap<string, FailureFollowUp>;
  /** The event of the call that an event ended, by their ids. */
  readonly calls: ReadonlyMap<string, string>;
  /** The results at which advice was given, or was not: they tell of a failure, also where the tool does not say so. */
  readonly failures: ReadonlySet<string>;
  /** By the events that caused them, what became of reflections that were given up. */
  readonly givenUp: ReadonlyMap<string, string>;
  /** Up to which entry it is known that the sidecar said nothing more: what it says comes after its cause. */
  readonly saidUntil: bigint;
  /** The answers that the turn reported, the oldest first. */
  readonly answers: readonly GivenAnswer[];
  /** The turn's critiques by their ids, the oldest first. That of a draft has the id of its directive. */
  readonly critiques: ReadonlyMap<string, TurnCritique>;
}

/** An answer of the agent. `sequence`: of its entry, if it has one. */
export interface GivenAnswer {
  readonly text: string;
  readonly atMs: number;
  readonly sequence?: bigint;
}

/** The kinds of a block's items that are memories, and not a recovery or a goal's reflection. */
export const MEMORY_KINDS: ReadonlySet<string> = new Set(["reflection", "strategy"]);

/** The kind of those that are reflections of goals. */
export const GOAL_KIND = "goal_reflection";

// A recovery's id has no dashes.
const RECOVERY_ID = /^[0-9a-f]{32}$/;

/** Whether an id is a recovery's, where only the id is on record. */
export function isRecovery(id: string): boolean {
  return RECOVERY_ID.test(id);
}

/** The blocks of lessons that an entry shows, or would have shown. */
export function blocksOf(entry: TurnEntry): ContextBlock[] {
  if (entry.entry.case !== "directive") return [];
  const { kind } = entry.entry.value;
  const block =
    kind.case === "turnPlan"
      ? kind.value.context
      : kind.case === "advice"
        ? kind.value.block
        : kind.case === "reflection"
          ? kind.value.lessons
          : undefined;
  return block ? [block] : [];
}

/** Whether the sidecar said something to the agent with it: not so of a plan without lessons, of silence and of a summary. */
export function isTold(entry: TurnEntry): boolean {
  if (entry.entry.case !== "directive") return false;
  const kind = entry.entry.value.kind.case;
  return kind === "turnPlan" ? blocksOf(entry).length > 0 : kind !== "turnSummary" && kind !== "silence";
}

/** The id of an entry's element. */
export function idOf(sequence: bigint): string {
  return `entry-${sequence}`;
}

export function timeOf(entry: TurnEntry): Timestamp | undefined {
  return entry.entry.value?.time;
}

/** The earliest time of the entries, and how long after it the latest one is. */
export function spanOf(entries: readonly TurnEntry[]): { first: Timestamp; ms: number } | undefined {
  const times = entries.flatMap((entry) => timeOf(entry) ?? []).sort((one, other) => millisOf(one) - millisOf(other));
  const [first, last] = [times[0], times.at(-1)];
  return first && last && { first, ms: millisOf(last) - millisOf(first) };
}

/** The entries by which a turn is timed: the agent's own. The sidecar may have said its part long after them, of spans or
 * of what was delivered late. A turn that nobody has ended lasted until the sidecar did. */
export function timedBy(entries: readonly TurnEntry[], state: TurnState): readonly TurnEntry[] {
  return state === TurnState.ABANDONED ? entries : entries.filter(({ entry }) => entry.case === "event");
}

/** Whether an event tells of a failure. */
export function isFailure(event: TurnEvent, told: Pick<Told, "failures">): boolean {
  const { kind } = event;
  return kind.case === "toolFailed" || (kind.case === "toolReturned" && (kind.value.isError || told.failures.has(event.eventId)));
}

// The server's `turns/ending.py`.
const GIVEN_UP = "given up: ";

/** What entries refer to, as far as they are there. */
export function references(
  entries: readonly TurnEntry[],
): Pick<Told, "asksLevel" | "showsNoAdvice" | "events" | "tools" | "calls" | "failures" | "answers" | "givenUp"> {
  const givenUp = new Map<string, string>();
  const answers: GivenAnswer[] = [];
  const [events, tools, calls] = [new Map<string, TurnEntry>(), new Map<string, string>(), new Map<string, string>()];
  const [byCallId, failures] = [new Map<string, string>(), new Set<string>()];
  let asksLevel: boolean | undefined;
  let showsNoAdvice = false;
  for (const entry of entries) {
    if (entry.entry.case === "directive") {
      const { kind, causedBy } = entry.entry.value;
      if (kind.case === "reflection" && kind.value.detail.startsWith(GIVEN_UP)) {
        for (const id of causedBy) givenUp.set(id, kind.value.detail);
      }
      if (kind.case === "advice" || kind.case === "silence") for (const id of causedBy) failures.add(id);
    }
    if (entry.entry.case !== "event") continue;
    const { eventId, kind } = entry.entry.value;
    events.set(eventId, entry);
    if ((kind.case === "responseDrafted" || kind.case === "modelReturned") && kind.value.text) {
      const time = timeOf(entry);
      answers.push({ text: kind.value.text, atMs: time ? millisOf(time) : 0, sequence: entry.sequence });
    }
    if (kind.case === "turnStarted") {
      asksLevel = Boolean(kind.value.config?.level);
      showsNoAdvice = kind.value.withoutAdvice;
    }
    if (kind.case === "toolCalled" && kind.value.callId) {
      tools.set(kind.value.callId, headline(kind.value.name, 80));
      byCallId.set(kind.value.callId, eventId);
    }
    if (kind.case === "toolReturned" || kind.case === "toolFailed") {
      const call = byCallId.get(kind.value.callId);
      if (call !== undefined) calls.set(eventId, call);
    }
  }
  return { asksLevel, showsNoAdvice, events, tools, calls, failures, answers, givenUp };
}

/** An event in a few words. `tools`: the names of the tools by the ids of their calls, as far as they are known. */
export function nameOf(event: TurnEvent, tools: ReadonlyMap<string, string>): string {
  const { kind } = event;
  switch (kind.case) {
    case "toolCalled":
      return `${headline(kind.value.name, 80)} called`;
    case "toolReturned":
      return `${tools.get(kind.value.callId) ?? "tool"} returned${kind.value.isError ? " an error" : ""}`;
    case "toolFailed":
      return `${tools.get(kind.value.callId) ?? "tool"} failed`;
    default:
      return spaced(kind.case ?? "event");
  }
}
