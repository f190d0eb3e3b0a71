/** Follows the record of turns as it grows. What is missing is announced: a gap, or a connection that is lost. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { TurnEntry } from "@sidemirror/api/v1/thinking";
import { useEffect, useRef, useState } from "preact/hooks";

import { useApi } from "./api.js";

export interface Live {
  readonly state: "off" | "connecting" | "live" | "lost" | "refused" | "unseen";
  /** What was not delivered, for people; the newest last. */
  readonly gaps: readonly string[];
}

export interface Wish {
  readonly on: boolean;
  /** Only this session; empty means all. */
  readonly sessionId: string;
  /** The last cursor seen; empty starts with what is new. */
  readonly cursor: string;
}

// Heartbeats come every 20 s. A stream that is silent for longer than two of them is broken.
const SILENCE_MS = 45_000;
const PAUSE_MS = 2_000;
const MOST_GAPS = 5;
// A page that nobody sees for this long gives up its connection: browsers have six to a host, and a tab each would use
// them up.
const UNSEEN_MS = 10_000;
// After these another attempt would be answered the same.
const FINAL = new Set([Code.Unauthenticated, Code.PermissionDenied, Code.InvalidArgument, Code.NotFound]);

/** Calls `show` for each entry, once and in order, until the component goes or the wish changes. */
export function useLive(wish: Wish, show: (entry: TurnEntry) => void): Live {
  const api = useApi();
  const [live, setLive] = useState<Live>({ state: "off", gaps: [] });
  const latest = useRef(show);
  latest.current = show;
  // Where a wish begins counts once: later the cursor of the stream does.
  const start = useRef(wish.cursor);
  start.current = wish.cursor;
  const { tenantId, projectId } = api.scope;
  const isSeen = useSeen();
  useEffect(() => {
    if (!wish.on || !isSeen) {
      setLive({ state: wish.on ? "unseen" : "off", gaps: [] });
      return;
    }
    const left = new AbortController();
    const tell = (state: Live["state"], gap = "") => {
      if (left.signal.aborted) return;
      setLive((before) =>
        before.state === state && gap === ""
          ? before
          : { state, gaps: gap === "" ? before.gaps : [...before.gaps, gap].slice(-MOST_GAPS) },
      );
    };
    void follow(left.signal, tell);
    return () => left.abort();

    async function follow(gone: AbortSignal, tell: (state: Live["state"], gap?: string) => void): Promise<void> {
      let cursor = start.current;
      setLive({ state: "connecting", gaps: [] });
      while (!gone.aborted) {
        const attempt = new AbortController();
        const end = () => attempt.abort();
        gone.addEventListener("abort", end);
        let silence = setTimeout(end, SILENCE_MS);
        try {
          const request = { tenantId, projectId, sessionId: wish.sessionId, cursor, newOnly: cursor === "" };
          // A watch that begins at a cursor may have nothing to say for long.
          const options = { signal: attempt.signal, onHeader: () => tell("live") };
          for await (const { entry } of api.thinking.watchTurns(request, options)) {
            clearTimeout(silence);
            silence = setTimeout(end, SILENCE_MS);
            if (entry === undefined) continue;
            cursor = entry.cursor;
            const told = entry.entry.case === "directive" ? entry.entry.value.kind : undefined;
            tell("live", told?.case === "gap" && entry.sequence === 0n ? told.value.reason : "");
            if (entry.sequence !== 0n) latest.current(entry);
          }
        } catch (error) {
          if (!gone.aborted && FINAL.has(ConnectError.from(error).code)) {
            tell("refused");
            return;
          }
        } finally {
          clearTimeout(silence);
          gone.removeEventListener("abort", end);
        }
        tell("lost");
        await pause(PAUSE_MS, gone);
      }
    }
  }, [api, wish.on, isSeen, wish.sessionId, tenantId, projectId]);
  return live;
}

/** Whether somebody may see the page, or has of late. */
export function useSeen(): boolean {
  const [isSeen, setSeen] = useState(true);
  useEffect(() => {
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const changed = () => {
      clearTimeout(waiting);
      if (document.hidden) waiting = setTimeout(() => setSeen(false), UNSEEN_MS);
      else setSeen(true);
    };
    changed();
    document.addEventListener("visibilitychange", changed);
    return () => {
      clearTimeout(waiting);
      document.removeEventListener("visibilitychange", changed);
    };
  }, []);
  return isSeen;
}

function pause(forMs: number, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, forMs);
    gone.addEventListener("abort", () => resolve(), { once: true });
  });
}
