/** The sidecar's services over Connect, and what their errors mean to a viewer. */
import { Code, ConnectError, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { GoalReflectionService } from "@sidemirror/api/v1/goal_reflection";
import { ReflectiveMemoryService } from "@sidemirror/api/v1/reflective_memory";
import { SidecarService } from "@sidemirror/api/v1/sidecar";
import { ThinkingService } from "@sidemirror/api/v1/thinking";
import { createContext } from "preact";
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The scope of every request; empty ids mean what the token determines. */
export interface Scope {
  readonly tenantId: string;
  readonly projectId: string;
}

export interface Api {
  readonly thinking: Client<typeof ThinkingService>;
  readonly memory: Client<typeof ReflectiveMemoryService>;
  readonly goals: Client<typeof GoalReflectionService>;
  readonly sidecar: Client<typeof SidecarService>;
  readonly scope: Scope;
}

/** Why something is not shown, and what the viewer can do. */
export interface Problem {
  readonly title: string;
  readonly todo: string;
  /** Nothing has the id that was asked for. */
  readonly isUnknown?: boolean;
  /** It may be over soon: the question is asked again by itself. */
  readonly passes?: boolean;
}

export const ApiContext = createContext<Api>(undefined as unknown as Api);

export function useApi(): Api {
  return useContext(ApiContext);
}

/** The services, called with this token. Binary messages: the door converts long JSON in another process. */
export function servicesOf(token: string): Omit<Api, "scope"> {
  const bearing: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  const transport = createConnectTransport({ baseUrl: location.origin, useBinaryFormat: true, interceptors: [bearing] });
  return {
    thinking: createClient(ThinkingService, transport),
    memory: createClient(ReflectiveMemoryService, transport),
    goals: createClient(GoalReflectionService, transport),
    sidecar: createClient(SidecarService, transport),
  };
}

/** The sidecar has answered, without what its store did not tell it. */
export class StoreAway extends Error {}

const NEW_LINK = "Run `sidemirror console` for a new link.";

const TOLD_MORE = "Now, above, and `sidemirror doctor` say more.";

/** What an error means to the viewer. */
export function problemOf(error: unknown): Problem {
  if (error instanceof StoreAway) return { title: "The store does not answer.", todo: TOLD_MORE, passes: true };
  const { code, rawMessage, details } = ConnectError.from(error);
  switch (code) {
    case Code.Unauthenticated:
      return {
        title: "This page may not read any more.",
        todo: `It may for 12 hours, and as long as whoever asked for its link may. ${NEW_LINK}`,
      };
    case Code.PermissionDenied:
      return { title: "This page may not read that.", todo: `Choose a tenant and a project above, at the right. The link's token decides which. (${rawMessage})` };
    case Code.NotFound:
      return {
        title: "There is nothing of this id here.",
        todo: "The whole id was looked up in the tenant and project above, at the right. What was erased, or removed because of its age, is not there any more.",
        isUnknown: true,
      };
    case Code.Unavailable:
    case Code.Unknown:
    case Code.Aborted:
      // The sidecar's own errors have details; what stands for one that is not reached has none.
      if (code === Code.Unavailable && details.length > 0) {
        return { title: "The sidecar answers, but could not do this.", todo: `${TOLD_MORE} (${rawMessage})`, passes: true };
      }
      return {
        title: "The sidecar does not answer.",
        todo: `Is \`sidemirror serve --http\` running? (${rawMessage})`,
        passes: true,
      };
    default:
      return { title: "The sidecar refused.", todo: rawMessage };
  }
}

export interface Asked<T> {
  /** The last answer; it stays while the next one is awaited. */
  readonly value: T | undefined;
  readonly problem: Problem | undefined;
  /** Asks once more; what is being asked now is awaited first. */
  readonly again: () => void;
}

// Between two questions to a sidecar that does not answer.
const AGAIN_MS = 2_000;

interface Answer<T> {
  readonly key: string;
  readonly value?: T;
  readonly problem?: Problem;
}

/** The answer to a question, asked anew when `key` changes. An answer to an earlier key is dropped. */
export function useAsked<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ key });
  const [round, setRound] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  // A question that takes longer than what happens meanwhile would else never be answered.
  const state = useRef({ isAsking: false, isWantedAgain: false });
  // Not after the next paint: what is asked for is what the viewer waits for.
  useLayoutEffect(() => {
    const left = new AbortController();
    state.current = { isAsking: true, isWantedAgain: false };
    const ended = (next: (before: Answer<T>) => Answer<T>) => {
      if (left.signal.aborted) return;
      const { isWantedAgain } = state.current;
      state.current = { isAsking: false, isWantedAgain: false };
      setAnswer(next);
      if (isWantedAgain) setRound((before) => before + 1);
    };
    latest.current(left.signal).then(
      (value) => ended(() => ({ key, value })),
      (error: unknown) => ended((before) => ({ ...(before.key === key ? before : { key }), problem: problemOf(error) })),
    );
    return () => left.abort();
  }, [key, round]);
  const again = useCallback(() => {
    if (state.current.isAsking) state.current.isWantedAgain = true;
    else setRound((before) => before + 1);
  }, []);
  useEffect(() => {
    if (!answer.problem?.passes) return;
    const waiting = setTimeout(again, AGAIN_MS);
    return () => clearTimeout(waiting);
  }, [answer, again]);
  const current = answer.key === key ? answer : undefined;
  return { value: current?.value, problem: current?.problem, again };
}
