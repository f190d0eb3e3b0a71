//! What the client does where no sidecar is, or something that only takes connections. What it does with one is in
//! clients/scenario.

use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sidemirror_client::v1::{
    DreamRequest, GetServerInfoRequest, TaskOutcome, ThinkLevel, TurnStarted, WatchTurnsRequest,
};
use sidemirror_client::{
    alive_tasks, event, goal, lessons_text, started, ConnectError, Options, Sidemirror, Turn, TurnOptions,
};
use tokio::io::AsyncReadExt;
use tonic::{Code, Status};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const PATIENCE: Duration = Duration::from_secs(60);
const A_DAY: Duration = Duration::from_secs(86_400);

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sidemirror-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A client of a sidecar that is not there.
fn nobody(name: &str, options: Options) -> Sidemirror {
    let address = format!("unix:{}", folder(name).join("nobody.sock").display());
    Sidemirror::connect_with(Options { address: Some(address), ..options }).unwrap()
}

/// Waits until this is so.
async fn until(there: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !there() {
        assert!(Instant::now() < end, "it has not come to that");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Has a test that is ignored run in a process of its own, where no other client has tasks.
fn in_a_process_of_its_own(test: &str) {
    let ran = Command::new(std::env::current_exe().unwrap()).args([test, "--exact", "--ignored"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

/// Seen to hang when a plan is waited for.
#[tokio::test]
async fn an_agent_goes_on_without_a_sidecar_and_is_told_once() {
    let (told, tells) = mpsc::channel();
    let on_away = Arc::new(move |why: &Status| told.send(why.code()).unwrap());
    let sidemirror = nobody("told", Options { on_away: Some(on_away), ..Default::default() });
    let turn = sidemirror.begin_turn(TurnStarted::default());
    let other = sidemirror.begin_turn(TurnOptions { turn_id: "mine".into(), ..Default::default() });
    turn.report(event::user_message("hello"));
    turn.finish(TaskOutcome::Success, None);
    until(|| sidemirror.away()).await;
    assert_eq!(turn.plan(A_DAY).await, None, "a plan is not waited for while the sidecar is away");
    assert_eq!(turn.summary(A_DAY).await, None);
    assert!(!sidemirror.flush(Duration::from_millis(1)).await);
    assert_eq!((other.id(), turn.dropped()), ("mine", 0));
    turn.report(event::user_message("after the end"));
    assert_eq!(turn.dropped(), 1);
    let lost = sidemirror.close().await;
    assert_eq!((turn.dropped(), other.dropped()), (4, 1));
    assert_eq!((lost.events, lost.outcomes, lost.goals, lost.turns.len()), (5, 0, 0, 2));
    assert_eq!(tells.try_iter().collect::<Vec<_>>(), [Code::Unavailable]);
}

/// Seen to fail, with "tcp connect error", when the status goes as tonic makes it.
#[tokio::test]
async fn the_callback_is_told_what_stands_behind_a_status() {
    let (told, tells) = mpsc::channel();
    let on_away = Arc::new(move |why: &Status| told.send(why.to_string()).unwrap());
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let options = Options { address: Some(address), on_away: Some(on_away), ..Default::default() };
    let sidemirror = Sidemirror::connect_with(options).unwrap();
    assert_eq!(sidemirror.begin_turn(TurnStarted::default()).plan(PATIENCE).await, None);
    sidemirror.close_within(Duration::ZERO).await;
    let why = "Connection refused (os error 111)";
    let expected = format!("code: 'The service is currently unavailable', message: {why:?}");
    assert_eq!(tells.try_iter().collect::<Vec<_>>(), [expected]);
}

/// What an agent without a sidecar writes on stderr, by the beginnings of its lines.
fn told_on_stderr(agent: &str) -> Vec<String> {
    let agent = [agent, "--exact", "--ignored", "--nocapture"];
    let ran = Command::new(std::env::current_exe().unwrap()).args(agent).output().unwrap();
    assert!(ran.status.success());
    let told = String::from_utf8(ran.stderr).unwrap();
    told.lines().filter_map(|line| line.strip_prefix("sidemirror: ")).map(|line| line.into()).collect()
}

async fn act_without_a_sidecar() {
    let address = Some("unix:/nobody.sock".into());
    let sidemirror = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
    let turn = sidemirror.begin_turn(started("count the orders", ThinkLevel::Medium));
    assert_eq!(turn.recall(None).await, None);
    turn.finish_with_goal(TaskOutcome::Success, None, goal("orders", "Count the orders"));
    sidemirror.close_within(Duration::ZERO).await;
}

/// Seen to fail when only `tracing` is told, and when stderr is written to beside it.
#[test]
fn an_agent_that_does_not_listen_to_tracing_is_told_on_stderr() {
    let told = told_on_stderr("an_agent_that_does_not_listen");
    assert!(told[0].starts_with("the sidecar is away, the agent goes on without it; address: unix:/nobody.sock; why: "));
    let lost = "not everything was delivered to the sidecar; events: 2; outcomes: 0; goals: 1; turns: 1";
    assert_eq!(told[1..], [lost]);
    assert_eq!(told_on_stderr("an_agent_that_listens"), [""; 0]);
}

/// Seen to fail, with nothing told and the client open, when only a closing that is waited for ends it.
#[test]
fn who_gives_up_closing_is_told_what_was_not_delivered() {
    let told = told_on_stderr("an_agent_that_gives_up_closing");
    assert_eq!(told[1..], ["not everything was delivered to the sidecar; events: 2; outcomes: 0; goals: 0; turns: 1"]);
}

#[tokio::test]
#[ignore = "an agent that another test starts"]
async fn an_agent_that_gives_up_closing() {
    let sidemirror = nobody("hurried", Options::default());
    let turn = sidemirror.begin_turn(started("count the orders", ThinkLevel::Medium));
    assert_eq!(turn.plan(PATIENCE).await, None);
    turn.finish(TaskOutcome::Success, None);
    let closing = sidemirror.close_within(A_DAY);
    assert!(tokio::time::timeout(Duration::from_millis(50), closing).await.is_err());
    assert_eq!(turn.dropped(), 2, "all is closed all the same");
    sidemirror.close().await;
}

#[tokio::test]
#[ignore = "an agent that another test starts"]
async fn an_agent_that_does_not_listen() {
    act_without_a_sidecar().await;
}

#[tokio::test]
#[ignore = "an agent that another test starts"]
async fn an_agent_that_listens() {
    tracing::subscriber::set_global_default(Listener).unwrap();
    act_without_a_sidecar().await;
}

/// A subscriber that wants nothing: agents that want to be told nothing have one.
struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Seen to fail when a goal without an outcome is kept, and when one that waits is not counted.
#[tokio::test]
async fn closing_says_what_was_not_delivered() {
    let sidemirror = nobody("lost", Options::default());
    let goal = goal("g", "count");
    let taught = sidemirror.begin_turn(TurnOptions { turn_id: "taught".into(), ..Default::default() });
    taught.finish_with_goal(TaskOutcome::Success, None, goal.clone());
    let unsaid = sidemirror.begin_turn(TurnOptions { turn_id: "unsaid".into(), ..Default::default() });
    unsaid.finish_with_goal(TaskOutcome::Unspecified, None, goal);
    let lost = sidemirror.close_within(Duration::ZERO).await;
    assert_eq!((lost.events, lost.goals, lost.turns), (4, 1, vec!["taught".into(), "unsaid".into()]));
}

/// Seen to fail when a turn that is dropped stays open, and when one that is finished ends again.
#[tokio::test]
async fn a_turn_is_a_scope() {
    let sidemirror = nobody("scope", Options::default());
    drop(sidemirror.begin_turn(TurnStarted::default()));
    let failing = sidemirror.begin_turn(TurnStarted::default());
    assert_eq!(failing.within(async { Err::<(), _>("no") }).await, Err("no"));
    failing.report(event::user_message("after the end"));
    let finished = sidemirror.begin_turn(TurnStarted::default());
    finished.finish(TaskOutcome::Success, None);
    assert_eq!(finished.within(async { Ok::<_, String>(1) }).await, Ok(1));
    assert_eq!((failing.dropped(), finished.dropped()), (1, 0));
    assert_eq!(sidemirror.close_within(Duration::ZERO).await.events, 7);
}

/// Seen to fail when the second one counts as an event that is not delivered.
#[tokio::test]
async fn a_second_finish_changes_nothing() {
    let sidemirror = nobody("twice", Options::default());
    let turn = sidemirror.begin_turn(TurnStarted::default());
    turn.finish(TaskOutcome::Success, None);
    turn.finish_with_goal(TaskOutcome::Failure, None, goal("g", "count"));
    assert_eq!(turn.dropped(), 0);
    let lost = sidemirror.close_within(Duration::ZERO).await;
    assert_eq!((lost.events, lost.goals), (2, 0));
    let late = sidemirror.begin_turn(TurnStarted::default());
    late.finish(TaskOutcome::Success, None);
    late.finish(TaskOutcome::Success, None);
    assert_eq!(late.dropped(), 2, "of a turn of a closed client the beginning and one end");
}

/// Nothing that listens ever answers: it takes connections. Seen to fail, after the 20 s of the advice, when nothing looks
/// for silence.
#[tokio::test]
async fn a_silent_sidecar_is_away() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = Some(listener.local_addr().unwrap().to_string());
    let sidemirror = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
    let turn = sidemirror.begin_turn(TurnStarted::default());
    let began = Instant::now();
    assert_eq!(turn.advice(Duration::from_secs(20)).await, []);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(sidemirror.away());
    assert_eq!(turn.recall(None).await, None);
    assert_eq!(turn.critique("41").await, None);
    assert_eq!(turn.revised("41", async |prompt| Err(prompt)).await, Ok("41".into()));
    assert_eq!(lessons_text(turn.recall(None).await.as_ref()), "");
}

/// Neither the search for the sidecar, nor a turn that is not finished. Seen to fail when closing leaves the link open.
#[test]
fn nothing_goes_on_after_close() {
    in_a_process_of_its_own("closes");
}

#[tokio::test]
#[ignore = "an agent that another test starts"]
async fn closes() {
    let sidemirror = nobody("close", Options::default());
    let before = alive_tasks();
    let turn = sidemirror.begin_turn(TurnStarted::default());
    until(|| sidemirror.away()).await;
    sidemirror.close().await;
    until(|| turn.dropped() == 1).await;
    let late = sidemirror.begin_turn(TurnStarted::default());
    late.report(event::user_message("hello"));
    until(|| late.dropped() == 2).await;
    until(|| alive_tasks() <= before).await;
}

/// The sidecar is away all the while. Seen to fail when the last handle leaves the link open.
#[test]
fn nothing_goes_on_when_everything_is_dropped() {
    in_a_process_of_its_own("drops");
}

#[tokio::test]
#[ignore = "an agent that another test starts"]
async fn drops() {
    let turn = nobody("dropped", Options::default()).begin_turn(TurnStarted::default());
    turn.report(event::user_message("the turn keeps the client"));
    assert!(alive_tasks() > 0);
    drop(turn);
    until(|| alive_tasks() == 0).await;
}

/// Seen to fail without the bound of a turn, and when the end of a turn counts like any event.
#[tokio::test]
async fn what_takes_too_much_room_is_dropped_and_counted() {
    let sidemirror = nobody("full", Options::default());
    let turn = sidemirror.begin_turn(TurnStarted::default());
    let large = "x".repeat(1 << 20);
    for _ in 0..65 {
        turn.report(event::user_message(large.as_str()));
    }
    assert_eq!(turn.dropped(), 2, "16 MiB wait, and each event is a little larger than its text, cut to 256 KiB");
    while turn.dropped() == 2 {
        turn.report(event::user_message("x"));
    }
    turn.finish(TaskOutcome::Failure, None);
    assert_eq!(turn.dropped(), 3, "the end of the turn always has room");
}

/// Each of these turns keeps less than the 16 MiB that one may. Seen to fail without the bound of all, and when a turn goes
/// on whose beginning was dropped.
#[tokio::test]
async fn all_turns_of_a_client_share_what_may_wait() {
    let sidemirror = nobody("share", Options::default());
    let text = "x".repeat(200 << 10);
    let turns: Vec<Turn> = (0..5).map(|_| sidemirror.begin_turn(TurnStarted::default())).collect();
    for turn in &turns {
        (0..80).for_each(|_| drop(turn.report(event::user_message(text.as_str()))));
    }
    let kept = 400 - turns.iter().map(Turn::dropped).sum::<usize>();
    assert!((310..=327).contains(&kept), "64 MiB wait: {kept} events");
    while turns[0].dropped() == 0 {
        turns[0].report(event::user_message("x"));
    }
    let none = sidemirror.begin_turn(TurnStarted { task: "x".repeat(200 << 10), ..Default::default() });
    none.report(event::user_message("hello"));
    none.finish(TaskOutcome::Success, None);
    assert_eq!(none.dropped(), 3, "a turn whose beginning has no room is not reported");
    sidemirror.close().await;
    until(|| turns.iter().map(Turn::dropped).sum::<usize>() >= 405).await;
}

/// A file of which nothing comes, as on a disk of the network. Seen to hang when the agent's own thread reads it.
#[tokio::test]
async fn a_token_that_cannot_be_read_in_time_takes_the_deadline() {
    let token = folder("endless").join("token");
    assert!(Command::new("mkfifo").arg(&token).status().unwrap().success());
    let deadline = Some(Duration::from_millis(200));
    let options = Options { token_file: Some(token.clone()), deadline, ..Default::default() };
    let sidemirror = nobody("endless", options);
    let error = sidemirror.sidecar.get_server_info(GetServerInfoRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    // Lets the thread go that reads it.
    std::fs::OpenOptions::new().write(true).open(&token).unwrap();
    std::fs::remove_file(token).unwrap();
}

/// The socket below takes connections and never answers. Seen to fail, after a minute, when calls get none, and, with
/// CANCELLED, when that of a stream is told in tonic's words.
#[tokio::test]
async fn calls_have_a_deadline() {
    let socket = folder("silent").join("silent.sock");
    let _silent = tokio::net::UnixListener::bind(&socket).unwrap();
    let address = Some(format!("unix:{}", socket.display()));
    let deadline = Some(Duration::from_millis(200));
    let sidemirror = Sidemirror::connect_with(Options { address, deadline, ..Default::default() }).unwrap();
    let error = sidemirror.sidecar.get_server_info(GetServerInfoRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    let thinking = sidemirror.thinking.with_deadline(Duration::from_millis(200));
    let error = thinking.watch_turns(WatchTurnsRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded, "{error:?}");
    let error = sidemirror.wait_until_ready(Duration::from_millis(100)).await.unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    std::fs::remove_file(socket).unwrap();
}

/// Seen to fail, with a panic in the agent, when a deadline goes as it comes.
#[tokio::test]
async fn a_deadline_may_be_as_long_as_there_is() {
    let deadline = Some(Duration::MAX);
    let sidemirror = nobody("longest", Options { deadline, ..Default::default() });
    let error = sidemirror.sidecar.get_server_info(GetServerInfoRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error:?}");
    let memory = sidemirror.memory.with_deadline(Duration::MAX);
    assert_eq!(memory.dream(DreamRequest::default()).await.unwrap_err().code(), Code::Unavailable);
    let thinking = sidemirror.thinking.with_deadline(Duration::MAX);
    assert_eq!(thinking.watch_turns(WatchTurnsRequest::default()).await.unwrap_err().code(), Code::Unavailable);
    let turn = sidemirror.begin_turn(TurnStarted::default());
    assert_eq!((turn.recall(Duration::MAX).await, turn.plan(Duration::MAX).await), (None, None));
}

/// What a killed sidecar does to a call that it has read: its connection ends. Seen to fail, with
/// UNKNOWN, when only what tonic itself calls UNAVAILABLE is tried again.
#[tokio::test]
async fn a_call_whose_connection_breaks_is_tried_again() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = Some(listener.local_addr().unwrap().to_string());
    let cutting = tokio::spawn(async move {
        let mut came = 0;
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            came += 1;
            let mut read = 0;
            // The preface, the settings and a call.
            while read < 150 {
                read += connection.read(&mut [0; 1024]).await.unwrap().max(1);
            }
            if came == 4 {
                return;
            }
        }
    });
    let sidemirror = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
    let error = sidemirror.sidecar.get_server_info(GetServerInfoRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error:?}");
    tokio::time::timeout(PATIENCE, cutting).await.expect("four attempts").unwrap();
}

/// Seen to fail when a certificate is taken without its key, when a token that cannot be read counts as absence, and, with
/// the reason twice wherever an error's sources are told, when its own words hold it.
#[tokio::test]
async fn what_cannot_be_used_is_named() {
    let at = |address: &str| Options { address: Some(address.into()), ..Default::default() };
    let missing = Options { ca_file: Some("/no/ca.pem".into()), ..at("localhost:1") };
    let error = Sidemirror::connect_with(missing).unwrap_err();
    assert_eq!(error.to_string(), "the file /no/ca.pem cannot be read");
    let why = std::error::Error::source(&error).expect("a reason").to_string();
    assert_eq!(format!("{error:?}"), format!("{error}: {why}"));
    let readable: PathBuf = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into();
    let half = Options {
        ca_file: Some(readable.clone()),
        client_certificate_file: Some(readable.clone()),
        ..at("localhost:1")
    };
    assert!(matches!(Sidemirror::connect_with(half), Err(ConnectError::HalfIdentity)));
    assert!(matches!(Sidemirror::connect_with(at("no address")), Err(ConnectError::Address(_))));
    let sidemirror = nobody("token", Options { token_file: Some("/no/token".into()), ..Default::default() });
    let error = sidemirror.sidecar.get_server_info(GetServerInfoRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Code::Unauthenticated);
    let error = sidemirror.wait_until_ready(Duration::from_millis(300)).await.unwrap_err();
    assert!(error.message().contains("No such file"), "{error}");
}

/// Of this client and of others, which share a thread. Seen to fail when it is called on that thread.
#[tokio::test]
async fn a_callback_may_block_and_nothing_waits_for_it() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let on_away = Arc::new(move |_: &Status| {
        let _ = wait.lock().unwrap().recv();
    });
    let blocking = nobody("blocking", Options { on_away: Some(on_away), ..Default::default() });
    let turn = blocking.begin_turn(TurnStarted::default());
    assert_eq!(turn.plan(PATIENCE).await, None);
    let other = nobody("beside", Options::default());
    assert_eq!(other.begin_turn(TurnStarted::default()).plan(Duration::from_secs(5)).await, None);
    assert!(other.away());
    drop(go);
}

/// Whoever asks whether the sidecar is there has its connection closed. Seen to fail when a sidecar that has refused the
/// token becomes away, of which nobody is told.
#[tokio::test]
async fn a_sidecar_that_has_refused_the_token_does_not_become_away_untold() {
    let token = folder("refuses").join("token");
    let socket = folder("refuses").join("nobody.sock");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let (told, tells) = mpsc::channel();
    let on_refused = Arc::new(move |_: &str| told.send(()).unwrap());
    let options = Options { token_file: Some(token.clone()), on_refused: Some(on_refused), ..Default::default() };
    let sidemirror = nobody("refuses", options);
    let turn = sidemirror.begin_turn(TurnStarted::default());
    assert_eq!(turn.plan(PATIENCE).await, None);
    std::fs::write(&token, "a token").unwrap();
    for _ in 0..3 {
        tokio::time::timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    }
    assert!(!sidemirror.away());
    sidemirror.close_within(Duration::ZERO).await;
    assert_eq!(tells.try_iter().count(), 1);
    std::fs::remove_file(socket).unwrap();
    std::fs::remove_file(token).unwrap();
}

/// As a `static` client under a runtime for each test does. Seen to fail, after the 20 s of the plan, when a client is bound to
/// the runtime that it was made in.
#[test]
fn a_client_outlives_the_runtime_that_it_was_made_in() {
    let (told, tells) = mpsc::channel();
    let on_away = Arc::new(move |why: &Status| told.send(why.code()).unwrap());
    let options = Options { on_away: Some(on_away), ..Default::default() };
    let sidemirror = tokio::runtime::Runtime::new().unwrap().block_on(async { nobody("outlives", options) });
    let turn = sidemirror.begin_turn(TurnStarted::default());
    turn.report(event::tool_failed("no such tool"));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let began = Instant::now();
        assert_eq!(turn.plan(Duration::from_secs(20)).await, None);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert_eq!(sidemirror.close_within(Duration::ZERO).await.events, 2);
    });
    assert_eq!(tells.try_iter().collect::<Vec<_>>(), [Code::Unavailable]);
}

/// A process that ends behind it would else lose what it is being told. Seen to fail when closing does not wait for that.
#[tokio::test]
async fn who_closes_has_been_told() {
    let (told, tells) = mpsc::channel();
    let on_away = Arc::new(move |why: &Status| {
        std::thread::sleep(Duration::from_millis(50));
        told.send(why.code()).unwrap();
    });
    let sidemirror = nobody("closed", Options { on_away: Some(on_away), ..Default::default() });
    let turn = sidemirror.begin_turn(TurnStarted::default());
    assert_eq!(turn.plan(PATIENCE).await, None);
    sidemirror.close_within(Duration::ZERO).await;
    assert_eq!(tells.try_iter().collect::<Vec<_>>(), [Code::Unavailable]);
}

#[test]
fn a_client_may_be_made_outside_of_a_runtime() {
    let sidemirror = nobody("outside", Options::default());
    assert_eq!(sidemirror.begin_turn(TurnStarted::default()).dropped(), 0);
}

#[test]
fn everything_goes_from_thread_to_thread() {
    fn check<T: Clone + Send + Sync + std::fmt::Debug + 'static>() {}
    check::<Sidemirror>();
    check::<Turn>();
    check::<Options>();
    fn error<T: std::error::Error + Send + Sync + 'static>() {}
    error::<ConnectError>();
    fn in_a_task<T: Send>(_: impl FnOnce(Sidemirror, Turn) -> T) {}
    in_a_task(|sidemirror, turn| async move {
        let ready = sidemirror.wait_until_ready(PATIENCE).await;
        let asked = sidemirror.thinking.watch_turns(WatchTurnsRequest::default()).await;
        let told = (turn.plan(None).await, turn.recall(None).await, turn.advice(None).await, turn.next().await);
        let judged = turn.within(turn.revised("41", async |prompt| Err::<String, _>(prompt))).await;
        let ended = (turn.summary(None).await, sidemirror.flush(None).await, sidemirror.close().await);
        (ready, asked, told, judged, ended)
    });
}
