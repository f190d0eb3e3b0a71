/** What followed a nudge or a reflection: the next call of the tool that it is about. The command says the same:
 * `operations/turn_said.py`. */
import type { TurnDirective, TurnEntry, TurnEvent } from "@sidemirror/api/v1/thinking";

import { isFailure, type Told } from "./record.js";
import { headline } from "./words.js";

/** How the next such call went. `call`: its entry, if there is one. */
export interface NextCall {
  readonly call?: TurnEntry;
  readonly told: string;
}

export function nextCall(directive: TurnDirective, sequence: bigint, told: Told): NextCall {
  const events = [...told.events.values()];
  const cause = callAbout(directive, told);
  const name = cause ? `call of ${headline(cause.name, 80)}` : "call";
  const later = events.filter((one) => one.sequence > sequence);
  const call = later.find((one) => {
    const made = madeIn(one);
    return made && (!cause || made.name === cause.name);
  });
  const made = call && madeIn(call);
  if (!made) return { told: `no ${name}` };
  const ended = endOf(made.callId, events.filter((one) => one.sequence > call.sequence));
  if (!ended) return { call, told: `the next ${name} has no result on record` };
  if (isFailure(ended, told)) return { call, told: `the next ${name} failed` };
  const before = cause && endOf(cause.callId, events);
  const isSame = cause?.arguments === made.arguments && before !== undefined && answerOf(before) === answerOf(ended);
  return { call, told: isSame ? "the same call again, with the same answer: not followed" : `the next ${name} worked` };
}

/** The newest call among what caused a directive. */
export function callAbout(directive: TurnDirective, told: Told) {
  return directive.causedBy.map((id) => callOf(id, told)).findLast((one) => one !== undefined);
}

function madeIn({ entry }: TurnEntry) {
  return entry.case === "event" && entry.value.kind.case === "toolCalled" ? entry.value.kind.value : undefined;
}

/** The call that an event is about. */
function callOf(eventId: string, told: Told) {
  const entry = told.events.get(told.calls.get(eventId) ?? eventId);
  return entry && madeIn(entry);
}

/** The event that ended a call: the first one of its id. */
function endOf(callId: string, events: readonly TurnEntry[]): TurnEvent | undefined {
  for (const { entry } of events) {
    if (entry.case !== "event") continue;
    const { kind } = entry.value;
    if ((kind.case === "toolReturned" || kind.case === "toolFailed") && kind.value.callId === callId) return entry.value;
  }
  return undefined;
}

function answerOf({ kind }: TurnEvent): string | undefined {
  return kind.case === "toolReturned" ? kind.value.content : undefined;
}
