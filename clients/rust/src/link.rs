//! Whether the sidecar is there: told once when it goes, and looked for again until it is back.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::{watch, Semaphore};
use tokio::time::{sleep, Instant};
use tonic::Status;

use crate::calls::Sidecar;
use crate::v1::GetServerInfoRequest;

pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(100);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// An answer that takes longer is none.
const PROBE: Duration = Duration::from_secs(2);
/// After so long the sidecar counts as back.
const STEADY: Duration = Duration::from_secs(5);
/// Turns that are on a stream at once; others wait. The sidecar takes 100 streams on a connection, and of a client that
/// comes back with more than that it refuses some.
const STREAMS: usize = 80;
/// What the events of all turns of a client take while they wait. Beyond that they are dropped, and counted.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Told why the sidecar counts as away. It must not block: it runs on a thread of the runtime.
pub type OnAway = Arc<dyn Fn(&Status) + Send + Sync>;

/// A pause, a little longer or shorter: what broke together does not come back in one moment.
pub(crate) fn about(pause: Duration) -> Duration {
    pause.mul_f64(0.8 + 0.4 * (uuid::Uuid::new_v4().as_u128() % 1000) as f64 / 1000.0)
}

/// The state of the way to the sidecar, shared by all turns of a client.
pub(crate) struct Link {
    pub streams: Semaphore,
    waiting_bytes: AtomicUsize,
    closed: watch::Sender<bool>,
    away: watch::Sender<bool>,
    state: Mutex<State>,
    on_away: OnAway,
    sidecar: Sidecar,
}

#[derive(Default)]
struct State {
    outages: u64,
    told: bool,
    back: Option<Instant>,
}

impl Link {
    pub fn new(sidecar: Sidecar, on_away: OnAway) -> Arc<Self> {
        let streams = Semaphore::new(STREAMS);
        let (away, closed) = (watch::Sender::new(false), watch::Sender::new(false));
        let waiting_bytes = AtomicUsize::new(0);
        Arc::new(Self { streams, waiting_bytes, closed, away, state: Mutex::default(), on_away, sidecar })
    }

    /// Makes room for what a turn keeps; false when there is none.
    pub fn keep(&self, bytes: usize, always: bool) -> bool {
        let fits = |now: usize| (always || now + bytes <= MOST_BYTES).then_some(now + bytes);
        self.waiting_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// A turn keeps so much less.
    pub fn let_go(&self, bytes: usize) {
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How often the sidecar went away.
    pub fn outages(&self) -> u64 {
        self.state().outages
    }

    /// Whether it is away now, and when that changes.
    pub fn away(&self) -> watch::Receiver<bool> {
        self.away.subscribe()
    }

    /// Ends what goes on beside the agent.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Whether the client is closed.
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Returns once the client is closed.
    pub async fn wait_closed(&self) {
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Returns once the sidecar is there.
    pub async fn there(&self) {
        let _ = self.away().wait_for(|away| !away).await;
    }

    /// The sidecar has spoken on a stream that was opened after so many outages. The next one is told again, unless it
    /// follows so soon that it is the same one to whoever is told.
    pub fn answered(&self, outages: u64) {
        let mut state = self.state();
        if outages == state.outages && state.back.is_none_or(|back| back.elapsed() > STEADY) {
            state.told = false;
        }
    }

    /// A stream broke that was opened after so many outages. Of many that break in one, the first counts.
    pub fn lost(self: &Arc<Self>, why: &Status, outages: u64) {
        let told = {
            let mut state = self.state();
            if outages != state.outages {
                return;
            }
            state.outages += 1;
            std::mem::replace(&mut state.told, true)
        };
        self.away.send_replace(true);
        tokio::spawn(look_for_it(Arc::downgrade(self)));
        // One that panics would end the delivery of the turn that has found it out.
        if !told && catch_unwind(AssertUnwindSafe(|| (self.on_away)(why))).is_err() {
            tracing::error!("on_away has panicked");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Ends when the sidecar is back, the client is closed, or nobody needs it any more.
async fn look_for_it(link: Weak<Link>) {
    let mut pause = FIRST_PAUSE;
    loop {
        sleep(about(pause)).await;
        let Some(link) = link.upgrade() else { return };
        let sidecar = link.sidecar.with_deadline(PROBE);
        let there = tokio::select! {
            answer = sidecar.get_server_info(GetServerInfoRequest::default()) => answer.is_ok(),
            () = link.wait_closed() => return,
        };
        if there {
            link.state().back = Some(Instant::now());
            link.away.send_replace(false);
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
