/** Which lessons a policy turns off: the server's `operations/turned_off.py`. */
import type { Memory } from "@sidemirror/api/v1/reflective_memory";
import { AdviceKind, PolicyLevel, type AdvicePolicy } from "@sidemirror/api/v1/sidecar";

import { useApi, useAsked, type Asked } from "./api.js";

export type Off = Pick<AdvicePolicy, "off" | "silencedIds">;

const LEVELS = [PolicyLevel.PROJECT, PolicyLevel.TENANT];

/** What policies turn off in this scope, by the changes on record: the policy itself is for admins. */
export function useTurnedOff(): Asked<Off> {
  const api = useApi();
  return useAsked("turned off", async (signal) => {
    const { adviceChanges } = await api.sidecar.getServerInfo({ ...api.scope, withAdviceChanges: true }, { signal });
    // Those of a policy have its level; the newest come first.
    const last = LEVELS.flatMap((level) => adviceChanges.find((one) => one.level === level)?.after ?? []);
    return { off: last.flatMap((one) => one.off), silencedIds: last.flatMap((one) => one.silencedIds) };
  });
}

/** How a policy turned a lesson off. `it`: what it turned off; `on`: what turns that on again. */
export interface TurnedOff {
  readonly it: string;
  readonly on: string;
}

/** Undefined if the lesson is on. */
export function offBy(memory: Memory, advice: Off | undefined): TurnedOff | undefined {
  if (advice?.off.some((one) => one === AdviceKind.ALL || one === AdviceKind.LESSONS)) {
    return { it: "A policy turned all lessons off", on: "sidemirror advice on" };
  }
  const silenced = [memory.id, ...restsOn(memory)].find((id) => advice?.silencedIds.includes(id));
  if (silenced === undefined) return undefined;
  const what = silenced === memory.id ? "it" : silenced === memory.strategyOf ? "its reflection" : "what it was dreamt from";
  return { it: `A policy turned ${what} off`, on: `sidemirror advice on ${silenced}` };
}

/** The reflection that a lesson is the strategy of, and what it was dreamt from: each silences it too. */
export function restsOn(memory: Memory): readonly string[] {
  return [...new Set([memory.strategyOf, ...memory.derivedFrom])].filter(Boolean);
}
