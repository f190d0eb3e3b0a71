/** What followed a nudge or a reflection: the next call of the tool that it is about. The command says the same:
 * `operations/turn_said.py`. */
import { ResultStatus } from "@sidemirror/api/v1/common";
import type { Silence, TurnDirective, TurnEntry, TurnEvent } from "@sidemirror/api/v1/thinking";

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

/** When and why what was said need not be told any more: the server's `thinking/withdrawal.py`. Undefined while it holds. */
export function withdrawn(directive: TurnDirective, sequence: bigint, told: Told): { at: bigint; why: string } | undefined {
  const left = failingCalls(directive, told);
  if (left.size === 0 || directive.isShadow) return undefined;
  for (const entry of told.entries) {
    if (entry.sequence <= sequence) continue;
    const { case: kind, value } = entry.entry;
    if (kind === "event" && value.kind.case === "toolReturned" && !isFailure(value, told)) {
      left.delete(keyOf(value.eventId, told));
      if (left.size === 0) return { at: entry.sequence, why: "when the same call worked" };
    }
    const isLater = kind === "directive" && value.kind.case === "reflection" && value.kind.value.status === ResultStatus.OK;
    if (directive.kind.case !== "reflection" || !isLater) continue;
    const later = failingCalls(value, told);
    if ([...left].every((one) => later.has(one))) return { at: entry.sequence, why: "by a later reflection on it" };
  }
  return undefined;
}

/** What was said, or not, at an earlier failure of the turn with the same error of the same tool. */
export function sameFailure(event: TurnEvent, told: Told): { at: bigint; silence?: Silence } | undefined {
  const [tool, error] = [callOf(event.eventId, told)?.name, errorOf(event)];
  for (const { sequence, entry } of told.entries) {
    if (entry.case !== "directive" || !tool || !error) continue;
    const { kind, causedBy } = entry.value;
    if (kind.case !== "silence" && kind.case !== "advice") continue;
    const isSame = causedBy.some((id) => {
      const cause = told.events.get(id)?.entry;
      return cause?.case === "event" && errorOf(cause.value) === error && callOf(id, told)?.name === tool;
    });
    if (isSame) return kind.case === "silence" ? { at: sequence, silence: kind.value } : { at: sequence };
  }
  return undefined;
}

function errorOf({ kind }: TurnEvent): string {
  return kind.case === "toolFailed" ? kind.value.error : kind.case === "toolReturned" ? kind.value.content : "";
}

/** The calls whose failures caused a directive: tool and arguments. */
function failingCalls(directive: TurnDirective, told: Told): Set<string> {
  const failed = directive.causedBy.filter((id) => {
    const entry = told.events.get(id);
    return entry?.entry.case === "event" && isFailure(entry.entry.value, told);
  });
  return new Set(failed.map((id) => keyOf(id, told)));
}

function keyOf(eventId: string, told: Told): string {
  const call = callOf(eventId, told);
  return call ? JSON.stringify([call.name, call.arguments]) : "";
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
