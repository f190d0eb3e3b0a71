//! A whole agent, whose model is a list of steps: it recalls what was learned, asks a database, fails, listens to what the
//! sidecar makes of it, has its answer looked at, and says how it went. It does the same when no sidecar is there.

use std::convert::Infallible;
use std::time::Duration;

use sidemirror_client::v1::TurnStarted;
use sidemirror_client::{advice_text, event, goal, started, Draft, Sidemirror, TaskOutcome, ThinkLevel};

const TASK: &str = "How many orders are open?";
const QUERIES: [&str; 2] = ["SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders"];
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let sidemirror = Sidemirror::connect()?;
    let started = TurnStarted { base_prompt: "You are helpful.".into(), ..started(TASK, ThinkLevel::Medium) };
    let turn = sidemirror.begin_turn(started).towards(goal("open-orders", TASK));
    let prompt = turn.plan(PATIENCE).await.map_or("You are helpful.".into(), |plan| plan.system_prompt);
    let mut messages = vec![prompt, TASK.into()];
    messages.extend(turn.recall(None).await.map(|lessons| lessons.text));
    for query in QUERIES {
        turn.report(event::tool_called("run_sql", query));
        let result = run_sql(query);
        turn.report(event::tool_result(&result));
        messages.push(result.unwrap_or_else(|error| error).into());
        let advice = advice_text(turn.advice(PATIENCE).await);
        messages.extend(Some(advice).filter(|advice| !advice.is_empty()));
    }
    let draft = Draft { user_message: TASK.into(), patience: Some(PATIENCE), .."12 orders are open.".into() };
    // With a reason to revise a real agent would ask its model again, which may fail.
    let answer = turn.revised(draft, async |prompt| Ok::<_, Infallible>(format!("I am not sure. {prompt}"))).await?;
    messages.push(answer.clone());
    turn.report(event::response_drafted(answer));
    turn.finish(TaskOutcome::Success, Some(1.0));
    if let Some(summary) = turn.summary(PATIENCE).await {
        messages.push(format!("{} of the tool calls failed", summary.tool_error_count));
    }
    println!("{}", messages.join("\n"));
    sidemirror.close().await;
    Ok(())
}

fn run_sql(query: &str) -> Result<&'static str, &'static str> {
    if query.contains("status") {
        return Err("no such column: status");
    }
    Ok("12")
}
