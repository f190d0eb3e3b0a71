//! Whether the sidecar is there: told once when it goes, and looked for again until it is back.

use std::collections::{HashMap, HashSet};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{sleep, timeout, Instant};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_health::pb::{health_client::HealthClient, HealthCheckRequest};

use crate::calls::{Carried, TOKEN_UNUSABLE};
use crate::problem::{is_answer, is_busy, is_unable, plain, unbroken};
use crate::v1::{sidecar_service_client::SidecarServiceClient, GetServerInfoRequest};

pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(100);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// While the sidecar is away, an answer that takes longer is none.
const PROBE: Duration = Duration::from_secs(2);
/// After so long the sidecar counts as back.
const STEADY: Duration = Duration::from_secs(5);
/// What was sent waits so long, and so long nothing is heard, until the sidecar is asked whether it is there.
const SILENT: Duration = Duration::from_secs(1);
/// So long it may take to answer that.
const ASKED: Duration = Duration::from_secs(1);
/// How often that is looked at, and by how much a look may come late: a client that was held up heard nothing.
const LOOK: Duration = Duration::from_millis(250);
const LATE: Duration = Duration::from_millis(500);
/// How long closing waits for what the agent is being told. A callback that closes the client itself waits all of it.
const TOLD: Duration = Duration::from_millis(500);
/// So long it is not told again that the sidecar is too busy for a method, or has no answer now.
const BUSY_PAUSE: Duration = Duration::from_secs(60);
/// What everything that waits of a client takes. Beyond that it is dropped, and counted.
const MOST_BYTES: usize = 64 * 1024 * 1024;
const NOT_LET_IN: &str = "the sidecar refuses the token, or there is none: name a file with one that it knows in \
                          SIDEMIRROR_TOKEN_FILE";
const NOT_PERMITTED: &str = "the token is not good for the tenant and project of a turn, which is dropped: name one \
                             that it is good for (tenant_id and project_id), or a file with another token in \
                             SIDEMIRROR_TOKEN_FILE";

/// Told why the sidecar counts as away, which is the status's message, each time on a thread of its own, in the client's
/// runtime: it may block.
pub type OnAway = Arc<dyn Fn(&Status) + Send + Sync>;
/// Told that the token is missing or refused, and what to set, on such a thread too.
pub type OnRefused = Arc<dyn Fn(&str) + Send + Sync>;

/// Whether anything can be had of the sidecar now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reach {
    There,
    Away,
    /// It is there, and does not take the token.
    Refused,
}

/// Changes whenever the sidecar goes, and whenever it is back.
pub(crate) type Reached = (u64, bool);

/// A pause, a little longer or shorter: what broke together does not come back in one moment.
pub(crate) fn about(pause: Duration) -> Duration {
    pause.mul_f64(0.8 + 0.4 * (uuid::Uuid::new_v4().as_u128() % 1000) as f64 / 1000.0)
}

/// The state of the way to the sidecar, shared by all turns of a client.
pub(crate) struct Link {
    waiting_bytes: AtomicUsize,
    closed: watch::Sender<bool>,
    reach: watch::Sender<Reach>,
    /// How often the agent is being told something just now.
    telling: watch::Sender<usize>,
    state: Mutex<State>,
    keys: AtomicU64,
    on_away: OnAway,
    on_refused: OnRefused,
    endpoint: Endpoint,
    carried: Arc<Carried>,
    runtime: Handle,
}

#[derive(Default)]
struct State {
    outages: u64,
    told: bool,
    told_refused: bool,
    told_not_permitted: bool,
    /// Which methods of turns were refused, and how, as far as that was told.
    told_refusals: HashSet<(&'static str, Code)>,
    /// When it was told last that a method has no answer, by the reason.
    told_unanswered: HashMap<(&'static str, &'static str), Instant>,
    back: Option<Instant>,
    /// Since when what was sent waits for an answer, and when something came last.
    sent: HashMap<u64, Instant>,
    heard: Option<Instant>,
    listens: bool,
}

/// The agent is being told something.
struct Telling(Arc<Link>);

impl Telling {
    fn begun(link: &Arc<Link>) -> Self {
        link.telling.send_modify(|running| *running += 1);
        Self(link.clone())
    }

    /// Calls the agent's callback, on a thread of its own: it may take its time, and panic.
    fn call(self, name: &'static str, callback: impl FnOnce() + Send + 'static) {
        let told = move || {
            let _in_runtime = self.0.runtime.enter();
            if catch_unwind(AssertUnwindSafe(callback)).is_err() {
                tracing::error!("{name} has panicked");
            }
        };
        if let Err(why) = thread::Builder::new().name(format!("sidemirror {name}")).spawn(told) {
            tracing::error!("{name} is not called, there is no thread for it: {why}");
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.telling.send_modify(|running| *running -= 1);
    }
}

/// Something that the sidecar answers at once, once it is sent. Given up when it is dropped.
pub(crate) struct Expected {
    link: Arc<Link>,
    key: u64,
}

impl Expected {
    /// It is sent, and waits from the first time that this is said.
    pub fn sent(&self) {
        let listens = {
            let mut state = self.link.state();
            state.sent.entry(self.key).or_insert_with(Instant::now);
            std::mem::replace(&mut state.listens, true)
        };
        if !listens {
            self.link.runtime.spawn(listen(Arc::downgrade(&self.link)));
        }
    }

    /// It is answered.
    pub fn answered(&self) {
        self.link.state().sent.remove(&self.key);
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.answered();
    }
}

/// What the agent is told of it: where it is the token's own file, the error alone.
fn not_let_in(status: &Status) -> String {
    let why = status.message();
    if why.starts_with(TOKEN_UNUSABLE) {
        return format!("{why} (what is reported waits)");
    }
    format!("{NOT_LET_IN}: {why} (what is reported waits)")
}

impl Link {
    /// `endpoint`: for connections of its own.
    pub fn new(
        endpoint: Endpoint,
        carried: Arc<Carried>,
        on_away: OnAway,
        on_refused: OnRefused,
        runtime: Handle,
    ) -> Arc<Self> {
        let (waiting_bytes, keys, state) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::default());
        let (closed, reach) = (watch::Sender::new(false), watch::Sender::new(Reach::There));
        let telling = watch::Sender::new(0);
        Arc::new(Self {
            waiting_bytes,
            closed,
            reach,
            telling,
            state,
            keys,
            on_away,
            on_refused,
            endpoint,
            carried,
            runtime,
        })
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

    /// How often it went away, and whether it is there now.
    pub fn reached(&self) -> Reached {
        let state = self.state();
        (state.outages, *self.reach.borrow() == Reach::There)
    }

    /// Another connection, which is made when it is first used. What it does goes on beside the agent.
    pub fn connection(&self) -> Channel {
        let _entered = self.runtime.enter();
        self.endpoint.connect_lazy()
    }

    /// Whether it is there now, and when that changes.
    pub fn reach(&self) -> watch::Receiver<Reach> {
        self.reach.subscribe()
    }

    /// Whether anything can be asked of it now.
    pub fn is_there(&self) -> bool {
        *self.reach.borrow() == Reach::There && !self.is_closed()
    }

    /// Ends what goes on beside the agent. Whether that has ended before.
    pub fn close(&self) -> bool {
        self.closed.send_replace(true)
    }

    /// Whether the client is closed.
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Returns once the client is closed.
    pub async fn wait_closed(&self) {
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Returns once the agent has been told all that it is being told: a process that ends right after it has closed the
    /// client would lose it.
    pub async fn wait_told(&self) {
        let mut telling = self.telling.subscribe();
        let _ = timeout(TOLD, telling.wait_for(|running| *running == 0)).await;
    }

    /// Returns once the sidecar is there.
    pub async fn there(&self) {
        let _ = self.reach().wait_for(|reach| *reach == Reach::There).await;
    }

    /// Returns once nothing can be had of the sidecar, or the client is closed.
    pub async fn gone(&self) {
        let mut reach = self.reach();
        tokio::select! {
            _ = reach.wait_for(|reach| *reach != Reach::There) => {}
            () = self.wait_closed() => {}
        }
    }

    /// Something that will be sent.
    pub fn expect(self: &Arc<Self>) -> Expected {
        Expected { link: self.clone(), key: self.keys.fetch_add(1, Ordering::Relaxed) }
    }

    /// Something has come from the sidecar.
    pub fn heard(&self) {
        self.state().heard = Some(Instant::now());
    }

    /// The sidecar has spoken on a stream that was opened after so many outages. The next one is told again, unless it
    /// follows so soon that it is the same one to whoever is told.
    pub fn answered(&self, outages: u64) {
        let mut state = self.state();
        state.heard = Some(Instant::now());
        state.told_not_permitted = false;
        if outages == state.outages && state.back.is_none_or(|back| back.elapsed() > STEADY) {
            state.told = false;
        }
    }

    /// A stream or call broke that was begun after so many outages. Of many that break in one, the first counts.
    pub fn lost(self: &Arc<Self>, why: &Status, outages: u64) {
        let Some(telling) = self.leave(outages, Reach::Away, |state| &mut state.told) else { return };
        let (on_away, why) = (self.on_away.clone(), plain(why));
        telling.call("on_away", move || on_away(&why));
    }

    /// The sidecar does not take the token, at a stream or call that was begun after so many outages.
    pub fn refused(self: &Arc<Self>, status: &Status, outages: u64) {
        if let Some(telling) = self.leave(outages, Reach::Refused, |state| &mut state.told_refused) {
            self.tell_refused(telling, not_let_in(status));
        }
    }

    /// The token is known, and a turn is none of what it permits. Told once, until a turn is taken.
    pub fn not_permitted(self: &Arc<Self>, status: &Status) {
        let told = std::mem::replace(&mut self.state().told_not_permitted, true);
        if !told {
            self.tell_refused(Telling::begun(self), format!("{NOT_PERMITTED}: {}", status.message()));
        }
    }

    /// Whether a method was never refused like this before.
    pub fn is_new(&self, method: &'static str, code: Code) -> bool {
        self.state().told_refusals.insert((method, code))
    }

    /// Whether it was not told for a while that this method has no answer, for this reason.
    pub fn is_newly_unanswered(&self, method: &'static str, why: &'static str) -> bool {
        let (now, mut state) = (Instant::now(), self.state());
        let is_new = state.told_unanswered.get(&(method, why)).is_none_or(|told| now - *told >= BUSY_PAUSE);
        if is_new {
            state.told_unanswered.insert((method, why), now);
        }
        is_new
    }

    /// A call that was begun after so many outages has failed: with what the sidecar says, or because it is gone.
    pub fn failed(self: &Arc<Self>, status: &Status, outages: u64) {
        match status.code() {
            Code::Unauthenticated => self.refused(status, outages),
            Code::Unavailable if is_unable(status) => self.heard(),
            Code::Unavailable if !is_busy(status) => self.lost(status, outages),
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => {}
            _ => self.heard(),
        }
    }

    /// Begins to look for the sidecar. The agent is to be told while what this answers is held.
    fn leave(self: &Arc<Self>, outages: u64, reach: Reach, told: fn(&mut State) -> &mut bool) -> Option<Telling> {
        let telling = {
            let mut state = self.state();
            if outages != state.outages || !self.is_there() {
                return None;
            }
            state.outages += 1;
            let is_told = std::mem::replace(told(&mut state), true);
            // Before anybody can see that it is gone, and close the client.
            let telling = (!is_told).then(|| Telling::begun(self));
            self.reach.send_replace(reach);
            telling
        };
        self.runtime.spawn(look_for_it(Arc::downgrade(self)));
        telling
    }

    fn tell_refused(&self, telling: Telling, why: String) {
        let on_refused = self.on_refused.clone();
        telling.call("on_refused", move || on_refused(&why));
    }

    /// Asks whether the sidecar is there, on a new connection: one that is open may be broken without having said so.
    async fn ask(self: &Arc<Self>) {
        let (outages, began) = (self.outages(), Instant::now());
        let mut health = HealthClient::new(self.connection());
        let answer = match timeout(ASKED, health.check(HealthCheckRequest::default())).await {
            Ok(answer) => answer.map(|_| ()).map_err(unbroken),
            Err(_) => Err(Status::unavailable("it does not answer")),
        };
        match answer {
            // Held up meanwhile: nothing is known.
            _ if began.elapsed() > ASKED + LATE => self.heard(),
            // Heard meanwhile: it is busy.
            Err(status) if status.code() == Code::Unavailable && !is_busy(&status) && self.heard_since(began) => {}
            Err(status) if status.code() == Code::Unavailable && !is_busy(&status) => self.lost(&status, outages),
            _ => self.heard(),
        }
    }

    /// Whether something has come after that time.
    pub fn heard_since(&self, then: Instant) -> bool {
        self.state().heard.is_some_and(|heard| heard > then)
    }

    /// A cheap call that carries the token, on a new connection. Fails unless the sidecar answers, with whatever.
    async fn probe(&self) -> Result<(), Status> {
        let mut request = GetServerInfoRequest::default();
        self.carried.scope(&mut request.tenant_id, &mut request.project_id);
        let mut sidecar = SidecarServiceClient::new(self.connection());
        let answer = sidecar.get_server_info(self.carried.authorized(request).await?).await;
        answer.map(|_| ()).or_else(|status| if is_answer(&status) { Ok(()) } else { Err(status) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs while something waits for an answer.
async fn listen(link: Weak<Link>) {
    loop {
        let began = Instant::now();
        sleep(LOOK).await;
        let Some(link) = link.upgrade() else { return };
        let now = Instant::now();
        let silent = {
            let mut state = link.state();
            if state.sent.is_empty() || link.is_closed() {
                state.listens = false;
                return;
            }
            if now - began > LOOK + LATE {
                state.sent.values_mut().for_each(|sent| *sent = now);
            }
            let oldest = state.sent.values().min().copied().max(state.heard);
            oldest.is_some_and(|oldest| now.saturating_duration_since(oldest) >= SILENT)
        };
        if silent && link.is_there() {
            tokio::select! {
                () = link.ask() => {}
                () = link.wait_closed() => {}
            }
        }
    }
}

/// Ends when the sidecar is back, the client is closed, or nobody needs it any more.
async fn look_for_it(link: Weak<Link>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(held) = link.upgrade() else { return };
        let refused = *held.reach.borrow() == Reach::Refused;
        drop(held);
        sleep(about(if refused { LONGEST_PAUSE } else { pause })).await;
        let Some(link) = link.upgrade() else { return };
        let answer = tokio::select! {
            answer = timeout(PROBE, link.probe()) => answer.unwrap_or_else(|_| Err(Status::unavailable("no answer"))),
            () = link.wait_closed() => return,
        };
        match answer {
            Ok(()) => {
                let mut state = link.state();
                let now = Instant::now();
                (state.back, state.heard, state.told_refused) = (Some(now), Some(now), false);
                link.reach.send_replace(Reach::There);
                return;
            }
            Err(status) if status.code() == Code::Unauthenticated => {
                link.reach.send_replace(Reach::Refused);
                if !std::mem::replace(&mut link.state().told_refused, true) {
                    link.tell_refused(Telling::begun(&link), not_let_in(&status));
                }
            }
            // The agent was told why, and is not told of another reason: one that has refused the token stays that.
            Err(_) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
}
