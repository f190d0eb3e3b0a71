// A whole agent, whose model is a list of steps: it asks a database, fails, listens to what the sidecar makes of it, and
// answers. It does the same when no sidecar is there.
import { setTimeout as pause } from "node:timers/promises";
import { TaskOutcome } from "@sidemirror/api/v1/common";
import { ThinkLevel } from "@sidemirror/api/v1/thinking";
import { connect } from "@sidemirror/client";

const TASK = "How many orders are open?";
const QUERIES = ["SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders"];

const sidemirror = connect();
const turn = sidemirror.beginTurn({ task: TASK, basePrompt: "You are helpful.", config: { level: ThinkLevel.MEDIUM } });
const plan = await turn.plan(5000);
const messages = [plan?.systemPrompt ?? "You are helpful.", TASK];
for (const query of QUERIES) {
  turn.toolCalled("run_sql", query);
  const result = runSql(query);
  turn.toolReturned(result, result.startsWith("error"));
  messages.push(result);
  // A real agent takes what is there before it asks its model again; this one has nothing else to do meanwhile.
  await pause(500);
  messages.push(...turn.take().flatMap(heard));
}
turn.report({ kind: { case: "responseDrafted", value: { text: "12 orders are open." } } });
turn.finish(TaskOutcome.SUCCESS, 1);
const summary = await turn.summary(5000);
if (summary) messages.push(`${summary.toolErrorCount} of the tool calls failed`);
console.log(messages.join("\n"));
await sidemirror.close();

/** What the agent's model should read of a directive. */
function heard({ kind }) {
  if (kind.case === "reflection") return [`[reflection] ${kind.value.reflection}`];
  if (kind.case === "nudge") return [`[nudge] ${kind.value.message}`];
  return [];
}

function runSql(query) {
  return query.includes("status") ? "error: no such column: status" : "12";
}
