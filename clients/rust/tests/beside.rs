//! What the client does beside the sidecar that tests/clients starts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sidemirror_client::v1::{
    GetServerInfoRequest, GetTurnRequest, GoalTask, ListGoalReportsRequest, ReportGoalRequest, TurnState,
    WatchTurnsRequest, WatchTurnsResponse,
};
use sidemirror_client::{
    event, goal, started, Draft, Options, Recall, Sidemirror, TaskOutcome, ThinkLevel, Turn, TurnOptions,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tonic::{Code, Streaming};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

// Beside a call that failed, without which the rules let it through.
const WRONG: &str = "There are 41 orders.";
const RIGHT: &str = "I could not count the orders: there is no such table.";
const PATIENCE: Duration = Duration::from_secs(60);

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
    let sidemirror = connected();
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
    let sidemirror = connected();
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

/// Carries bytes both ways. While it is `down` it takes them and carries nothing, and never again what came on a
/// connection of before.
#[derive(Default)]
struct Network {
    down: AtomicBool,
}

impl Network {
    /// In front of the sidecar, and where it listens. The first so many connections are carried in any case.
    async fn serving(spared: usize) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let network = Arc::new(Self::default());
        let serving = network.clone();
        tokio::spawn(async move {
            for number in 0.. {
                let (here, _) = listener.accept().await.unwrap();
                let there = TcpStream::connect(std::env::var("SIDEMIRROR_TEST_SIDECAR").unwrap()).await.unwrap();
                let state = if number < spared { Arc::default() } else { serving.clone() };
                let dead = Arc::new(AtomicBool::new(false));
                let ((from_here, to_here), (from_there, to_there)) = (here.into_split(), there.into_split());
                tokio::spawn(state.clone().carry(from_here, to_there, dead.clone()));
                tokio::spawn(state.carry(from_there, to_here, dead));
            }
        });
        (network, address)
    }

    async fn carry(self: Arc<Self>, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, dead: Arc<AtomicBool>) {
        let mut bytes = vec![0; 65_536];
        while let Ok(read @ 1..) = from.read(&mut bytes).await {
            if self.down.load(Ordering::SeqCst) {
                dead.store(true, Ordering::SeqCst);
            }
            if !dead.load(Ordering::SeqCst) && to.write_all(&bytes[..read]).await.is_err() {
                return;
            }
        }
    }
}

/// Seen to fail, the call with its whole deadline gone, when calls keep the connection of before the outage, and when they
/// keep one that was made in it.
#[tokio::test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
async fn calls_are_answered_soon_after_a_silent_outage() {
    let (network, address) = Network::serving(0).await;
    let sidemirror = Sidemirror::connect_with(Options { address: Some(address), ..Default::default() }).unwrap();
    let turn = sidemirror.begin_turn(started("count", ThinkLevel::Medium));
    assert!(turn.plan(PATIENCE).await.is_some());
    let asked = || GetTurnRequest { turn_id: turn.id().into(), ..Default::default() };
    assert!(sidemirror.thinking.get_turn(asked()).await.is_ok());
    network.down.store(true, Ordering::SeqCst);
    turn.report(event::tool_called("look", ""));
    while !sidemirror.away() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let hurried = sidemirror.thinking.with_deadline(Duration::from_millis(300));
    assert_eq!(hurried.get_turn(asked()).await.unwrap_err().code(), Code::DeadlineExceeded);
    network.down.store(false, Ordering::SeqCst);
    turn.finish(TaskOutcome::Success, None);
    assert!(sidemirror.flush(PATIENCE).await && !sidemirror.away());
    assert!(sidemirror.thinking.with_deadline(Duration::from_secs(5)).get_turn(asked()).await.is_ok());
    sidemirror.close().await;
}

/// Nothing comes on the turn's connection, nor on a new one. Seen to fail, with a sidecar that is away, when the answers
/// to calls beside turns are not heard.
#[tokio::test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
async fn a_sidecar_that_answers_calls_is_there() {
    let (network, address) = Network::serving(1).await;
    let sidemirror = Sidemirror::connect_with(Options { address: Some(address), ..Default::default() }).unwrap();
    let answers = || sidemirror.sidecar.get_server_info(GetServerInfoRequest::default());
    assert!(answers().await.is_ok());
    network.down.store(true, Ordering::SeqCst);
    let turn = sidemirror.begin_turn(started("count", ThinkLevel::Medium));
    for _ in 0..40 {
        assert!(answers().await.is_ok() && !sidemirror.away());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(turn.take(), []);
    sidemirror.close_within(Duration::ZERO).await;
}

/// What a stream ends with that tells of turns and is not ended by the sidecar.
async fn end_of(mut stream: Streaming<WatchTurnsResponse>) -> Code {
    loop {
        match stream.message().await {
            Ok(told) => assert!(told.is_some(), "it just ends"),
            Err(status) => return status.code(),
        }
    }
}

/// Seen to fail when the deadline is in the call's header alone: nothing had come after 10 s, and the stream ended after 80 s,
/// with its connection.
#[tokio::test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
async fn a_stream_on_which_nothing_comes_ends_with_its_deadline() {
    let (network, address) = Network::serving(0).await;
    let sidemirror = Sidemirror::connect_with(Options { address: Some(address), ..Default::default() }).unwrap();
    let hurried = sidemirror.thinking.with_deadline(Duration::from_secs(2));
    let stream = hurried.watch_turns(WatchTurnsRequest::default()).await.unwrap();
    network.down.store(true, Ordering::SeqCst);
    let ended = tokio::time::timeout(Duration::from_secs(10), end_of(stream)).await;
    assert_eq!(ended.expect("within 10 s"), Code::DeadlineExceeded);
    sidemirror.close_within(Duration::ZERO).await;
}

/// Seen to fail, with UNKNOWN, when only a call that has no answer yet is said to be UNAVAILABLE.
#[tokio::test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
async fn a_stream_whose_connection_breaks_is_unavailable() {
    let network = Runtime::new().unwrap();
    let (_, address) = network.spawn(Network::serving(0)).await.unwrap();
    let sidemirror = Sidemirror::connect_with(Options { address: Some(address), ..Default::default() }).unwrap();
    let stream = sidemirror.thinking.watch_turns(WatchTurnsRequest::default()).await.unwrap();
    network.shutdown_background();
    assert_eq!(tokio::time::timeout(PATIENCE, end_of(stream)).await.unwrap(), Code::Unavailable);
    sidemirror.close_within(Duration::ZERO).await;
}

fn connected() -> Sidemirror {
    let address = Some(std::env::var("SIDEMIRROR_TEST_SIDECAR").unwrap());
    Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap()
}

/// One of this run alone.
fn turn_id(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// What goes on beside the agent is in neither.
#[test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
fn one_client_serves_a_runtime_after_the_other() {
    let sidemirror = Runtime::new().unwrap().block_on(async { connected() });
    for number in 0..2 {
        Runtime::new().unwrap().block_on(async {
            let turn_id = turn_id(&format!("runtime-{number}"));
            let turn = sidemirror.begin_turn(TurnOptions { turn_id: turn_id.clone(), ..Default::default() });
            assert!(turn.plan(PATIENCE).await.is_some());
            assert!(sidemirror.thinking.get_turn(GetTurnRequest { turn_id, ..Default::default() }).await.is_ok());
            turn.finish(TaskOutcome::Success, None);
            assert!(turn.summary(PATIENCE).await.is_some());
        });
    }
    assert!(Runtime::new().unwrap().block_on(sidemirror.close()).is_empty());
}

/// It is not delivered in the agent's runtime, which ends at once.
#[test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
fn what_is_dropped_is_delivered_though_its_runtime_is_gone() {
    let turn_id = turn_id("dropped");
    Runtime::new().unwrap().block_on(async {
        let turn = connected().begin_turn(TurnOptions { turn_id: turn_id.clone(), ..Default::default() });
        (0..1000).for_each(|number| drop(turn.report(event::tool_called("look", number))));
    });
    Runtime::new().unwrap().block_on(async {
        let (sidemirror, ends) = (connected(), std::time::Instant::now() + PATIENCE);
        loop {
            let asked = GetTurnRequest { turn_id: turn_id.clone(), ..Default::default() };
            let found = sidemirror.thinking.get_turn(asked).await.ok().and_then(|answer| answer.turn);
            if found.as_ref().is_some_and(|turn| turn.state() == TurnState::Finished && turn.event_count == 1002) {
                return;
            }
            assert!(std::time::Instant::now() < ends, "{found:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}

/// Collects the warnings of a thread.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Subscriber for Heard {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target().starts_with("sidemirror_client")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Seen to fail when a refusal is not told, when each is, and when the number of lessons goes as it comes.
#[tokio::test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
async fn what_is_refused_is_told_once_for_each_kind() {
    let heard = Heard::default();
    let _guard = tracing::subscriber::set_default(heard.clone());
    let sidemirror = connected();
    let turn = fail_to_count(&sidemirror);
    for max_items in [-1, 21] {
        turn.recall(Recall { max_items, ..Default::default() }).await;
    }
    assert_eq!(heard.0.lock().unwrap()[..], [""; 0]);
    let wrong = Recall { tools: vec!["look".into(); 101], ..Default::default() };
    assert_eq!((turn.recall(wrong.clone()).await, turn.recall(wrong).await), (None, None));
    let unknown = sidemirror.begin_turn(TurnOptions { turn_id: "x".repeat(129), ..Default::default() });
    assert_eq!(unknown.critique("41").await, None);
    let told = heard.0.lock().unwrap().clone();
    let names = |told: &str, method| told.contains(method) && told.contains("has refused what a turn asks for");
    assert!(told.len() == 2 && names(&told[0], "recall") && names(&told[1], "critique"), "{told:?}");
    sidemirror.close().await;
}

/// Seen to fail, with a warning for each and without the goal, when only events are cut.
#[tokio::test]
#[ignore = "needs a sidecar: tests/clients/test_own_tests.py"]
async fn what_is_too_long_is_cut_in_every_method_of_a_turn() {
    let heard = Heard::default();
    let _guard = tracing::subscriber::set_default(heard.clone());
    let (sidemirror, huge, goal_id) = (connected(), "no such table: order ".repeat(15_000), turn_id("huge"));
    let task = GoalTask { name: "t".into(), output_summary: huge.clone(), error: huge.clone() };
    let towards = ReportGoalRequest { error: huge.clone(), tasks: vec![task], ..goal(goal_id.clone(), huge.clone()) };
    let turn = sidemirror.begin_turn(started(huge.clone(), ThinkLevel::Medium)).towards(towards);
    turn.report(event::tool_called("run_sql", &huge));
    turn.report(event::tool_returned(&huge, true));
    turn.recall(PATIENCE).await;
    turn.recall(Recall { task: Some(huge.clone()), patience: Some(PATIENCE), ..Default::default() }).await;
    let (response, user_message, patience) = (huge.clone(), huge, Some(PATIENCE));
    assert!(turn.critique(Draft { response, user_message, patience }).await.is_some());
    turn.finish(TaskOutcome::Failure, None);
    assert!(sidemirror.flush(PATIENCE).await);
    let asked = ListGoalReportsRequest { page_size: 1000, ..Default::default() };
    let reports = sidemirror.goals.list_goal_reports(asked).await.unwrap().reports;
    assert!(reports.iter().any(|report| report.goal_id == goal_id), "{reports:?}");
    assert_eq!(heard.0.lock().unwrap()[..], [""; 0]);
    sidemirror.close().await;
}
