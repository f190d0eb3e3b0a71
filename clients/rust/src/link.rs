//! Whether the sidecar is there: told once when it goes, and looked for again until it is back.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard};
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

pub(crate) type OnAway = Arc<dyn Fn(&Status) + Send + Sync>;

/// The state of the way to the sidecar, shared by all turns of a client.
pub(crate) struct Link {
    pub streams: Semaphore,
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
        Arc::new(Self { streams, closed, away, state: Mutex::default(), on_away, sidecar })
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

/// Ends when the sidecar is back, or nobody needs it any more.
async fn look_for_it(link: std::sync::Weak<Link>) {
    let mut pause = FIRST_PAUSE;
    loop {
        sleep(pause).await;
        let Some(link) = link.upgrade().filter(|link| !*link.closed.borrow()) else { return };
        if link.sidecar.with_deadline(PROBE).get_server_info(GetServerInfoRequest::default()).await.is_ok() {
            link.state().back = Some(Instant::now());
            link.away.send_replace(false);
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
