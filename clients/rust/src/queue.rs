//! What a turn has reported and the sidecar does not have yet, and what the sidecar has said.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prost::Message;
use tokio::sync::watch;
use tonic::Status;

use crate::advice::is_advice;
use crate::client::Home;
use crate::reports::Report;
use crate::v1::{
    turn_directive, turn_event, ReportGoalRequest, TaskOutcome, TurnAck, TurnDirective, TurnEvent, TurnPlan,
    TurnSummary,
};
use crate::warning::warning;

/// What the sidecar takes in a turn.
const MOST_EVENTS: usize = 10_000;
/// Bytes of a turn that wait for a sidecar that is away. Beyond that they are dropped, and counted.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// What an event or a report takes here beside its bytes, about.
const BESIDE_BYTES: usize = 512;
/// A larger event would not fit the 4 MiB that the sidecar reads as a message, texts cut. What the sidecar takes of an
/// event, which is less, it says itself when it refuses the turn.
const MOST_EVENT_BYTES: usize = 4 * 1024 * 1024 - 64 * 1024;
/// Directives that nobody takes: the oldest go.
const MOST_DIRECTIVES: usize = 1_000;

/// What a turn's handles share with the task that delivers it.
pub(crate) struct Shared {
    pub id: String,
    pub agent: String,
    pub task: String,
    state: Mutex<State>,
    /// Changes whenever something does.
    pub news: watch::Sender<u64>,
    pub home: Arc<Home>,
}

#[derive(Default)]
pub(crate) struct State {
    pub waiting: VecDeque<TurnEvent>,
    waiting_bytes: usize,
    /// Events that were kept, how many of them are durable, and how many of them the sidecar has received.
    pub events: usize,
    settled: usize,
    pub received: usize,
    /// The sidecar is about to say something to what it has received.
    pub pending: bool,
    pub dropped: usize,
    pub finishing: bool,
    pub over: bool,
    pub refusal: Option<Status>,
    pub last_sequence: u64,
    told: HashSet<String>,
    pub directives: VecDeque<TurnDirective>,
    pub plan: Option<TurnPlan>,
    pub summary: Option<TurnSummary>,
    /// What the turn works towards, when that is known before its end.
    pub goal: Option<ReportGoalRequest>,
    /// What follows the turn: the first is sent next.
    reports: VecDeque<Report>,
    pub outcome: TaskOutcome,
    score: Option<f64>,
    /// Of blocks that the turn was given, and the first so many of them are among the reports.
    receipts: Vec<String>,
    reported: usize,
    /// The agent was told that it reports after the end.
    late: bool,
}

/// How many events one stream has sent, and how many of these are durable.
#[derive(Default)]
pub(crate) struct Sending {
    pub sent: usize,
    pub durable: usize,
}

impl State {
    /// Everything that was kept until then is received, and nothing that the sidecar says to it is in progress.
    pub fn is_quiet(&self, events: usize) -> bool {
        self.received >= events && !self.pending
    }

    /// Nobody needs to be told these any more: what was not taken was not shown.
    fn withdraw(&mut self, ids: &[String]) {
        for gone in self.directives.iter().filter(|each| ids.contains(&each.directive_id)) {
            if let Some(turn_directive::Kind::Reflection(reflection)) = &gone.kind {
                let receipt_id = reflection.lessons.as_ref().map(|block| &block.receipt_id);
                if self.reported == 0 {
                    self.receipts.retain(|shown| Some(shown) != receipt_id);
                }
            }
        }
        self.directives.retain(|each| !ids.contains(&each.directive_id));
    }

    /// Nudges, reflections and critiques that nobody has taken, as far as they have a text for a model.
    pub fn take_advice(&mut self) -> Vec<TurnDirective> {
        let (advice, others): (Vec<_>, Vec<_>) = self.directives.drain(..).partition(is_advice);
        self.directives = others.into();
        advice
    }

    fn is_full(&self, size: usize) -> bool {
        self.events >= MOST_EVENTS || self.waiting_bytes + size > MOST_BYTES || size > MOST_EVENT_BYTES
    }
}

impl Shared {
    pub fn new(id: String, agent: String, task: String, home: Arc<Home>) -> Self {
        Self { id, agent, task, state: Mutex::default(), news: watch::Sender::new(0), home }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn tell(&self) {
        self.news.send_modify(|number| *number += 1);
    }

    /// Keeps the event until it is durable, or counts it as dropped. Without its beginning a turn is not reported at all;
    /// its end always has room, and changes nothing where it has ended.
    pub fn keep(&self, event: TurnEvent) {
        self.keep_in(self.state(), event);
    }

    /// Keeps the turn's end and what follows it, which is nothing when the outcome is UNSPECIFIED. Of two ends at once the
    /// first counts alone. `goal` counts instead of the one that the turn works towards.
    pub fn finish(&self, end: TurnEvent, outcome: TaskOutcome, score: Option<f64>, goal: Option<ReportGoalRequest>) {
        let mut state = self.state();
        if !state.finishing && outcome != TaskOutcome::Unspecified {
            let goal = goal.or_else(|| state.goal.clone());
            self.keep_reports(&mut state, outcome, score, goal);
        }
        self.keep_in(state, end);
    }

    fn keep_in(&self, mut state: MutexGuard<'_, State>, event: TurnEvent) {
        let size = event.encoded_len();
        let begins = matches!(event.kind, Some(turn_event::Kind::TurnStarted(_)));
        let ends = matches!(event.kind, Some(turn_event::Kind::TurnFinished(_)));
        let full = state.is_full(size) && !ends;
        let kept = !(state.finishing || state.over || full) && self.home.link.keep(size + BESIDE_BYTES, ends);
        if !kept && ends && state.finishing {
            drop(state);
            let turn_id = &self.id;
            warning!("the turn is finished: another finish changes nothing", turn_id);
            return;
        }
        if !kept {
            let is_late = state.finishing && !state.late;
            state.late = state.finishing;
            state.finishing |= ends;
            state.dropped += 1;
            state.over |= begins && state.events == 0;
            self.home.losses.add(&self.id, 1, 0, 0);
            drop(state);
            if is_late {
                let turn_id = &self.id;
                warning!("the turn is finished: what is reported after that is not delivered", turn_id);
            } else if size > MOST_EVENT_BYTES {
                let turn_id = &self.id;
                warning!("an event that is too large for a message is not delivered", turn_id);
            }
            return;
        }
        state.finishing = ends;
        state.events += 1;
        state.waiting_bytes += size;
        state.waiting.push_back(event);
        drop(state);
        self.tell();
    }

    fn keep_reports(
        &self,
        state: &mut State,
        outcome: TaskOutcome,
        score: Option<f64>,
        goal: Option<ReportGoalRequest>,
    ) {
        (state.outcome, state.score) = (outcome, score);
        let Some(report) = goal.map(|goal| Report::of_goal(goal, outcome, &self.id)) else { return };
        let size = report.size();
        if !state.over && !state.is_full(size) && self.home.link.keep(size + BESIDE_BYTES, false) {
            state.waiting_bytes += size;
            state.reports.push_back(report);
        } else {
            self.home.losses.add(&self.id, 0, 0, 1);
        }
    }

    /// The turn was given a block with this receipt.
    pub fn shown(&self, receipt_id: &str) {
        let mut state = self.state();
        if !receipt_id.is_empty() && !state.receipts.iter().any(|each| each == receipt_id) {
            state.receipts.push(receipt_id.into());
        }
    }

    /// The goals that wait to be reported.
    #[cfg(test)]
    pub fn goals(&self) -> Vec<ReportGoalRequest> {
        let is_goal = |report: &Report| match report {
            Report::Goal(goal) => Some(goal.clone()),
            Report::Outcome(_) => None,
        };
        self.state().reports.iter().filter_map(is_goal).collect()
    }

    /// What is to be reported next, once the turn is durable; None when there is nothing.
    pub fn next_report(&self) -> Option<Report> {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.outcome != TaskOutcome::Unspecified {
            // The first block that told a lesson is reported first: its error has come up again if it came behind that.
            for receipt_id in state.receipts[state.reported..].iter().rev() {
                let report = Report::of_outcome(receipt_id.clone(), state.outcome, state.score);
                self.home.link.keep(report.size() + BESIDE_BYTES, true);
                state.waiting_bytes += report.size();
                state.reports.push_front(report);
            }
            state.reported = state.receipts.len();
        }
        state.reports.front().cloned()
    }

    /// The first report is made, or is not taken.
    pub fn forget_report(&self, dropped: bool) {
        let mut state = self.state();
        self.pop_report(&mut state, dropped);
        drop(state);
        self.tell();
    }

    fn pop_report(&self, state: &mut State, dropped: bool) {
        let Some(report) = state.reports.pop_front() else { return };
        state.waiting_bytes -= report.size();
        self.home.link.let_go(report.size() + BESIDE_BYTES);
        if dropped {
            let is_goal = report.is_goal();
            self.home.losses.add(&self.id, 0, usize::from(!is_goal), usize::from(is_goal));
        }
    }

    /// The event that has waited longest is durable, or dropped.
    fn settle(&self, state: &mut State) {
        if let Some(event) = state.waiting.pop_front() {
            let size = event.encoded_len();
            state.waiting_bytes -= size;
            state.settled += 1;
            self.home.link.let_go(size + BESIDE_BYTES);
        }
    }

    /// A new stream sends again what is not known to be durable.
    pub fn begin_stream(&self) {
        let mut state = self.state();
        state.received = state.settled;
    }

    /// The first events of this stream are received, and some of them safe. Whether that is everything that it has sent.
    pub fn acknowledged(&self, ack: &TurnAck, sending: &mut Sending) -> bool {
        let mut state = self.state();
        while sending.durable < sending.sent.min(ack.durable as usize) {
            self.settle(&mut state);
            sending.durable += 1;
        }
        let received = sending.sent.min(ack.received as usize);
        state.received = state.received.max(state.settled + received.saturating_sub(sending.durable));
        state.pending = !ack.pending_ids.is_empty();
        state.withdraw(&ack.withdrawn_ids);
        received == sending.sent
    }

    /// Nothing more of the turn is delivered.
    pub fn end(&self, refusal: Option<Status>) {
        {
            let mut state = self.state();
            state.over = true;
            state.refusal = state.refusal.take().or(refusal);
            let left = state.waiting.len();
            state.dropped += left;
            let taught = state.outcome != TaskOutcome::Unspecified;
            let outcomes = if taught { state.receipts.len() - state.reported } else { 0 };
            state.reported = state.receipts.len();
            self.home.losses.add(&self.id, left, outcomes, 0);
            while !state.waiting.is_empty() {
                self.settle(&mut state);
            }
            while !state.reports.is_empty() {
                self.pop_report(&mut state, true);
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
        use turn_directive::Kind;

        let receipt = match &directive.kind {
            Some(Kind::TurnPlan(plan)) => plan.context.as_ref(),
            Some(Kind::Reflection(reflection)) => reflection.lessons.as_ref(),
            _ => None,
        };
        let receipt = receipt.map(|block| block.receipt_id.clone()).unwrap_or_default();
        {
            let mut guard = self.state();
            let state = &mut *guard;
            state.last_sequence = state.last_sequence.max(directive.sequence);
            match &directive.kind {
                Some(Kind::Ack(_) | Kind::Heartbeat(_) | Kind::Closing(_)) => return,
                // Begun again, because the first beginning was lost in a crash.
                Some(Kind::TurnPlan(_)) if state.plan.is_some() => return,
                Some(Kind::TurnPlan(plan)) => state.plan = Some(plan.clone()),
                Some(Kind::TurnSummary(summary)) => state.summary = Some(summary.clone()),
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
        self.shown(&receipt);
    }
}
