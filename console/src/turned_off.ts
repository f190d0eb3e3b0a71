/** Which lessons a policy turns off: the server's `operations/turned_off.py`. */
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

/** What turns a lesson on again that a policy turned off; empty if it is on. */
export function offBy(lessonId: string, advice: Off | undefined): string {
  if (advice?.off.some((one) => one === AdviceKind.ALL || one === AdviceKind.LESSONS)) return "sidemirror advice on";
  return advice?.silencedIds.includes(lessonId) ? `sidemirror advice on ${lessonId}` : "";
}
