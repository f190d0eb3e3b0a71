//! What the client does beside the sidecar that tests/clients starts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sidemirror_client::{event, started, Draft, Options, Sidemirror, ThinkLevel, Turn};

// Beside a call that failed, without which the rules let it through.
const WRONG: &str = "There are 41 orders.";
const RIGHT: &str = "I could not count the orders: there is no such table.";

fn fail_to_count(sidemirror: &Sidemirror) -> Turn {
    let turn = sidemirror.begin_turn(started("count the orders", ThinkLevel::Medium));
    turn.report(event::tool_called("run_sql", "SELECT count(*) FROM order"));
    turn.report(event::tool_returned("no such table: order", true));
    turn
}

/// Seen to fail when `should_revise` is not looked at.
#[tokio::test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
async fn an_answer_is_revised_once_where_the_verdict_asks_for_it() {
    let address = Some(std::env::var("SIDEMIRROR_TEST_SIDECAR").unwrap());
    let sidemirror = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
    let turn = fail_to_count(&sidemirror);
    let mut prompts = Vec::new();
    let answer = turn.revised(WRONG, async |prompt| {
        prompts.push(prompt);
        Ok::<_, String>(format!("{WRONG} "))
    });
    assert_eq!(answer.await, Ok(format!("{WRONG} ")));
    assert!(matches!(&prompts[..], [prompt] if prompt.starts_with("Revise")), "{prompts:?}");
    assert_eq!(turn.revised(RIGHT, |prompt| async { Err(prompt) }).await, Ok(RIGHT.into()));
    let hurried = Draft { patience: Some(Duration::ZERO), ..WRONG.into() };
    assert_eq!(turn.revised(hurried, async |prompt| Err(prompt)).await, Ok(WRONG.into()));
    let failed = turn.revised(WRONG, async |_| Err("the agent's own")).await;
    assert_eq!(failed, Err("the agent's own"));
    sidemirror.close().await;
}

/// In a task that the runtime may move from thread to thread.
#[tokio::test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
async fn an_answer_may_be_revised_in_a_task() {
    let address = Some(std::env::var("SIDEMIRROR_TEST_SIDECAR").unwrap());
    let sidemirror = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
    let (turn, messages) = (fail_to_count(&sidemirror), Arc::new(Mutex::new(Vec::new())));
    let shown = messages.clone();
    let revised = tokio::spawn(async move {
        let revised = turn.revised(WRONG, async |prompt| {
            shown.lock().unwrap().push(prompt);
            Ok::<_, String>(RIGHT.to_owned())
        });
        revised.await
    });
    assert_eq!(revised.await.unwrap(), Ok(RIGHT.into()));
    assert_eq!(messages.lock().unwrap().len(), 1);
    sidemirror.close().await;
}
