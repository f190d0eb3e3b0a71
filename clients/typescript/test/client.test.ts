/** What the client does by itself, beside the scenario: with nobody there, and with a server that behaves badly. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { promisify } from "node:util";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ErrorInfoSchema, RetryInfoSchema } from "@sidemirror/api/google/rpc/error_details";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import { GoalReflectionService } from "@sidemirror/api/v1/goal_reflection";
import { SidecarService } from "@sidemirror/api/v1/sidecar";
import { ThinkingService, type TurnEvent } from "@sidemirror/api/v1/thinking";
import { checked, Run } from "../src/adapter.js";
import { connect } from "../src/index.js";
import { TokenUnusable } from "../src/problem.js";
import { MOST_BYTES_IN_ALL } from "../src/queue.js";
import { standIn, type Manner } from "./standin.js";

const NOBODY = { address: "unix:/nobody.sock", onAway: () => {} };

/** Seen to fail when each turn counts for itself: an agent that goes on for hours would run out of memory. */
test("what waits is bounded over all turns", async () => {
  const sidemirror = connect(NOBODY);
  const content = "x".repeat(250_000);
  const turns = Array.from({ length: 6 }, () => sidemirror.beginTurn());
  for (const turn of turns) for (let i = 0; i < 60; i++) turn.toolReturned(content);
  const kept = turns.reduce((sum, turn) => sum - turn.dropped, 6 * 60) * content.length;
  assert.ok(0.98 * MOST_BYTES_IN_ALL < kept && kept <= MOST_BYTES_IN_ALL, `${kept}`);
  turns[0]?.abandon();
  const late = sidemirror.beginTurn();
  late.toolReturned(content);
  assert.equal(late.dropped, 0);
  await sidemirror.close(0);
  const closed = sidemirror.beginTurn();
  closed.toolCalled("search", "{}");
  assert.equal(closed.dropped, 2);
});

/** Seen to fail where the class takes ConnectError's rule of what is one. */
test("a token that cannot be read is an error of its own, and no sidecar's", async () => {
  const sidemirror = connect({ ...NOBODY, tokenFile: "/nothing/token" });
  await assert.rejects(sidemirror.sidecar.getServerInfo({}), (error) => {
    assert.ok(error instanceof TokenUnusable && error instanceof ConnectError);
    return error.code === Code.Unauthenticated && error.rawMessage.includes("/nothing/token (SIDEMIRROR_TOKEN_FILE)");
  });
  assert.ok(!(new ConnectError("no", Code.Unauthenticated) instanceof TokenUnusable));
  await sidemirror.close(0);
});

async function serving(): Promise<{ times: number[]; often: Promise<void>; port: number; stop: () => void }> {
  const times: number[] = [];
  let enough = (): void => {};
  const often = new Promise<void>((resolve) => (enough = resolve));
  const handler = connectNodeAdapter({
    routes: (router) =>
      router.service(ThinkingService, {
        async *runTurn() {
          times.push(performance.now());
          if (times.length === 4) enough();
        },
        listSessions: () => {
          times.push(performance.now());
          throw new ConnectError("not now", Code.Unavailable);
        },
      }),
  });
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { times, often, port: (server.address() as AddressInfo).port, stop: () => server.close() };
}

/** Seen to fail, with hundreds of streams in a second, without the pause. */
test("a stream that is closed without a word is not opened again at once", async () => {
  const { times, often, port, stop } = await serving();
  const sidemirror = connect({ ...NOBODY, address: `127.0.0.1:${port}` });
  sidemirror.beginTurn();
  await often;
  await sidemirror.close(0);
  stop();
  // After 0.1, 0.2 and 0.3 seconds.
  assert.ok((times[3] as number) - (times[0] as number) > 500, `${times}`);
});

/** Seen to fail when a call that is tried again opens the connection once more: the process does not end then. */
test("nothing is called after the client was closed", async () => {
  const { times, port, stop } = await serving();
  const sidemirror = connect({ ...NOBODY, address: `127.0.0.1:${port}` });
  const call = sidemirror.thinking.listSessions({});
  const failed = assert.rejects(call);
  while (times.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await sidemirror.close(0);
  await failed;
  const made = times.length;
  await assert.rejects(sidemirror.thinking.listSessions({}), (error) => ConnectError.from(error).code === Code.Canceled);
  assert.equal(times.length, made);
  stop();
});

/** Seen to fail: a time that was no number went into the call's header and broke the connection for all later calls. */
test("a time that is over, or no number, ends its own call alone", { timeout: 20_000 }, async () => {
  const there = await standIn({
    more: (router) => {
      router.service(SidecarService, { getServerInfo: () => ({}) });
    },
  });
  const sidemirror = connect({ address: there.address });
  const isOver = (error: unknown): boolean => ConnectError.from(error).code === Code.DeadlineExceeded;
  for (const timeoutMs of [NaN, 0, -5]) {
    await assert.rejects(sidemirror.sidecar.getServerInfo({}, { timeoutMs }), isOver);
    await assert.rejects(sidemirror.waitUntilReady(timeoutMs));
    await assert.rejects(async () => {
      for await (const _ of sidemirror.thinking.watchTurns({}, { timeoutMs })) assert.fail();
    });
  }
  await sidemirror.sidecar.getServerInfo({});
  await sidemirror.close(0);
  there.stop();
});

/** The warnings that come until there are so many. */
function warnings(count: number): Promise<string[]> {
  const told: string[] = [];
  return new Promise((resolve) => {
    process.on("warning", function hear({ message }) {
      if (told.push(message) < count) return;
      process.off("warning", hear);
      resolve(told);
    });
  });
}

/** Seen to fail, with a rejection that nobody handles, which ends the process by default. */
test("a callback that rejects is told, as one that throws", { timeout: 20_000 }, async () => {
  const fails = (): never => {
    throw new Error("mine");
  };
  for (const onAway of [fails, async () => fails()]) {
    const told = warnings(1);
    const sidemirror = connect({ ...NOBODY, onAway });
    sidemirror.beginTurn();
    assert.deepEqual(await told, ["onAway has thrown: Error: mine"]);
    await sidemirror.close(0);
  }
});

/** Seen to fail: with rejections that nobody handles, and nothing said of the redactor. */
test("no setting of an adapter is async, and one that gives a promise is told", { timeout: 20_000 }, async () => {
  const client = connect(NOBODY);
  const words = /"redact" is a function that is not async; it was given an async function/;
  assert.throws(() => checked("f()", { client, redact: (async (text: string) => text) as never }), words);
  const later = (): never => Promise.reject(new Error("mine")) as never;
  const told = warnings(3);
  Run.begin(checked("f()", { client, redact: later, outcome: later }), "a task", "", "", "").end("an answer");
  const why = "of the settings has failed: it gives a promise, for which nothing waits";
  assert.deepEqual(await told, ["redact", "redact", "outcome"].map((name) => `the function "${name}" ${why}`));
  await client.close(0);
});

/** Runs it as a script that has `turn`, of a client that it does not close; what it prints, and its warnings. */
async function script(address: string, rest: string): Promise<{ stdout: string; stderr: string }> {
  const text = `
    const { connect } = await import(${JSON.stringify(new URL("../src/index.js", import.meta.url).href)});
    const sidemirror = connect({ address: ${JSON.stringify(address)} });
    const turn = sidemirror.beginTurn({ task: "count" });
    ${rest}`;
  return promisify(execFile)("node", ["--input-type=module", "-e", text], { timeout: 60_000 });
}

/** Seen to fail, killed after the minute, when the stream of a turn keeps the process alive. */
test("a script that leaves a turn open ends, and the turn with it", async () => {
  const there = await standIn({ says: ({ kind }) => (kind.case === "turnStarted" ? [{ kind: { case: "turnPlan", value: {} } }] : []) });
  const { stdout, stderr } = await script(there.address, `console.log((await turn.plan(20_000)) !== undefined);`);
  assert.deepEqual([stdout, stderr], ["true\n", ""]);
  const { kind } = there.events.at(-1) as TurnEvent;
  assert.equal(kind.case === "turnFinished" && kind.value.outcome, TaskOutcome.UNSPECIFIED);
  there.stop();
});

/** Seen to fail, with a turn that ends as UNSPECIFIED, when the wait does not keep the process alive. */
test("a script that waits for directives goes on until they come", async () => {
  const there = await standIn({ saysLater: { kind: { case: "nudge", value: { message: "look" } } } });
  await script(there.address, `for await (const _ of turn) break; turn.finish(${TaskOutcome.SUCCESS});`);
  const ends = there.events.flatMap(({ kind }) => (kind.case === "turnFinished" ? [kind.value.outcome] : []));
  assert.deepEqual(ends, [TaskOutcome.SUCCESS]);
  there.stop();
});

/** Seen to fail when such a turn stays with its client for good. */
test("a turn that the sidecar has abandoned is over", { timeout: 20_000 }, async () => {
  const there = await standIn({ says: () => [{ kind: { case: "turnSummary", value: {} } }] });
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  for await (const { kind } of turn) assert.equal(kind.case, "turnSummary");
  turn.toolCalled("late", "{}");
  assert.equal(turn.dropped, 1);
  await sidemirror.close(0);
  there.stop();
});

/** Seen to fail, killed after the minute, when the search for the sidecar keeps the process alive. */
test("a script that does not close its client ends, and says what was not delivered", async () => {
  const { stderr } = await script("unix:/nobody.sock", "turn.finish();");
  assert.match(stderr, /Sidemirror at unix:\/nobody\.sock is away, the agent goes on without it: /);
  assert.match(stderr, /not delivered: 2 events/);
});

/** What the sidecar says where it takes nothing for now, with when to come again. */
function later(code: Code, reason: string): never {
  const details = [
    { desc: ErrorInfoSchema, value: { reason } },
    { desc: RetryInfoSchema, value: { retryDelay: { seconds: 1n } } },
  ];
  throw new ConnectError("not now", code, undefined, details);
}

const GOAL = JSON.stringify({ goalId: "g", objective: "count" });

/** Seen to fail, killed after the minute, each of them. */
test("a script ends whose sidecar is there and takes nothing", async () => {
  const there = (router: ConnectRouter): unknown => router.service(SidecarService, { getServerInfo: () => ({}) });
  const away = (): never => later(Code.Unavailable, "STORE_UNAVAILABLE");
  const unable = (router: ConnectRouter): unknown => router.service(GoalReflectionService, { reportGoal: away });
  const manners: Record<string, [Manner, string]> = {
    "a full disk": [{ says: () => later(Code.ResourceExhausted, "STORE_FULL") }, "2 events, 0 outcomes and 1"],
    "no store": [{ says: away, more: there }, "2 events, 0 outcomes and 1"],
    "no store for reports": [{ more: unable }, "0 events, 0 outcomes and 1"],
    "no word": [{ isMute: true }, "2 events, 0 outcomes and 1"],
  };
  const ends = Object.entries(manners).map(async ([name, [manner, lost]]) => {
    const server = await standIn(manner);
    const began = performance.now();
    const { stderr } = await script(server.address, `turn.finish(${TaskOutcome.SUCCESS}, { goal: ${GOAL} });`);
    assert.ok(performance.now() - began < 10_000, name);
    assert.match(stderr, new RegExp(`not delivered: ${lost} goals, of 1 turns`), name);
    server.stop();
  });
  await Promise.all(ends);
});

/** Its reports follow then. Seen to fail, without the goal, when two seconds without an ack are all that is waited. */
test("a script goes on while the sidecar thinks about a turn that it has", async () => {
  const goals: string[] = [];
  const server = await standIn({
    says: () => [{ kind: { case: "ack", value: { received: 2n, durable: 2n, pendingIds: ["d"] } } }],
    endsAfterMs: 3_500,
    more: (router) => router.service(GoalReflectionService, { reportGoal: ({ goalId }) => (goals.push(goalId), {}) }),
  });
  const { stderr } = await script(server.address, `turn.finish(${TaskOutcome.SUCCESS}, { goal: ${GOAL} });`);
  assert.deepEqual([goals, stderr], [["g"], ""]);
  server.stop();
});

/** Seen to fail when closing does not wait for its own warning: the process ends before it. */
test("a script that ends with an error after it has closed its client says what was not delivered", async () => {
  const rest = `try { throw new Error("the agent's own"); } finally { turn.finish(); await sidemirror.close(1); }`;
  await assert.rejects(script("unix:/nobody.sock", rest), ({ stderr }: { stderr: string }) => {
    assert.match(stderr, /not delivered: 2 events[^]*the agent's own/);
    return true;
  });
});

/** Seen to fail, with nothing said, when nobody listens for the end. */
test("a script that is ended by process.exit() or an error says what it has lost", async () => {
  const finished = `turn.toolCalled("look"); turn.finish(${TaskOutcome.SUCCESS}, { goal: ${GOAL} });`;
  const lost = /^SidemirrorWarning: .*not delivered: 3 events, 0 outcomes and 1 goals, of 1 turns$/m;
  for (const end of ["process.exit(3)", 'throw new Error("mine")', 'await Promise.reject(new Error("mine"))']) {
    await assert.rejects(script("unix:/nobody.sock", `${finished} ${end};`), ({ stderr }: { stderr: string }) => {
      assert.match(stderr, lost, end);
      return true;
    });
  }
  const { stderr } = await script("unix:/nobody.sock", `${finished} await sidemirror.close(0); process.exit(0);`);
  assert.equal(stderr.match(/not delivered/g)?.length, 1);
});

/** As the README's first program does. Seen to fail, without the end, when the client is not closed. */
test("an error that comes through the closing of the client has its turn delivered", async () => {
  const there = await standIn();
  const rest = `await turn.run(() => { throw new Error("mine"); }).finally(() => sidemirror.close());`;
  await assert.rejects(script(there.address, rest), ({ stderr }: { stderr: string }) => {
    assert.match(stderr, /Error: mine/);
    assert.doesNotMatch(stderr, /not delivered/);
    return true;
  });
  const { kind } = there.events.at(-1) as TurnEvent;
  assert.equal(kind.case === "turnFinished" && kind.value.outcome, TaskOutcome.ERROR);
  there.stop();
});

/** Seen to fail, with the path alone, when the error is that of Node.js. */
test("a file that cannot be read is named with what names it", () => {
  const connecting = (): unknown => connect({ address: "127.0.0.1:1", caFile: "/nowhere/ca.pem" });
  assert.throws(connecting, /\/nowhere\/ca\.pem \(SIDEMIRROR_CA_FILE, or the option caFile\) cannot be read: ENOENT/);
});
