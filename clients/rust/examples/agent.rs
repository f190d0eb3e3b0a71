//! A whole agent, whose model is a list of steps: it recalls what was learned, asks a database, fails, listens to what the
//! sidecar makes of it, has its answer looked at, and says how it went. It does the same when no sidecar is there.

use std::time::Duration;

use sidemirror_client::v1::{ReportGoalRequest, TaskOutcome, ThinkLevel, ThinkingConfig, TurnStarted};
use sidemirror_client::{advice_text, event, Draft, Recall, Sidemirror};

const TASK: &str = "How many orders are open?";
const QUERIES: [&str; 2] = ["SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders"];
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let sidemirror = Sidemirror::connect()?;
    let turn = sidemirror.begin_turn(TurnStarted {
        task: TASK.into(),
        base_prompt: "You are helpful.".into(),
        config: Some(ThinkingConfig { level: ThinkLevel::Medium.into(), ..Default::default() }),
        ..Default::default()
    });
    let prompt = turn.plan(PATIENCE).await.map_or("You are helpful.".into(), |plan| plan.system_prompt);
    let mut messages = vec![prompt, TASK.into()];
    messages.extend(turn.recall(Recall::default()).await.map(|lessons| lessons.text));
    for query in QUERIES {
        turn.report(event::tool_called("run_sql", query));
        let result = run_sql(query);
        turn.report(event::tool_returned(result, result.starts_with("error")));
        messages.push(result.into());
        let advice = advice_text(turn.advice(PATIENCE).await);
        messages.extend(Some(advice).filter(|advice| !advice.is_empty()));
    }
    let answer = "12 orders are open.";
    let draft = Draft { response: answer.into(), user_message: TASK.into(), patience: Some(PATIENCE) };
    if let Some(verdict) = turn.critique(draft).await.filter(|verdict| verdict.should_revise) {
        messages.push(verdict.revision_prompt);
    }
    turn.report(event::response_drafted(answer));
    let goal = ReportGoalRequest { goal_id: "open-orders".into(), objective: TASK.into(), ..Default::default() };
    turn.finish_with_goal(TaskOutcome::Success, Some(1.0), goal);
    if let Some(summary) = turn.summary(PATIENCE).await {
        messages.push(format!("{} of the tool calls failed", summary.tool_error_count));
    }
    println!("{}", messages.join("\n"));
    let lost = sidemirror.close().await;
    if !lost.is_empty() {
        eprintln!("not delivered: {lost:?}");
    }
    Ok(())
}

fn run_sql(query: &str) -> &'static str {
    if query.contains("status") {
        "error: no such column: status"
    } else {
        "12"
    }
}
