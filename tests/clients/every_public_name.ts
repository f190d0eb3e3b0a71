/** A program that uses every public name of @sidemirror/client, for the compiler (test_typescript_package.py). */
import type { ToolOptions, CritiqueOptions, EventInit, FinishOptions, GoalInit, Problem, RecallOptions, RunOptions, WaitOptions } from "@sidemirror/client";
import { adviceText, connect, DEFAULT_ADDRESS, lessonsText, problemOf, Sidemirror, TaskOutcome, ThinkLevel, TokenInTheClear, Turn } from "@sidemirror/client";
import type { ConnectOptions, TurnOptions, Undelivered } from "@sidemirror/client";
import { Added, checked, Run, type Checked, type Level, type Settings } from "@sidemirror/client/adapter";

export const options: ConnectOptions = {
  address: DEFAULT_ADDRESS,
  tls: true,
  caFile: "ca.pem",
  clientCertificateFile: "client.pem",
  clientKeyFile: "key.pem",
  tokenFile: "token",
  tenantId: "acme",
  projectId: "shop",
  deadlineMs: 1000,
  onAway: (why: Error) => void why.message,
  onRefused: (why: Error) => void why.message,
};

export function opened(): Sidemirror {
  try {
    return connect(options);
  } catch (error) {
    if (error instanceof TokenInTheClear) return connect();
    throw error;
  }
}

export async function whole(sidemirror: Sidemirror): Promise<string> {
  await sidemirror.waitUntilReady(1000);
  const started: TurnOptions = { turnId: "t", agent: "a", sessionId: "s", task: "count", level: ThinkLevel.LOW };
  const turn: Turn = sidemirror.beginTurn({ ...started, goal: { goalId: "g", objective: "count" } });
  const event: EventInit = { kind: { case: "userMessage", value: { text: "hello" } } };
  const call: ToolOptions = { callId: "c" };
  const called: string[] = [turn.toolCalled("look", "{}", call), turn.toolReturned("none", true, call), turn.toolWorked("none", call)];
  const ids: string[] = [turn.report(event), turn.toolFailed("gone", call), turn.userMessage("hello"), turn.responseDrafted("41"), ...called];
  const patience: WaitOptions = { timeoutMs: 100, signal: AbortSignal.timeout(1000) };
  const asked: RecallOptions = { ...patience, task: "count", tools: ["look"], maxItems: 3, timeoutMs: 100 };
  const judged: CritiqueOptions = { userMessage: "how many?", timeoutMs: 100 };
  const goal: GoalInit = { goalId: "g", objective: "count" };
  const finish: FinishOptions = { score: 1, goal };
  const towards: RunOptions = { goal, outcome: TaskOutcome.PARTIAL };
  const said = await turn.run(async (same: Turn) => {
    const texts = [(await same.plan(100))?.systemPrompt, lessonsText(await same.recall(asked))];
    const answer: string = await same.revised("41", async (prompt: string) => prompt, judged);
    return [...texts, adviceText(await same.advice(100)), (await same.critique(answer, judged))?.revisionPrompt];
  }, towards);
  turn.finish(TaskOutcome.SUCCESS, finish);
  for await (const directive of turn) ids.push(directive.directiveId);
  const left = [turn.id, turn.dropped, turn.error?.message, turn.take().length, await turn.summary(100)];
  const isAll: boolean = sidemirror.away || (await sidemirror.flush(100));
  const undelivered: Undelivered = await sidemirror.close(100);
  return [...said, ...ids, ...left, isAll, undelivered.events, undelivered.turns.length].join();
}

export async function adapted(level: Level, signal: AbortSignal): Promise<string[]> {
  const settings: Settings = { level, lessonsMs: 100, outcome: (answer) => answer === "41" };
  const right: Checked = checked("sidemirror()", settings);
  const run = Run.begin(right, "count", "agent", "openai", "gpt-5");
  const inner = Run.begin(right, "look", "inner", "openai", "gpt-5", run);
  inner.toolCalled("1", "look", { query: "orders" });
  run.modelStarted("openai", "gpt-5");
  run.modelReturned("41", 1, 1);
  run.toolReturned("1", "none", true);
  run.toolFailed("1", new Error("none"));
  await run.calling("2", () => "41 orders");
  run.allCalled();
  const added = new Added<string>((message, texts) => [message, ...texts]);
  added.add(["hello"], await run.texts(["look"], signal));
  const why = await run.revision("41", signal);
  run.end("41");
  return added.to(["hello", why]);
}

export async function calls(sidemirror: Sidemirror): Promise<Problem | number> {
  try {
    return (await sidemirror.goals.listGoalReports({})).reports.length;
  } catch (error) {
    return problemOf(error);
  }
}
