//! A turn reported beside the agent: nothing waits, nothing is lost while the sidecar is away, nothing counts twice.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use prost::Message;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::Status;

use crate::client::Open;
use crate::link::Link;
use crate::texts::{cut, LONGEST_TEXT_BYTES};
use crate::v1::{
    turn_directive, turn_event, TaskOutcome, TurnDirective, TurnEvent, TurnFinished, TurnPlan, TurnStarted, TurnSummary,
};

/// What the sidecar takes in a turn.
const MOST_EVENTS: usize = 10_000;
/// Bytes of a turn's events that wait for a sidecar that is away. Beyond that they are dropped, and counted.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// What an event takes here beside its bytes, about.
const BESIDE_BYTES: usize = 512;
/// An event that would not fit the sidecar's 4 MiB a message, texts cut.
const MOST_EVENT_BYTES: usize = 4 * 1024 * 1024 - 64 * 1024;
/// Directives that nobody takes: the oldest go.
const MOST_DIRECTIVES: usize = 1_000;

/// What is known when a turn begins.
#[derive(Debug, Clone, Default)]
pub struct TurnOptions {
    /// Chosen here when it is empty.
    pub turn_id: String,
    /// Which of several agents acts.
    pub agent: String,
    /// The task, the session, the prompt and how to think about it.
    pub started: TurnStarted,
}

impl From<TurnStarted> for TurnOptions {
    fn from(started: TurnStarted) -> Self {
        Self { started, ..Default::default() }
    }
}

/// One turn. Every event has an id, and stays here until the sidecar has said that it is durable. When the stream breaks,
/// another one takes the turn up and sends again what is not known to be durable; the sidecar drops what it has.
///
/// Clones are the same turn. When the last is dropped before [`finish`](Self::finish), what was reported is still
/// delivered, and the turn stays open with the sidecar until that abandons it.
#[derive(Clone)]
pub struct Turn {
    handle: Arc<Handle>,
}

/// What the agent holds. What is delivered beside it holds only `shared`.
struct Handle {
    shared: Arc<Shared>,
    _open: Arc<Open>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.state().left = true;
        self.shared.tell();
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Turn").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// What a turn's handles share with the task that delivers it.
pub(crate) struct Shared {
    pub id: String,
    agent: String,
    state: Mutex<State>,
    /// Changes whenever something does.
    pub news: watch::Sender<u64>,
    pub link: Arc<Link>,
}

#[derive(Default)]
pub(crate) struct State {
    pub waiting: VecDeque<TurnEvent>,
    waiting_bytes: usize,
    events: usize,
    dropped: usize,
    pub finishing: bool,
    pub over: bool,
    /// Nobody can report anything more.
    pub left: bool,
    pub refusal: Option<Status>,
    pub last_sequence: u64,
    told: HashSet<String>,
    directives: VecDeque<TurnDirective>,
    plan: Option<TurnPlan>,
    summary: Option<TurnSummary>,
}

impl Turn {
    pub(crate) fn begin(link: Arc<Link>, open: Arc<Open>, options: TurnOptions) -> (Self, Arc<Shared>) {
        let id = if options.turn_id.is_empty() { uuid::Uuid::new_v4().to_string() } else { options.turn_id };
        let (state, news) = (Mutex::default(), watch::Sender::new(0));
        let shared = Arc::new(Shared { id: id.clone(), agent: options.agent, state, news, link });
        let turn = Self { handle: Arc::new(Handle { shared: shared.clone(), _open: open }) };
        let kind = Some(turn_event::Kind::TurnStarted(options.started));
        turn.report(TurnEvent { turn_id: id, kind, ..Default::default() });
        (turn, shared)
    }

    /// The turn's id.
    pub fn id(&self) -> &str {
        &self.shared().id
    }

    /// Takes an event and returns its id. It never waits. Of a text of more than 256 KiB, which is what the sidecar
    /// takes, the beginning is kept.
    pub fn report(&self, mut event: TurnEvent) -> String {
        if event.event_id.is_empty() {
            event.event_id = uuid::Uuid::new_v4().to_string();
        }
        if event.agent.is_empty() {
            event.agent.clone_from(&self.shared().agent);
        }
        event.time.get_or_insert_with(|| SystemTime::now().into());
        if event.encoded_len() > LONGEST_TEXT_BYTES {
            cut(&mut event);
        }
        let id = event.event_id.clone();
        self.shared().keep(event);
        id
    }

    /// Ends the turn. What is on its way is still delivered, also after the sidecar was away.
    pub fn finish(&self, outcome: TaskOutcome, score: Option<f64>) {
        let kind = turn_event::Kind::TurnFinished(TurnFinished { outcome: outcome.into(), score });
        self.report(crate::event::of(kind));
    }

    /// The directives that have come since the last time, in their order, without waiting.
    pub fn take(&self) -> Vec<TurnDirective> {
        self.shared().state().directives.drain(..).collect()
    }

    /// The next directive, waiting for it; None when the turn is over.
    pub async fn next(&self) -> Option<TurnDirective> {
        let mut news = self.shared().news.subscribe();
        loop {
            news.borrow_and_update();
            {
                let mut state = self.shared().state();
                if let Some(next) = state.directives.pop_front() {
                    return Some(next);
                }
                if state.over {
                    return None;
                }
            }
            news.changed().await.ok()?;
        }
    }

    /// The plan; None when it has not come in time, or at once while the sidecar is away.
    pub async fn plan(&self, patience: Duration) -> Option<TurnPlan> {
        self.wait(patience, |state| state.plan.clone()).await
    }

    /// The summary after `finish`; None when it has not come in time, or at once while the sidecar is away.
    pub async fn summary(&self, patience: Duration) -> Option<TurnSummary> {
        self.wait(patience, |state| state.summary.clone()).await
    }

    /// Why nothing more of this turn is reported: the sidecar has refused it, or it is lost, because the sidecar has failed
    /// with it ten times in a row; None otherwise.
    pub fn error(&self) -> Option<Status> {
        self.shared().state().refusal.clone()
    }

    /// How many events were not kept: there were too many, one was too large, or the turn is over.
    pub fn dropped(&self) -> usize {
        self.shared().state().dropped
    }

    fn shared(&self) -> &Shared {
        &self.handle.shared
    }

    async fn wait<T>(&self, patience: Duration, there: impl Fn(&State) -> Option<T>) -> Option<T> {
        let (mut news, mut away) = (self.shared().news.subscribe(), self.shared().link.away());
        let waiting = async {
            loop {
                {
                    let state = self.shared().state();
                    let answer = there(&state);
                    if answer.is_some() || state.over || *away.borrow() {
                        return answer;
                    }
                }
                tokio::select! {
                    _ = news.changed() => {}
                    _ = away.changed() => {}
                }
            }
        };
        timeout(patience, waiting).await.unwrap_or_else(|_| there(&self.shared().state()))
    }
}

impl Shared {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn tell(&self) {
        self.news.send_modify(|number| *number += 1);
    }

    /// Keeps the event until it is durable, or counts it as dropped. Without its beginning a turn is not reported at all;
    /// its end always has room.
    fn keep(&self, event: TurnEvent) {
        let size = event.encoded_len();
        let begins = matches!(event.kind, Some(turn_event::Kind::TurnStarted(_)));
        let ends = matches!(event.kind, Some(turn_event::Kind::TurnFinished(_)));
        {
            let mut state = self.state();
            let full =
                state.events >= MOST_EVENTS || state.waiting_bytes + size > MOST_BYTES || size > MOST_EVENT_BYTES;
            let kept = !(state.finishing || state.over || full && !ends) && self.link.keep(size + BESIDE_BYTES, ends);
            if !kept {
                state.dropped += 1;
                state.over |= begins && state.events == 0;
                return;
            }
            state.finishing = ends;
            state.events += 1;
            state.waiting_bytes += size;
            state.waiting.push_back(event);
        }
        self.tell();
    }

    /// The event that has waited longest is durable.
    pub fn settle(&self, state: &mut State) {
        if let Some(event) = state.waiting.pop_front() {
            let size = event.encoded_len();
            state.waiting_bytes -= size;
            self.link.let_go(size + BESIDE_BYTES);
        }
    }

    /// Nothing more of the turn is delivered.
    pub fn end(&self, refusal: Option<Status>) {
        {
            let mut state = self.state();
            state.over = true;
            state.refusal = refusal;
            state.dropped += state.waiting.len();
            while !state.waiting.is_empty() {
                self.settle(&mut state);
            }
        }
        self.tell();
    }

    /// Returns once everything reported is durable with the sidecar, or the turn is given up.
    pub async fn delivered(&self) {
        let mut news = self.news.subscribe();
        let done = |state: &State| state.over || (state.waiting.is_empty() && !state.finishing);
        while !done(&self.state()) {
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// Keeps what the agent may want to know of a directive.
    pub fn hear(&self, directive: TurnDirective) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.last_sequence = state.last_sequence.max(directive.sequence);
        match &directive.kind {
            Some(
                turn_directive::Kind::Ack(_) | turn_directive::Kind::Heartbeat(_) | turn_directive::Kind::Closing(_),
            ) => return,
            // Begun again, because the first beginning was lost in a crash.
            Some(turn_directive::Kind::TurnPlan(_)) if state.plan.is_some() => return,
            Some(turn_directive::Kind::TurnPlan(plan)) => state.plan = Some(plan.clone()),
            Some(turn_directive::Kind::TurnSummary(summary)) => state.summary = Some(summary.clone()),
            _ => {}
        }
        if !directive.directive_id.is_empty() && !state.told.insert(directive.directive_id.clone()) {
            return;
        }
        state.directives.push_back(directive);
        if state.directives.len() > MOST_DIRECTIVES {
            state.directives.pop_front();
        }
    }
}
