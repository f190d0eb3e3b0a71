/** Which lessons a policy turns off: the server's `operations/turned_off.py`. */
import { AdviceKind, type AdvicePolicy } from "@sidemirror/api/v1/sidecar";

import { useApi, useAsked, type Asked } from "./api.js";

/** What policies turn off in this scope. */
export function useTurnedOff(): Asked<AdvicePolicy | undefined> {
  const api = useApi();
  return useAsked("turned off", async (signal) => {
    const { inForce } = await api.sidecar.getPolicy(api.scope, { signal });
    return inForce?.advice;
  });
}

/** What turns a lesson on again that a policy turned off; empty if it is on. */
export function offBy(lessonId: string, advice: AdvicePolicy | undefined): string {
  if (advice?.off.some((one) => one === AdviceKind.ALL || one === AdviceKind.LESSONS)) return "sidemirror advice on";
  return advice?.silencedIds.includes(lessonId) ? `sidemirror advice on ${lessonId}` : "";
}
