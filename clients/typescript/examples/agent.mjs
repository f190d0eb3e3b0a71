// A whole agent, whose model is a list of steps: it asks a database, fails, listens to what the sidecar makes of it, and
// answers. It does the same when no sidecar is there.
import { adviceText, connect, lessonsText, TaskOutcome, ThinkLevel } from "@sidemirror/client";

const TASK = "How many orders are open?";
const QUERIES = ["SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders"];

const sidemirror = connect();
const goal = { goalId: "open-orders", objective: "Know how many orders are open" };
const turn = sidemirror.beginTurn({ task: TASK, basePrompt: "You are helpful.", level: ThinkLevel.MEDIUM, goal });
try {
  const messages = await turn.run(answer);
  const summary = await turn.summary(5000);
  if (summary) messages.push(`${summary.toolErrorCount} of the tool calls failed`);
  console.log(messages.filter(Boolean).join("\n"));
} finally {
  // Also when the agent fails: an error that ends the process would end what is on its way.
  await sidemirror.close();
}

/** What the agent's model is shown. An exception in here ends the turn as an error. */
async function answer() {
  const plan = await turn.plan(5000);
  const lessons = lessonsText(await turn.recall());
  const shown = [plan?.systemPrompt ?? "You are helpful.", lessons, TASK];
  for (const query of QUERIES) {
    turn.toolCalled("run_sql", query);
    const result = runSql(query);
    turn.toolReturned(result, result.startsWith("error"));
    shown.push(result, adviceText(await turn.advice()));
  }
  const text = await turn.revised("12 orders are open.", (prompt) => {
    // A real agent asks its model again with this.
    shown.push(prompt);
    return "12 orders are open.";
  });
  turn.responseDrafted(text);
  turn.finish(TaskOutcome.SUCCESS, { score: 1 });
  return shown;
}

function runSql(query) {
  return query.includes("status") ? "error: no such column: status" : "12";
}
