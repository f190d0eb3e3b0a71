//! Many turns from many threads, without a sidecar: nothing of them stays, and reporting takes no time.

use std::time::{Duration, Instant};

use sidemirror_client::v1::{TaskOutcome, TurnStarted};
use sidemirror_client::{alive_tasks, event, Options, Sidemirror};

const AT_ONCE: usize = 100;
const TURNS: usize = 2_000;
const PATIENCE: Duration = Duration::from_secs(60);

fn nobody() -> Sidemirror {
    let address = std::env::temp_dir().join(format!("sidemirror-{}-stress.sock", std::process::id()));
    let address = Some(format!("unix:{}", address.display()));
    Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap()
}

/// 2,000 turns, 100 at once: every task ends with the client, and every event is counted once. Seen to fail when closing
/// does not end the turns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_many_turns_stays() {
    let sidemirror = nobody();
    let threads: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let sidemirror = sidemirror.clone();
            std::thread::spawn(move || {
                for _ in 0..TURNS / AT_ONCE {
                    let turn = sidemirror.begin_turn(TurnStarted::default());
                    turn.report(event::tool_called("look", "{}"));
                    turn.take();
                    turn.finish(TaskOutcome::Success, None);
                }
            })
        })
        .collect();
    tokio::task::spawn_blocking(|| threads.into_iter().for_each(|thread| thread.join().unwrap())).await.unwrap();
    let lost = sidemirror.close_within(Duration::ZERO).await;
    assert_eq!((lost.events, lost.turns.len()), (3 * TURNS, TURNS));
    drop(sidemirror);
    let end = Instant::now() + PATIENCE;
    while alive_tasks() > 0 {
        assert!(Instant::now() < end, "{} tasks go on", alive_tasks());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Prints how long a report takes, beside what a message costs that is only made and measured:
/// `cargo test --release --test stress -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs an idle machine"]
async fn a_report_takes_no_time() {
    let sidemirror = nobody();
    let turn = sidemirror.begin_turn(TurnStarted::default());
    let made = || event::tool_called("look", r#"{"at": "the table"}"#);
    let mut reports = Vec::new();
    let mut floor = Vec::new();
    for _ in 0..9_000 {
        let began = Instant::now();
        std::hint::black_box(made());
        floor.push(began.elapsed());
        let began = Instant::now();
        turn.report(made());
        reports.push(began.elapsed());
    }
    let p99 = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() * 99 / 100]
    };
    let (report, floor) = (p99(&mut reports), p99(&mut floor));
    println!("report p99 {report:?}, making its event {floor:?}");
    assert_eq!(turn.dropped(), 0);
    assert!(report < Duration::from_millis(1), "{report:?}");
}
