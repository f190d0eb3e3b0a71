/** Many turns: at once, and one after the other while the sidecar is killed; and what they leave behind. */
import { existsSync, openSync, readSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import { ThinkLevel } from "@sidemirror/api/v1/thinking";
import type { Sidemirror, Turn } from "../src/index.js";

type Step = Record<string, any>;
const PATIENCE_MS = 60_000;

/** How often the agent was told that the sidecar is away. */
interface State {
  told: number;
}

/** So many turns at once, each with everything that the helper gives. */
export async function many(client: Sidemirror, given: Step, state: State): Promise<void> {
  const counts = { plans: 0, recalls: 0, directives: 0, critiques: 0, summaries: 0 };
  const one = async (name: string): Promise<void> => {
    const config = { level: ThinkLevel.MEDIUM };
    const current = client.beginTurn({ turnId: name, sessionId: name, task: given["task"], config });
    if (await current.plan(2 * PATIENCE_MS)) counts.plans++;
    if (await current.recall({ timeoutMs: PATIENCE_MS })) counts.recalls++;
    current.toolCalled("run_sql", "SELECT 1");
    current.toolReturned("no such column: status", true);
    if ((await current.advice(2 * PATIENCE_MS)).length > 0) counts.directives++;
    if (await current.critique("There are 41.", { timeoutMs: PATIENCE_MS })) counts.critiques++;
    current.finish(TaskOutcome.SUCCESS);
    if (await current.summary(2 * PATIENCE_MS)) counts.summaries++;
  };
  const names = Array.from({ length: Number(given["turns"]) }, (_, place) => `${given["prefix"]}-${place}`);
  await Promise.all(names.map(one));
  console.log(`many ${JSON.stringify({ ...counts, told: state.told })}`);
}

let collect: (() => void) | undefined;

let tasks = Infinity;

/** What is there once everything is delivered, and what ends a moment after its turn has ended, after a full collection. */
export async function held(client: Sidemirror): Promise<void> {
  if (!(await client.flush(PATIENCE_MS))) throw new Error("not everything was delivered");
  const ends = performance.now() + 10_000;
  while (process.getActiveResourcesInfo().length > tasks && performance.now() < ends) await pause(20);
  if (tasks === Infinity) tasks = process.getActiveResourcesInfo().length;
  // What `node --expose-gc` gives a program.
  setFlagsFromString("--expose-gc");
  (collect ??= runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  console.log(`held ${JSON.stringify({ memory: heapUsed + external, tasks: process.getActiveResourcesInfo().length })}`);
}

const SCHEDULED = "/proc/thread-self/schedstat";
const scheduled = existsSync(SCHEDULED) ? openSync(SCHEDULED, "r") : undefined;
const buffer = Buffer.alloc(128);

/** How long this thread could have run while others had its core; 0 where the system does not say. */
function waitedMs(): number {
  if (scheduled === undefined) return 0;
  const length = readSync(scheduled, buffer, 0, buffer.length, 0);
  return Number(buffer.toString("latin1", 0, length).split(" ")[1]) / 1e6;
}

/**
 * The longest that the loop was held up: as the clock has it, and by what this process did, without the machine's other
 * work.
 */
class Longest {
  plainMs = 0;
  private computedMs = 0;
  private readonly hereMs: number[] = [];

  /** What was computed meanwhile; and since one that waits computes nothing, what one use in a hundred exceeds. */
  get heldMs(): number {
    const sorted = this.hereMs.toSorted((one, other) => other - one);
    return Math.max(this.computedMs, sorted[Math.floor(sorted.length / 100)] ?? 0);
  }

  /** Begins to measure; the function that it returns ends that. `ownMs` of it are the agent's. */
  watch(ownMs = 0): () => void {
    const [waited, computed, began] = [waitedMs(), process.cpuUsage(), performance.now()];
    return () => {
      const plain = performance.now() - began;
      const { user, system } = process.cpuUsage(computed);
      const here = plain - (waitedMs() - waited);
      if (!ownMs) this.hereMs.push(here);
      this.plainMs = Math.max(this.plainMs, plain - ownMs);
      this.computedMs = Math.max(this.computedMs, Math.min(here, (user + system) / 1000) - ownMs);
    };
  }
}

/** Turns one after the other, with the sidecar killed in the middle. */
export async function away(
  client: Sidemirror,
  given: Step,
  state: State,
  control: (what: string) => Promise<void>,
): Promise<void> {
  const { turns: count, events, kill_at, start_at, prefix } = given as Record<string, any>;
  const longest = new Longest();
  const begun: Turn[] = [];
  state.told = 0;
  const timed = <T>(used: () => T): T => {
    const end = longest.watch();
    const answer = used();
    end();
    return answer;
  };
  for (let number = 0; number < count; number++) {
    const current = timed(() => client.beginTurn({ turnId: `${prefix}-${number}`, sessionId: prefix, task: "away" }));
    begun.push(current);
    for (let place = 0; place < events; place++) {
      if (place === events / 2 && number === kill_at) await control("kill");
      if (place === events / 2 && number === start_at) await control("start");
      const value = { name: "step", arguments: JSON.stringify({ i: place }) };
      timed(() => current.report({ eventId: `e${place}`, kind: { case: "toolCalled", value } }));
    }
    timed(() => current.take());
    timed(() => current.finish(TaskOutcome.UNSPECIFIED));
    // What the helper does beside the agent is on the agent's own loop, and would show as lateness here.
    const end = longest.watch(1);
    await pause(1);
    end();
  }
  if (!(await client.flush(3 * PATIENCE_MS))) throw new Error("not everything was delivered");
  const dropped = begun.reduce((sum, each) => sum + each.dropped, 0);
  const figures = { longest_ms: longest.heldMs, plain_ms: longest.plainMs };
  console.log(`away ${JSON.stringify({ ...figures, told: state.told, dropped })}`);
}
