//! Many turns: at once, and one after the other while the sidecar is killed.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use sidemirror_client::v1::*;
use sidemirror_client::{event, Draft, Sidemirror, Turn, TurnOptions};

use crate::matching::text;
use crate::{control, Failure, Runner, PATIENCE};

/// Measures time, without that in which others had this thread's core.
struct Watch {
    waited: Duration,
    began: Instant,
}

impl Watch {
    fn start() -> Self {
        Self { waited: waited(), began: Instant::now() }
    }

    /// As the clock has it, and without the others.
    fn took(&self) -> (Duration, Duration) {
        let plain = self.began.elapsed();
        (plain, plain.saturating_sub(waited() - self.waited))
    }
}

/// How long this thread could have run while others had its core; zero where the system does not say.
fn waited() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').nth(1).and_then(|waited| waited.parse().ok()).unwrap_or_default())
}

impl Runner {
    pub(crate) async fn away(&mut self, given: &Value) -> Result<(), Failure> {
        let count = |key: &str| given[key].as_u64().unwrap_or_default();
        let prefix = text(given, "prefix");
        let (mut longest, mut longest_plain) = (Duration::ZERO, Duration::ZERO);
        let mut timed = |began: Watch| {
            let (plain, held) = began.took();
            (longest, longest_plain) = (longest.max(held), longest_plain.max(plain));
        };
        let mut begun = Vec::new();
        self.told.store(0, Ordering::SeqCst);
        for number in 0..count("turns") {
            let began = Watch::start();
            let started = TurnStarted { session_id: prefix.clone(), task: "away".into(), ..Default::default() };
            let turn_id = format!("{prefix}-{number}");
            let turn = self.client()?.begin_turn(TurnOptions { turn_id, started, ..Default::default() });
            timed(began);
            for place in 0..count("events") {
                if place == count("events") / 2 && number == count("kill_at") {
                    control("kill")?;
                } else if place == count("events") / 2 && number == count("start_at") {
                    control("start")?;
                }
                let called = event::tool_called("step", format!("{{\"i\": {place}}}"));
                let began = Watch::start();
                turn.report(TurnEvent { event_id: format!("e{place}"), ..called });
                timed(began);
            }
            let began = Watch::start();
            turn.take();
            turn.finish(TaskOutcome::Success, None);
            timed(began);
            begun.push(turn);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if !self.client()?.flush(3 * PATIENCE).await {
            return Err("not everything was delivered".into());
        }
        let dropped: usize = begun.iter().map(Turn::dropped).sum();
        let told = self.told.load(Ordering::SeqCst);
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let figures =
            json!({"longest_ms": ms(longest), "plain_ms": ms(longest_plain), "told": told, "dropped": dropped});
        println!("away {figures}");
        Ok(())
    }

    pub(crate) async fn many(&self, given: &Value) -> Result<(), Failure> {
        let turns = given["turns"].as_u64().or_else(|| given["turns"].as_str()?.parse().ok()).ok_or("no turns")?;
        let prefix = text(given, "prefix");
        let begun: Vec<_> = (0..turns)
            .map(|number| {
                tokio::spawn(one_of_many(self.client.clone(), format!("{prefix}-{number}"), text(given, "task")))
            })
            .collect();
        let mut counts = [0; 5];
        for turn in begun {
            for (count, had) in counts.iter_mut().zip(turn.await??) {
                *count += u32::from(had);
            }
        }
        let [plans, recalls, directives, critiques, summaries] = counts;
        let told = self.told.load(Ordering::SeqCst);
        let counts = json!({"plans": plans, "recalls": recalls, "directives": directives, "critiques": critiques,
            "summaries": summaries, "told": told});
        println!("many {counts}");
        Ok(())
    }
}

/// One turn of many: whether it had its plan, lessons, advice, a verdict and its summary.
async fn one_of_many(client: Option<Sidemirror>, name: String, task: String) -> Result<[bool; 5], Failure> {
    let config = ThinkingConfig { level: ThinkLevel::Medium.into(), ..Default::default() };
    let started = TurnStarted { session_id: name.clone(), task, config: Some(config), ..Default::default() };
    let turn = client.ok_or("not connected")?.begin_turn(TurnOptions { turn_id: name, started, ..Default::default() });
    let plan = turn.plan(2 * PATIENCE).await.is_some();
    let lessons = turn.recall(PATIENCE).await.is_some();
    turn.report(event::tool_called("run_sql", "SELECT 1"));
    turn.report(event::tool_returned("no such column: status", true));
    let advice = !turn.advice(2 * PATIENCE).await.is_empty();
    let draft = Draft { response: "There are 41.".into(), patience: Some(PATIENCE), ..Default::default() };
    let critique = turn.critique(draft).await.is_some();
    turn.finish(TaskOutcome::Success, None);
    let summary = turn.summary(2 * PATIENCE).await.is_some();
    Ok([plan, lessons, advice, critique, summary])
}
