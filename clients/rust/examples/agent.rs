//! A whole agent, whose model is a list of steps: it asks a database, fails, listens to what the sidecar makes of it, and
//! answers. It does the same when no sidecar is there.

use std::time::Duration;

use sidemirror_client::v1::turn_directive::Kind;
use sidemirror_client::v1::{TaskOutcome, ThinkLevel, ThinkingConfig, TurnDirective, TurnStarted};
use sidemirror_client::{event, Sidemirror};

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
    for query in QUERIES {
        turn.report(event::tool_called("run_sql", query));
        let result = run_sql(query);
        turn.report(event::tool_returned(result, result.starts_with("error")));
        messages.push(result.into());
        // A real agent takes what is there before it asks its model again; this one has nothing else to do meanwhile.
        tokio::time::sleep(Duration::from_millis(500)).await;
        messages.extend(turn.take().into_iter().filter_map(heard));
    }
    turn.report(event::response_drafted("12 orders are open."));
    turn.finish(TaskOutcome::Success, Some(1.0));
    if let Some(summary) = turn.summary(PATIENCE).await {
        messages.push(format!("{} of the tool calls failed", summary.tool_error_count));
    }
    println!("{}", messages.join("\n"));
    sidemirror.close().await;
    Ok(())
}

/// What the agent's model should read of a directive.
fn heard(directive: TurnDirective) -> Option<String> {
    match directive.kind? {
        Kind::Reflection(reflection) => Some(format!("[reflection] {}", reflection.reflection)),
        Kind::Nudge(nudge) => Some(format!("[nudge] {}", nudge.message)),
        _ => None,
    }
}

fn run_sql(query: &str) -> &'static str {
    if query.contains("status") {
        "error: no such column: status"
    } else {
        "12"
    }
}
