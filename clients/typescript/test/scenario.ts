/** Runs the scenario of clients/scenario. How a runner behaves is said there, in README.md. */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fromJson, toJson, type DescMessage, type JsonValue, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import { CritiqueService } from "@sidemirror/api/v1/critique";
import { ContextBlockSchema, CritiqueResultSchema } from "@sidemirror/api/v1/common";
import { GoalReflectionService, ReportGoalRequestSchema } from "@sidemirror/api/v1/goal_reflection";
import { ReflectiveMemoryService } from "@sidemirror/api/v1/reflective_memory";
import { SidecarService } from "@sidemirror/api/v1/sidecar";
import { ThinkingService, TurnDirectiveSchema, TurnEventSchema, TurnPlanSchema } from "@sidemirror/api/v1/thinking";
import { TurnStartedSchema, TurnSummarySchema } from "@sidemirror/api/v1/thinking";
import { adviceText, connect, problemOf, type ConnectOptions, type Sidemirror, type Turn } from "../src/index.js";
import { away, held, many } from "./crowd.js";
import { printTimes, timed } from "./times.js";

type Step = Record<string, any>;
const PATIENCE_MS = 60_000;
const SERVICES = [ThinkingService, CritiqueService, GoalReflectionService, ReflectiveMemoryService, SidecarService];

const variables: Record<string, string> = JSON.parse(process.env["SCENARIO_VARIABLES"] ?? "{}");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const turns = new Map<string, Turn>();
let client: Sidemirror | undefined;
const state = { told: 0 };
let refusals: string[] = [];

/** What an agent throws itself. */
class Thrown extends Error {}

function use(): Sidemirror {
  if (!client) throw new Error("not connected");
  return client;
}

async function control(what: string): Promise<void> {
  console.log(`@${what}`);
  const { value } = await lines.next();
  if (value !== "done") throw new Error(`${what}: ${value}`);
}

// --- calls -----------------------------------------------------------------------------------------------------------

async function call(step: Step): Promise<void> {
  const [serviceName, methodName] = step["call"].split("/");
  const service = SERVICES.find((each) => each.name === serviceName);
  const method = service?.methods.find((each) => each.name === methodName);
  if (!service || !method) throw new Error(`unknown: ${step["call"]}`);
  const requests = (step["requests"] ?? [step["request"] ?? {}]).map((each: JsonValue) => fromJson(method.input, each));
  const stop = new AbortController();
  const options = { timeoutMs: step["deadline_ms"], signal: stop.signal };
  const typed = createClient(service as any, use().transport) as any;
  const input = method.methodKind === "client_streaming" ? stream(requests) : requests[0];
  const answers: JsonValue[] = [];
  try {
    if (method.methodKind === "unary" || method.methodKind === "client_streaming") {
      const answer = await timed(step["timed"], (): Promise<Message> => typed[method.localName](input, options));
      answers.push(toJson(method.output, answer));
    } else {
      const response = typed[method.localName](input, options);
      for await (const each of response) {
        answers.push(toJson(method.output, each));
        if (answers.length === step["cancel_after"]) stop.abort();
      }
    }
  } catch (error) {
    const cancelled = step["cancel_after"] !== undefined && ConnectError.from(error).code === Code.Canceled;
    if (!cancelled) return checkError(step, error);
  }
  if (step["error"]) throw new Error(`an answer instead of ${show(step["error"])}: ${show(answers)}`);
  if (step["expect_stream"]) checkStream(step["expect_stream"], answers);
  else check(step["expect"], answers[0]);
  const saved = step["expect_stream"] ? answers : answers[0];
  for (const [name, path] of Object.entries(step["save"] ?? {})) variables[name] = at(saved, path as string);
}

async function* stream<T>(requests: T[]): AsyncGenerator<T> {
  yield* requests;
}

function checkError(step: Step, error: unknown): void {
  const expected = step["error"];
  if (!expected) throw error;
  const problem = problemOf(error);
  const code = Code[ConnectError.from(error).code]?.replace(/(?<=.)([A-Z])/g, "_$1").replace("eled", "elled").toUpperCase();
  const fields: string[] = expected.fields ?? [];
  const same = code === expected.code && (expected.reason ?? problem.reason) === problem.reason;
  if (!same || !fields.every((field) => field in problem.fields)) {
    throw new Error(`${code} ${show(problem)} instead of ${show(expected)}: ${error}`);
  }
}

// --- the turn helper -------------------------------------------------------------------------------------------------

async function turn(step: Step): Promise<void> {
  const name: string = step["as"] ?? "t";
  if (step["turn"] === "begin") {
    const { $typeName, $unknown, ...started } = fromJson(TurnStartedSchema, step["started"] ?? {});
    const goal = step["goal"] && fromJson(ReportGoalRequestSchema, step["goal"]);
    turns.set(name, use().beginTurn({ turnId: step["turn_id"], agent: step["agent"], goal, ...started }));
    return;
  }
  const current = turns.get(name) as Turn;
  switch (step["turn"]) {
    case "report":
      for (let time = 0; time < (step["times"] ?? 1); time++) {
        for (const given of step["events"] ?? []) {
          const event = fromJson(TurnEventSchema, given);
          timed(step["timed"], () => current.report(event));
        }
      }
      if (step["text_bytes"]) current.toolReturned("é".repeat(step["text_bytes"] / 2));
      return;
    case "worked":
      current.toolWorked(step["content"], { callId: step["call_id"] });
      return;
    case "finish":
      return finish(current, step);
    case "fail":
      return leave(current, new Thrown());
    case "leave":
      return leave(current);
    case "cancel":
      return leave(current, AbortSignal.abort().reason);
    case "flush":
      return check(step["delivered"] ?? true, await use().flush(step["timeout_ms"] ?? PATIENCE_MS));
    case "ready":
      await use().waitUntilReady(PATIENCE_MS);
      return check(false, use().away);
    case "error":
      return awaitError(current, step);
    case "await":
      return awaitDirective(current, step["expect"]);
    default:
      return ask(current, step);
  }
}

/** Leaves the turn's scope, with what is thrown where there is that. */
async function leave(current: Turn, thrown?: unknown): Promise<void> {
  const left = current.run(() => {
    if (thrown !== undefined) throw thrown;
  });
  await left.catch((error: unknown) => {
    if (error !== thrown) throw error;
  });
}

function outcomeOf(name: string): TaskOutcome {
  return TaskOutcome[name.replace("TASK_OUTCOME_", "") as "SUCCESS"];
}

function finish(current: Turn, step: Step): void {
  const goal = step["goal"] && fromJson(ReportGoalRequestSchema, step["goal"]);
  current.finish(outcomeOf(step["outcome"]), { score: step["score"], goal });
}

/** What the helper gives for a step, in time. */
async function ask(current: Turn, step: Step): Promise<void> {
  const began = performance.now();
  const answer = await asked(current, step);
  const tookMs = performance.now() - began;
  check(step["expect"], answer);
  if (Array.isArray(answer)) check(step["expect"].length, answer.length);
  if (tookMs > (step["within_ms"] ?? tookMs)) throw new Error(`it took ${tookMs} ms`);
}

async function asked(current: Turn, step: Step): Promise<JsonValue | undefined> {
  const timeoutMs: number | undefined = step["timeout_ms"];
  const options = { userMessage: step["user_message"], timeoutMs };
  const wait = <T>(ask: () => Promise<T>): Promise<T> => timed(step["timed"], ask);
  switch (step["turn"]) {
    case "plan":
      return plain(TurnPlanSchema, await wait(() => current.plan(timeoutMs ?? PATIENCE_MS)));
    case "summary":
      return plain(TurnSummarySchema, await wait(() => current.summary(timeoutMs ?? PATIENCE_MS)));
    case "recall":
      return plain(ContextBlockSchema, await wait(() => current.recall({ timeoutMs })));
    case "advice":
      return (await wait(() => current.advice(timeoutMs))).map((each) => toJson(TurnDirectiveSchema, each));
    case "critique":
      return plain(CritiqueResultSchema, await wait(() => current.critique(step["text"], options)));
    case "revised":
      return wait(() => current.revised(step["text"], () => step["again"], options));
    default:
      throw new Error(`unknown: ${step["turn"]}`);
  }
}

async function awaitError(current: Turn, step: Step): Promise<void> {
  for (const ends = performance.now() + PATIENCE_MS; !current.error; await pause(10)) {
    if (performance.now() > ends) throw new Error("the turn goes on");
  }
  checkError(step, current.error);
  if (current.dropped !== step["dropped"]) throw new Error(`${current.dropped} events were dropped`);
}

async function awaitDirective(current: Turn, expected: unknown): Promise<void> {
  const came: JsonValue[] = [];
  const ends = performance.now() + PATIENCE_MS;
  while (performance.now() < ends) {
    for (const directive of current.take()) came.push(toJson(TurnDirectiveSchema, directive));
    if (came.some((each) => matches(expected, each))) return;
    await pause(5);
  }
  throw new Error(`no directive ${show(expected)} among ${show(came)}`);
}

// --- comparing -------------------------------------------------------------------------------------------------------

function plain(schema: DescMessage, message: Message | undefined): JsonValue | undefined {
  return message && toJson(schema, message);
}

function show(value: unknown): string {
  return JSON.stringify(value);
}

function checkStream(expected: unknown[], answers: JsonValue[]): void {
  let rest = answers;
  for (const each of expected) {
    const place = rest.findIndex((answer) => matches(each, answer));
    if (place < 0) throw new Error(`${show(each)} did not come, in that order, in ${show(answers)}`);
    rest = rest.slice(place + 1);
  }
}

function check(expected: unknown, answer: unknown): void {
  if (expected !== undefined && !matches(expected, answer)) {
    throw new Error(`expected ${show(expected)}, got ${show(answer)}`);
  }
}

function matches(expected: any, actual: any): boolean {
  if (expected === null) return actual === undefined || actual === null;
  if (expected === "*") return actual !== undefined && actual !== null;
  if (Array.isArray(expected)) {
    return Array.isArray(actual) && expected.every((each, place) => matches(each, actual[place]));
  }
  if (typeof expected === "object") {
    const is = typeof actual === "object" && actual !== null;
    return is && Object.entries(expected).every(([key, value]) => matches(value, actual[key]));
  }
  return expected === actual;
}

function at(answer: any, path: string): string {
  return path.split(".").reduce((value, part) => value[part], answer);
}

function filled(given: any): any {
  if (typeof given === "string") return given.replace(/\$([a-z_]+)/g, (whole, name) => variables[name] ?? whole);
  if (Array.isArray(given)) return given.map(filled);
  if (typeof given !== "object" || given === null) return given;
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, filled(value)]));
}

async function open(given: Step): Promise<void> {
  await client?.close();
  state.told = 0;
  refusals = [];
  const options: ConnectOptions = {
    address: given["address"],
    tls: given["tls"],
    tokenFile: given["token_file"],
    caFile: given["ca_file"],
    clientCertificateFile: given["client_certificate_file"],
    clientKeyFile: given["client_key_file"],
    tenantId: given["tenant_id"],
    projectId: given["project_id"],
    onAway: (why) => {
      state.told++;
      console.log(`told ${why.message}`);
      throw new Thrown("an agent's own callback");
    },
    onRefused: (why) => void refusals.push(why.message),
  };
  if (given["refused"]) return checkRefused(options, given["refused"]);
  client = connect(options);
  if (given["wait"] !== false) await client.waitUntilReady(PATIENCE_MS);
}

function checkRefused(options: ConnectOptions, words: string[]): void {
  try {
    connect(options);
  } catch (error) {
    if (words.every((word) => String(error).includes(word))) return;
    throw error;
  }
  throw new Error("not refused");
}

async function awaitRefusal(word: string, times?: number): Promise<void> {
  for (const ends = performance.now() + PATIENCE_MS; !refusals.some((why) => why.includes(word)); await pause(10)) {
    if (performance.now() > ends) throw new Error(`told ${show(refusals)}`);
  }
  if (state.told > 0 || refusals.length !== (times ?? refusals.length)) {
    throw new Error(`told ${show(refusals)}, and ${state.told} times of absence`);
  }
}

async function close(expected: Step): Promise<void> {
  const left = await use().close(0);
  check(expected, { ...left, turns: left.turns.length });
}

async function main(): Promise<void> {
  const has = new Set((process.env["SCENARIO_HAS"] ?? "").split(","));
  let passed = 0;
  for (const given of JSON.parse(readFileSync(process.argv[2] as string, "utf8")) as Step[]) {
    if (!(given["needs"] ?? []).every((need: string) => has.has(need))) continue;
    console.log(`step ${given["name"]}`);
    const step = filled(given);
    if (step.connect) await open(step.connect);
    else if (step.server) await control(step.server);
    else if (step.turn) await turn(step);
    else if (step.away) await away(use(), step.away, state, control);
    else if (step.many) await many(use(), step.many, state);
    else if (step.held) await held(use());
    else if (step.close) await close(step.close);
    else if (step.refused) await awaitRefusal(step.refused, step.times);
    else if (step.advice_text) {
      check(step.text, adviceText(step.advice_text.map((each: JsonValue) => fromJson(TurnDirectiveSchema, each))));
    }
    else await call(step);
    passed++;
  }
  await client?.close();
  printTimes();
  console.log(`passed ${passed}`);
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
