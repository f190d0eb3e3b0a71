/** What turns do by themselves, beside the scenario. */
import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ResultStatus, TaskOutcome } from "@sidemirror/api/v1/common";
import { CritiqueService } from "@sidemirror/api/v1/critique";
import { GoalReflectionService, GoalState } from "@sidemirror/api/v1/goal_reflection";
import { ReflectiveMemoryService } from "@sidemirror/api/v1/reflective_memory";
import { ThinkingConfigSchema, ThinkLevel, TurnEventSchema } from "@sidemirror/api/v1/thinking";
import { wayTo } from "../src/address.js";
import { connect, type RunOptions, type Sidemirror, type Turn } from "../src/index.js";
import type { Link } from "../src/link.js";
import type { Queue } from "../src/queue.js";
import { asText } from "../src/text.js";
import { standIn } from "./standin.js";

const NO_FILES = { tls: false, caFile: "", certificateFile: "", keyFile: "", tokenFile: "" };

/** So many calls of a client are on their way at once. */
const AT_ONCE = 90;

function linkOf(sidemirror: Sidemirror): Link {
  return (sidemirror as unknown as { link: Link }).link;
}

function percentile99(times: number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)] as number;
}

/** Seen to fail when nothing looks for silence: the plan takes its 20 seconds. */
test("a server that accepts and never answers is away", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const told: string[] = [];
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sidemirror = connect({ address, onAway: (why) => void told.push(why.message) });
  const turn = sidemirror.beginTurn();
  const began = performance.now();
  assert.equal(await turn.plan(20_000), undefined);
  assert.ok(performance.now() - began < 4_000);
  assert.equal(told.length, 1);
  const away = performance.now();
  assert.deepEqual([await turn.recall(), await turn.critique("41"), await turn.advice()], [undefined, undefined, []]);
  assert.equal(await turn.revised("41", () => assert.fail("nobody asked for it")), "41");
  assert.ok(performance.now() - away < 100);
  assert.deepEqual(await sidemirror.close(0), { events: 1, outcomes: 0, goals: 0, turns: [turn.id] });
  for (const socket of sockets) socket.destroy();
  server.close();
});

/** Seen to fail when an answer that comes while the loop is held up counts as none. */
test("a client that was held up does not take its own silence for the sidecar's", async () => {
  let asked = 0;
  const hold = (): void => {
    if (asked++ > 0) return;
    for (const ends = performance.now() + 1_700; performance.now() < ends; );
  };
  const there = await standIn({ isMute: true, asked: hold });
  let told = 0;
  const sidemirror = connect({ address: there.address, onAway: () => void told++ });
  assert.equal(await sidemirror.beginTurn().plan(5_000), undefined);
  assert.ok(asked > 0);
  assert.equal(told, 0);
  await sidemirror.close(0);
  there.stop();
});

/** Seen to fail when each try has an id of its own, and when the goal goes before the outcomes. */
test("an outcome is reported once for each block, under one id, and then the goal", async () => {
  const reports: [string, string][] = [];
  const there = await standIn({
    says: ({ kind }) => {
      if (kind.case === "turnStarted") {
        return [{ directiveId: "p", kind: { case: "turnPlan", value: { context: { receiptId: "plan" } } } }];
      }
      const lessons = { receiptId: "reflection" };
      return ["a", "b"].map((directiveId) => ({ directiveId, kind: { case: "reflection", value: { lessons } } }));
    },
    more: (router) => {
      router.service(ReflectiveMemoryService, {
        reportOutcome: ({ receiptId, requestId }) => {
          reports.push([receiptId, requestId]);
          if (reports.length === 1) throw new ConnectError("not now", Code.Unavailable);
          if (reports.length === 2) throw new ConnectError("not now", Code.DeadlineExceeded);
          return {};
        },
      });
      router.service(GoalReflectionService, { reportGoal: ({ goalId, requestId }) => (reports.push([goalId, requestId]), {}) });
    },
  });
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn({ goal: { goalId: "goal", objective: "count" } });
  turn.toolReturned("no such table", true);
  turn.finish(TaskOutcome.FAILURE, 0.5);
  assert.ok(await sidemirror.flush(10_000));
  assert.deepEqual(reports.map(([receipt]) => receipt), ["plan", "plan", "plan", "reflection", "goal"]);
  assert.equal(new Set(reports.map(([, request]) => request)).size, 3);
  assert.deepEqual(await sidemirror.close(), { events: 0, outcomes: 0, goals: 0, turns: [] });
  there.stop();
});

/** Seen to fail when a verdict that did not come to be counts, and when what `again` gives is judged as well. */
test("an answer is revised once, when its critique asks for it", async () => {
  const judged: string[] = [];
  const there = await standIn({
    more: (router) =>
      router.service(CritiqueService, {
        critique: ({ response, userMessage }) => {
          judged.push(`${userMessage}${response}`);
          const status = response === "none" ? ResultStatus.FAILED_MODEL : ResultStatus.OK;
          return { critique: { status, shouldRevise: !response.startsWith("right"), revisionPrompt: `Not ${response}.` } };
        },
      }),
  });
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  const asked: string[] = [];
  const again = (prompt: string): string => `right ${asked.push(prompt)}`;
  assert.equal(await turn.revised("41", again), "right 1");
  assert.equal(await turn.revised("42", async (prompt) => again(prompt), { userMessage: "How many? " }), "right 2");
  assert.equal(await turn.revised("right", again), "right");
  assert.equal(await turn.revised("none", again), "none");
  assert.deepEqual(asked, ["Not 41.", "Not 42."]);
  assert.deepEqual(judged, ["41", "How many? 42", "right", "none"]);
  const fails = (): never => {
    throw new RangeError("mine");
  };
  await assert.rejects(turn.revised("41", fails), RangeError);
  await assert.rejects(turn.revised("41", async () => fails()), RangeError);
  await sidemirror.close();
  assert.equal(await turn.revised("41", fails), "41");
  there.stop();
});

/** Seen to fail when `finish()` says SUCCESS. */
test("an outcome that nobody said is unspecified", async () => {
  const there = await standIn();
  const sidemirror = connect({ address: there.address });
  sidemirror.beginTurn({ turnId: "finished" }).finish(undefined as never);
  sidemirror.beginTurn({ turnId: "disposed" })[Symbol.dispose]();
  await sidemirror.beginTurn({ turnId: "disposed, waited for" })[Symbol.asyncDispose]();
  await sidemirror.beginTurn({ turnId: "run" }).run(() => {});
  await assert.rejects(sidemirror.beginTurn({ turnId: "thrown" }).run(() => Promise.reject(new Error("mine"))), /mine/);
  assert.ok(await sidemirror.flush(10_000));
  const outcomes = there.events.flatMap(({ kind }) => (kind.case === "turnFinished" ? [kind.value.outcome] : []));
  assert.deepEqual(outcomes.toSorted(), [...Array(4).fill(TaskOutcome.UNSPECIFIED), TaskOutcome.ERROR]);
  await sidemirror.close();
  there.stop();
});

/** Seen to fail, without a report, when a goal is that of `finish` alone, and when what throws ends with the run's outcome. */
test("the goal of a turn or its run is reported with its outcome, and with what was thrown", async () => {
  const reports: string[] = [];
  const there = await standIn({
    more: (router) =>
      router.service(GoalReflectionService, {
        reportGoal: ({ goalId, state, turnId, error }) => {
          reports.push([goalId, GoalState[state], turnId, error].join(" "));
          return {};
        },
      }),
  });
  const sidemirror = connect({ address: there.address });
  const towards = (goalId: string, error = ""): RunOptions => ({ goal: { goalId, objective: "count", error } });
  const fails = (): never => {
    throw new RangeError("no such table");
  };
  const wordless = Object.assign(new Error(), { toString: fails });
  const turn = (turnId: string): Turn => sidemirror.beginTurn({ turnId });
  await turn("1").run((same) => same.finish(TaskOutcome.SUCCESS), towards("reached"));
  await assert.rejects(turn("2").run(fails, towards("thrown")), RangeError);
  await assert.rejects(turn("3").run(fails, towards("said", "mine")), RangeError);
  await assert.rejects(turn("4").run(() => Promise.reject(null), towards("none")));
  await turn("5").run(() => {}, towards("left"));
  const ends = { outcome: TaskOutcome.SUCCESS };
  assert.equal(await turn("6").run(() => "41", { ...towards("returned"), ...ends }), "41");
  await turn("7").run((same) => same.finish(TaskOutcome.FAILURE), { ...towards("finished"), ...ends });
  await assert.rejects(turn("8").run(fails, { ...towards("failed"), ...ends }), RangeError);
  const began = (turnId: string): Turn => sidemirror.beginTurn({ turnId, ...towards("began") });
  await began("9").run(() => {}, ends);
  await assert.rejects(began("10").run(fails), RangeError);
  await began("11").run(() => {}, { ...towards("run with"), ...ends });
  await assert.rejects(turn("14").run(() => Promise.reject(wordless), { ...towards("wordless"), ...ends }), wordless);
  began("12").finish(TaskOutcome.SUCCESS);
  began("13")[Symbol.dispose]();
  assert.ok(await sidemirror.flush(10_000));
  const expected = [
    "began COMPLETED 12 ",
    "began COMPLETED 9 ",
    "began FAILED 10 RangeError: no such table",
    "failed FAILED 8 RangeError: no such table",
    "finished FAILED 7 ",
    "none FAILED 4 ",
    "reached COMPLETED 1 ",
    "returned COMPLETED 6 ",
    "run with COMPLETED 11 ",
    "said FAILED 3 mine",
    "thrown FAILED 2 RangeError: no such table",
    "wordless FAILED 14 [unsayable]",
  ];
  assert.deepEqual(reports.toSorted(), expected);
  await sidemirror.close();
  there.stop();
});

/** Seen to fail when the level takes the place of what else `config` says. */
test("a level is short for that of the config", async () => {
  const there = await standIn();
  const sidemirror = connect({ address: there.address });
  const began = [
    { level: ThinkLevel.HIGH },
    { level: ThinkLevel.HIGH, config: { level: ThinkLevel.LOW, reflectEvery: 3 } },
    { level: ThinkLevel.HIGH, config: create(ThinkingConfigSchema, { reflectEvery: 3 }) },
    { config: { level: ThinkLevel.LOW } },
    {},
  ];
  for (const options of began) sidemirror.beginTurn(options).finish(TaskOutcome.UNSPECIFIED);
  assert.ok(await sidemirror.flush(10_000));
  const configs = there.events.flatMap(({ kind }) => (kind.case === "turnStarted" ? [kind.value.config] : []));
  const said = configs.map((config) => config && `${ThinkLevel[config.level]} ${config.reflectEvery}`);
  assert.deepEqual(said.toSorted(), ["HIGH 0", "HIGH 3", "HIGH 3", "LOW 0", undefined]);
  await sidemirror.close();
  there.stop();
});

test("addresses", () => {
  assert.equal(wayTo("https://sidecar.example.com", NO_FILES).baseUrl, "https://sidecar.example.com");
  assert.equal(wayTo("[::1]:50051", { ...NO_FILES, tls: true }).baseUrl, "https://[::1]:50051");
  assert.equal(wayTo("http://10.0.0.7:1/", NO_FILES).baseUrl, "http://10.0.0.7:1");
  // Which other ones are refused is in clients/scenario/addresses.json.
  for (const none of ["", "host:port", "[fe80::1%eth0]:1", "127.0.0.1:1@example.com:1"]) {
    assert.throws(() => wayTo(none, NO_FILES), TypeError, none);
  }
});

/** Seen to fail the agent, with a FieldError, when only texts are taken. */
test("arguments and results are reported as an agent has them", async () => {
  const there = await standIn();
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  turn.toolCalled("look", { city: "Köln", days: [1, 2] });
  turn.toolReturned({ rate: 0.92 });
  turn.toolCalled("look");
  turn.toolReturned(new RangeError("no rate"), true);
  turn.finish(TaskOutcome.PARTIAL);
  assert.ok(await sidemirror.flush(10_000));
  const texts = there.events.map(({ kind }) =>
    kind.case === "toolCalled" ? kind.value.arguments : kind.case === "toolReturned" ? kind.value.content : undefined,
  );
  const called = '{"city":"Köln","days":[1,2]}';
  assert.deepEqual(texts.slice(1, -1), [called, '{"rate":0.92}', "", "RangeError: no rate"]);
  await sidemirror.close();
  there.stop();
});

/** Seen to fail, with `[object Object]` and `{}`, when JSON's own rules are all. */
test("what JSON does not say is said as well", () => {
  class Node {
    name = "n";
    self: unknown = this;
  }
  const shared = { a: 1 };
  const around: unknown[] = [shared, { deep: shared }];
  around.push({ around });
  assert.equal(asText(12345678901234567890n), "12345678901234567890");
  assert.equal(asText({ id: 12345678901234567890n }), '{"id":"12345678901234567890"}');
  assert.equal(asText(new Node()), '{"name":"n","self":"[circular]"}');
  assert.equal(asText(around), '[{"a":1},{"deep":{"a":1}},{"around":"[circular]"}]');
  assert.equal(asText({ tried: [new RangeError("no rate")] }), '{"tried":["RangeError: no rate"]}');
  assert.equal(asText({ at: new Date(0) }), '{"at":"1970-01-01T00:00:00.000Z"}');
  assert.equal(asText({ toJSON: () => assert.fail("mine") }), "[object Object]");
  assert.equal(asText(Object.assign(Object.create(null), { toJSON: () => assert.fail("mine") })), "[unsayable]");
});

/** The sidecar would refuse the whole turn. Seen to fail when a name goes as it is, and when its UTF-16 units count. */
test("a call whose tool has no name is reported as unnamed, and a long name is cut", async () => {
  const there = await standIn();
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  for (const name of ["", "look", "𝄞".repeat(256), "𝄞".repeat(300)]) turn.toolCalled(name, "{}");
  turn.report({ kind: { case: "toolCalled", value: {} } });
  turn.finish(TaskOutcome.SUCCESS);
  assert.ok(await sidemirror.flush(10_000));
  const names = there.events.flatMap(({ kind }) => (kind.case === "toolCalled" ? [kind.value.name] : []));
  assert.deepEqual(names, ["unnamed", "look", "𝄞".repeat(256), "𝄞".repeat(256), "unnamed"]);
  await sidemirror.close();
  there.stop();
});

/** The sidecar could not read it. Seen to fail when it is kept. What the sidecar takes of an event it says itself. */
test("an event that fits no message is not kept", async () => {
  const told: string[] = [];
  const hear = ({ message }: Error): void => void told.push(message);
  process.on("warning", hear);
  const sidemirror = connect({ address: "unix:/nobody.sock", onAway: () => {} });
  const said = { content: "x".repeat(250_000) };
  assert.equal(sidemirror.beginTurn({ messages: Array(5).fill(said) }).dropped, 0);
  assert.equal(sidemirror.beginTurn({ messages: Array(17).fill(said) }).dropped, 1);
  await pause(0); // warnings come with the next tick
  process.off("warning", hear);
  assert.match(told.join(), /^turn .*: an event that is too large for a message is not delivered$/);
  await sidemirror.close(0);
});

/** Seen to keep what it had refused: the outcome was reported all the same, or ended the process by an unhandled rejection. */
test("a finish that is refused leaves nothing behind, and a score that is a text is none", async () => {
  const outcomes: [TaskOutcome, number | undefined][] = [];
  const there = await standIn({
    says: () => [{ directiveId: "p", kind: { case: "turnPlan", value: { context: { receiptId: "r" } } } }],
    more: (router) => {
      router.service(ReflectiveMemoryService, { reportOutcome: ({ outcome, score }) => (outcomes.push([outcome, score]), {}) });
    },
  });
  const sidemirror = connect({ address: there.address });
  const refused = sidemirror.beginTurn();
  await refused.plan();
  assert.throws(() => refused.finish("SUCCESS" as unknown as TaskOutcome));
  refused.finish(TaskOutcome.UNSPECIFIED);
  const scored = sidemirror.beginTurn();
  await scored.plan();
  scored.finish(TaskOutcome.SUCCESS, { score: "0.5" as unknown as number });
  assert.ok(await sidemirror.flush(10_000));
  assert.deepEqual(outcomes, [[TaskOutcome.SUCCESS, undefined]]);
  await sidemirror.close();
  there.stop();
});

/** Longer than a timer or a deadline of gRPC may be. Seen to be over at once. */
test("a very long wait is one", async () => {
  let asked = 0;
  const there = await standIn({
    more: (router) => {
      router.service(ReflectiveMemoryService, {
        buildMemoryContext: async () => {
          asked++;
          await pause(200);
          return { block: { text: "lesson", receiptId: "r" } };
        },
      });
    },
  });
  const sidemirror = connect({ address: there.address, deadlineMs: Infinity });
  const turn = sidemirror.beginTurn();
  for (const timeoutMs of [2 ** 31, Infinity]) assert.equal((await turn.recall({ timeoutMs }))?.text, "lesson");
  assert.equal(asked, 2);
  turn.finish(TaskOutcome.UNSPECIFIED);
  await sidemirror.close();
  there.stop();
});

/** Seen to fail when it counts as an event that was not delivered. */
test("a second finish changes nothing", async () => {
  const sidemirror = connect({ address: "unix:/nobody/is/here" });
  const turn = sidemirror.beginTurn();
  turn.finish(TaskOutcome.SUCCESS);
  turn.finish(TaskOutcome.FAILURE);
  assert.equal(turn.dropped, 0);
  turn.toolCalled("late");
  assert.equal(turn.dropped, 1);
  await sidemirror.close(0);
});

/** Seen to fail, with nothing said, when a call that is refused ends like one without an answer. */
test("of each kind of call that is refused the log tells once", async () => {
  const refusing = { code: Code.InvalidArgument };
  const refuse = (): never => {
    throw new ConnectError("tools[0]='at most 256 characters'", refusing.code);
  };
  const there = await standIn({
    more: (router) => {
      router.service(ReflectiveMemoryService, { buildMemoryContext: refuse });
      router.service(CritiqueService, { critique: refuse });
    },
  });
  const told: string[] = [];
  const hear = ({ message }: Error): void => void told.push(message);
  process.on("warning", hear);
  const sidemirror = connect({ address: there.address });
  for (const turn of [sidemirror.beginTurn(), sidemirror.beginTurn()]) {
    assert.equal(await turn.recall(), undefined);
    assert.equal(await turn.revised("41", () => assert.fail("nobody asked for it")), "41");
  }
  refusing.code = Code.DeadlineExceeded;
  assert.equal(await sidemirror.beginTurn().recall(), undefined);
  refusing.code = Code.PermissionDenied;
  assert.equal(await sidemirror.beginTurn().recall(), undefined);
  await pause(0); // warnings come with the next tick
  process.off("warning", hear);
  const why = "tools[0]='at most 256 characters'";
  const others = told.filter((message) => !message.includes("is too busy for a recall"));
  assert.deepEqual(others, [
    `the sidecar has refused a recall: [invalid_argument] ${why}`,
    `the sidecar has refused a critique: [invalid_argument] ${why}`,
    `the sidecar has refused a recall: [permission_denied] ${why}`,
  ]);
  await sidemirror.close(0);
  there.stop();
});

/** Seen to fail when an aborted call counts as a broken connection, and when its signal reaches no wait. */
test("a wait that is aborted is over, and nothing has come of it", async () => {
  let asked = 0;
  const there = await standIn({
    isMute: true,
    more: (router) =>
      router.service(ReflectiveMemoryService, {
        buildMemoryContext: async (_, { signal }) => {
          if (asked++ === 0) await pause(20_000, undefined, { signal }).catch(() => {});
          return { block: { text: "a lesson" } };
        },
      }),
  });
  let told = 0;
  const sidemirror = connect({ address: there.address, onAway: () => void told++ });
  const turn = sidemirror.beginTurn();
  const soon = () => ({ timeoutMs: 10_000, signal: AbortSignal.timeout(50) });
  const began = performance.now();
  assert.deepEqual([await turn.plan(soon()), await turn.summary(soon()), await turn.advice(soon())], [undefined, undefined, []]);
  assert.deepEqual([await turn.recall(soon()), await turn.critique("41", soon())], [undefined, undefined]);
  assert.equal(await turn.revised("41", () => assert.fail("nobody asked for it"), soon()), "41");
  assert.ok(performance.now() - began < 5_000);
  assert.equal(await turn.recall({ signal: AbortSignal.abort() }), undefined);
  assert.equal(asked, 1);
  assert.equal((await turn.recall({ timeoutMs: 10_000 }))?.text, "a lesson");
  assert.equal(told, 0);
  await sidemirror.close(0);
  there.stop();
});

/** Seen to fail when a call that waits for its place does not look at the signal. */
test("a call that waits for its place is over as well when it is aborted", async () => {
  let asked = 0;
  const there = await standIn({
    more: (router) =>
      router.service(ReflectiveMemoryService, {
        buildMemoryContext: async (_, { signal }) => {
          asked++;
          await pause(20_000, undefined, { signal }).catch(() => {});
          return {};
        },
      }),
  });
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  const stop = new AbortController();
  const held = Array.from({ length: 100 }, () => turn.recall({ timeoutMs: 15_000, signal: stop.signal }));
  for (const ends = performance.now() + 10_000; asked < AT_ONCE && performance.now() < ends; ) await pause(5);
  const began = performance.now();
  stop.abort();
  assert.deepEqual(new Set(await Promise.all(held)), new Set([undefined]));
  assert.ok(performance.now() - began < 2_000);
  assert.equal(asked, AT_ONCE);
  await sidemirror.close(0);
  there.stop();
});

/** What has come stays there for whoever asks next. Seen to fail when the aborted wait takes it. */
test("advice that is not waited for any more is not taken", async () => {
  const there = await standIn({
    says: ({ eventId }) => [{ directiveId: eventId, kind: { case: "nudge", value: { message: "look" } } }],
  });
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  for await (const { kind } of turn) {
    assert.equal(kind.case, "nudge");
    break;
  }
  turn.report({ kind: { case: "toolCalled", value: { name: "look" } } });
  const { queue } = turn as unknown as { queue: Queue };
  for (const ends = performance.now() + 10_000; !queue.hasReceived(2) && performance.now() < ends; ) await pause(5);
  assert.deepEqual(await turn.advice({ signal: AbortSignal.abort() }), []);
  assert.equal((await turn.advice(10_000)).length, 1);
  await sidemirror.close(0);
  there.stop();
});

/** Seen to fail, with all four events there, when each wait goes on until nothing is left to receive. */
test("advice and a verdict wait for what was reported before them, and not for what comes later", async () => {
  const there = await standIn({
    saysLater: { kind: { case: "nudge", value: { message: "look" } } },
    more: (router) => router.service(CritiqueService, { critique: () => ({ critique: { status: ResultStatus.OK } }) }),
  });
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  turn.toolReturned("41");
  const waits = [turn.advice(10_000), turn.critique("41")];
  for (const text of ["42", "43"]) turn.toolReturned(text);
  for (const wait of waits) assert.ok(await wait);
  assert.ok(there.events.length < 4, `${there.events.length}`);
  await sidemirror.close(0);
  there.stop();
});

/** The sidecar refuses any other. Seen to fail when the number goes as it is. */
test("no more lessons are asked for than the sidecar gives", async () => {
  const asked: number[] = [];
  const there = await standIn({
    more: (router) =>
      router.service(ReflectiveMemoryService, { buildMemoryContext: ({ maxItems }) => (asked.push(maxItems), {}) }),
  });
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  for (const maxItems of [-1, 0, undefined, 1, 20, 21, Infinity]) await turn.recall({ maxItems });
  assert.deepEqual(asked, [0, 0, 0, 1, 20, 20, 20]);
  await assert.rejects(turn.recall({ maxItems: 2.5 }), /2\.5/);
  await sidemirror.close(0);
  there.stop();
});

/** Pins what `flush` says, since it is not what `close` says. */
test("a turn that was refused does not wait, and is not delivered", async () => {
  const there = await standIn({
    says: () => {
      throw new ConnectError("not this one", Code.InvalidArgument);
    },
  });
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  turn.finish(TaskOutcome.SUCCESS, { goal: { goalId: "g", objective: "count" } });
  assert.equal(await sidemirror.flush(10_000), true);
  assert.equal(turn.error?.code, Code.InvalidArgument);
  assert.deepEqual(await sidemirror.close(), { events: 2, outcomes: 0, goals: 1, turns: [turn.id] });
  there.stop();
});

/** Seen to fail when a method leaves the id out. */
test("calls that overlap are told apart by their ids", async () => {
  const there = await standIn();
  const sidemirror = connect({ address: there.address });
  const turn = sidemirror.beginTurn();
  turn.toolCalled("look", {}, { callId: "a" });
  turn.toolCalled("look", {}, { callId: "b" });
  turn.toolFailed(new Error("gone"), { callId: "b" });
  turn.toolReturned("41", false, { callId: "a" });
  turn.userMessage("How many?");
  turn.responseDrafted("41");
  turn.finish(TaskOutcome.SUCCESS);
  assert.ok(await sidemirror.flush(10_000));
  const said = there.events.slice(1, -1).map(({ kind: { value } }) => Object.values({ ...(value as object), $typeName: "" }).join(" "));
  assert.deepEqual(said, [" a look {} false", " b look {} false", " b Error: gone", " a 41 false false", " How many?", " 41"]);
  await sidemirror.close();
  there.stop();
});

/** Seen to fail, with ERROR and a goal that failed, when what aborts counts as the agent's error. */
test("a turn that is aborted has no outcome and no goal", async () => {
  const goals: string[] = [];
  const there = await standIn({
    more: (router) => router.service(GoalReflectionService, { reportGoal: ({ goalId }) => (goals.push(goalId), {}) }),
  });
  const sidemirror = connect({ address: there.address });
  const ends = { goal: { goalId: "g", objective: "count" }, outcome: TaskOutcome.SUCCESS };
  const stop = AbortSignal.abort();
  await assert.rejects(sidemirror.beginTurn().run(() => stop.throwIfAborted(), ends), { name: "AbortError" });
  await assert.rejects(sidemirror.beginTurn().run(() => pause(1_000, 1, { signal: stop }), ends), { name: "AbortError" });
  await assert.rejects(sidemirror.beginTurn().run(() => { throw new DOMException("late", "TimeoutError"); }));
  assert.ok(await sidemirror.flush(10_000));
  const outcomes = there.events.flatMap(({ kind }) => (kind.case === "turnFinished" ? [kind.value.outcome] : []));
  assert.deepEqual(outcomes.toSorted(), [TaskOutcome.UNSPECIFIED, TaskOutcome.UNSPECIFIED, TaskOutcome.ERROR]);
  assert.deepEqual(goals, []);
  await sidemirror.close();
  there.stop();
});

/** Seen to fail when a wait leaves its listener behind. */
test("nothing is left of two thousand turns, a hundred at once", async () => {
  const there = await standIn();
  const sidemirror = connect({ address: there.address });
  const one = async (): Promise<void> => {
    const turn = sidemirror.beginTurn();
    turn.toolCalled("look", "{}");
    await turn.advice(10_000);
    await turn.run(() => turn.finish(TaskOutcome.PARTIAL));
    assert.ok(await turn.summary(10_000));
  };
  let handles = 0;
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 100 }, one));
    assert.ok(await sidemirror.flush(10_000));
    if (round === 0) handles = process.getActiveResourcesInfo().length;
  }
  // The timer that looks for silence ends with its next look.
  for (const ends = performance.now() + 10_000; process.getActiveResourcesInfo().length > handles; await pause(20)) {
    assert.ok(performance.now() < ends, `${process.getActiveResourcesInfo()}`);
  }
  const link = linkOf(sidemirror) as unknown as { changes: { listeners: Set<unknown> }; waiting: Map<object, number> };
  assert.deepEqual([link.changes.listeners.size, link.waiting.size, linkOf(sidemirror).waitingBytes], [0, 0, 0]);
  await sidemirror.close();
  there.stop();
});

test("a report takes less than a millisecond", async (t) => {
  const sidemirror = connect({ address: "unix:/nobody.sock", onAway: () => {} });
  const turn = sidemirror.beginTurn();
  const [times, floor]: [number[], number[]] = [[], []];
  for (let i = 0; i < 5_000; i++) {
    const kind = { case: "toolCalled", value: { name: "step", arguments: JSON.stringify({ i }) } } as const;
    const began = performance.now();
    toBinary(TurnEventSchema, create(TurnEventSchema, { kind }));
    const between = performance.now();
    turn.report({ kind });
    times.push(performance.now() - between);
    floor.push(between - began);
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const [reported, encoded] = [percentile99(times), percentile99(floor)];
  t.diagnostic(`report: p99 ${reported.toFixed(3)} ms; encoding the event alone: ${encoded.toFixed(3)} ms`);
  assert.ok(reported < 1, `${reported}`);
  await sidemirror.close(0);
});
