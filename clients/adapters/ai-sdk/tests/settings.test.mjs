// Settings that are wrong are refused before an agent runs, by the names that help. test_settings.py runs it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ThinkLevel } from "@sidemirror/api/v1/thinking";
import { sidemirror } from "@sidemirror/ai-sdk";

const LEVELS = /"level" .*"off", "low", "medium", "high"/;
const WRONG = [
  [{ level: "hihg" }, LEVELS],
  [{ level: "toString" }, LEVELS],
  [{ level: "UNSPECIFIED" }, LEVELS],
  [{ level: 42 }, LEVELS],
  [{ budget: 3 }, /"budget" .*maxReflections/],
  [{ budget: { max_reflections: 3 } }, /"budget" .*maxReflections.* not "max_reflections"/],
  [{ budget: { maxTokens: "many" } }, /"budget" .*max_tokens/],
  [{ lessons: "no" }, /"lessons" is true or false.*"no"/],
  [{ advice: 0 }, /"advice" is true or false/],
  [{ hasShell: 1 }, /"hasShell" is true or false/],
  [{ lessonsMs: "10" }, /"lessonsMs" is milliseconds/],
  [{ adviceMs: Number.NaN }, /"adviceMs" is milliseconds/],
  [{ critiqueMs: Number.POSITIVE_INFINITY }, /"critiqueMs" is milliseconds/],
  [{ revisions: -1 }, /"revisions" is a whole number, 0 or more; it was given -1/],
  [{ redact: /secret/ }, /"redact" is a function/],
  [{ outcome: "SUCCESS" }, /"outcome" is a function/],
  [{ goalId: "" }, /"goalId" is a text/],
  [{ sessionId: null }, /"sessionId" is a text/],
  [{ client: { address: "127.0.0.1:1" } }, /"client" is a client, as connect\(\)/],
  [{ lessons_s: 2 }, /no setting "lessons_s": it is "lessonsMs", in milliseconds/],
  [{ goal_id: "x" }, /no setting "goal_id": it is "goalId"$/],
  [{ hasOwnProperty: true }, /no setting "hasOwnProperty"; there are level, /],
  ["high", /an object/],
];

test("an address that the environment has wrong", () => {
  process.env.SIDEMIRROR_ADDRESS = "localhost";
  assert.throws(() => sidemirror(), /"localhost" of Sidemirror .*host:port, such as 127\.0\.0\.1:50051/);
  process.env.SIDEMIRROR_ADDRESS = "127.0.0.1:1";
});

for (const [settings, words] of WRONG) {
  test(`refused: ${JSON.stringify(settings)}`, () => {
    assert.throws(() => sidemirror(settings), (error) => error instanceof TypeError && words.test(error.message));
  });
}

test("every way to write a level, and what is not given", () => {
  for (const level of [ThinkLevel.HIGH, "high", "HIGH", "THINK_LEVEL_HIGH", ThinkLevel.UNSPECIFIED, undefined]) {
    sidemirror({ level, goalId: undefined, budget: { maxReflections: 1, maxTokens: 5n, maxUsd: 0.5 } });
  }
});
