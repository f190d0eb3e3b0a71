/** What an entry of a turn's record is. */
import type { ContextBlock } from "@sidemirror/api/v1/common";
import type { TurnEntry, TurnEvent } from "@sidemirror/api/v1/thinking";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

import { headline, spaced } from "./words.js";

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

/** Whether the sidecar said something to the agent with it: not so of a plan without lessons, and of a summary. */
export function isTold(entry: TurnEntry): boolean {
  if (entry.entry.case !== "directive") return false;
  const kind = entry.entry.value.kind.case;
  return kind === "turnPlan" ? blocksOf(entry).length > 0 : kind !== "turnSummary";
}

/** The id of an entry's element. */
export function idOf(sequence: bigint): string {
  return `entry-${sequence}`;
}

export function timeOf(entry: TurnEntry): Timestamp | undefined {
  return entry.entry.value?.time;
}

/** Whether an event tells of a failure. */
export function isFailure(event: TurnEvent): boolean {
  return event.kind.case === "toolFailed" || (event.kind.case === "toolReturned" && event.kind.value.isError);
}

/** An event in a few words: its kind, and what it begins with. */
export function nameOf(event: TurnEvent): string {
  const { kind } = event;
  if (kind.case === "toolCalled") return `${headline(kind.value.name, 80)} called`;
  if (kind.case === "toolReturned") return kind.value.isError ? "tool returned an error" : "tool returned";
  return spaced(kind.case ?? "event");
}
