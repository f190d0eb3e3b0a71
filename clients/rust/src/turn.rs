//! A turn reported beside the agent: nothing waits, nothing is lost while the sidecar is away, nothing counts twice.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use prost::Message;
use tokio::time::timeout;
use tonic::{Code, Status};

use crate::client::{Home, Open};
use crate::delivery::Trouble;
use crate::event;
use crate::link::Reach;
use crate::problem::is_unable;
use crate::queue::{Shared, State};
use crate::texts::{cut, name_tool, shorten, LONGEST_TEXT_BYTES};
use crate::v1::{
    turn_event, BuildMemoryContextRequest, ContextBlock, CritiqueRequest, CritiqueResult, ReportGoalRequest,
    ResultStatus, TaskOutcome, TurnDirective, TurnEvent, TurnFinished, TurnPlan, TurnStarted, TurnSummary,
};
use crate::warning::warning;

const PATIENCE: Duration = Duration::from_secs(1);
const RECALL: Duration = Duration::from_secs(2);
const CRITIQUE: Duration = Duration::from_secs(10);
/// What the sidecar takes as a number of lessons to recall.
const MOST_LESSONS: i32 = 20;

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

/// What lessons are asked for. `None` is: those for the turn's task.
#[derive(Debug, Clone, Default)]
pub struct Recall {
    /// Another task than the turn's.
    pub task: Option<String>,
    /// Names of the tools that the agent has.
    pub tools: Vec<String>,
    /// At most so many lessons, from 1 to 20; more is 20, and 0 or less the sidecar's default, which is 5.
    pub max_items: i32,
    /// How long it may take; 2 seconds by default.
    pub patience: Option<Duration>,
}

impl From<Option<Duration>> for Recall {
    fn from(patience: Option<Duration>) -> Self {
        Self { patience, ..Default::default() }
    }
}

impl From<Duration> for Recall {
    fn from(patience: Duration) -> Self {
        Self { patience: Some(patience), ..Default::default() }
    }
}

/// A response that was not sent yet. A text is one.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// What the agent would say.
    pub response: String,
    /// What it answers; when it is empty, what was reported as the user's message, else the turn's task.
    pub user_message: String,
    /// How long the verdict may take; 10 seconds by default.
    pub patience: Option<Duration>,
}

impl From<&str> for Draft {
    fn from(response: &str) -> Self {
        String::from(response).into()
    }
}

impl From<&String> for Draft {
    fn from(response: &String) -> Self {
        response.clone().into()
    }
}

impl From<String> for Draft {
    fn from(response: String) -> Self {
        Self { response, ..Default::default() }
    }
}

/// One turn. Every event has an id, and stays here until the sidecar has said that it is durable. When the stream breaks,
/// another one takes the turn up and sends again what is not known to be durable; the sidecar drops what it has.
///
/// Clones are the same turn. A turn is a scope: when the last clone is dropped before [`finish`](Self::finish), the turn
/// ends, as ERROR in a panic and else without an outcome. [`within`](Self::within) is a scope that sees errors too.
///
/// None of the methods fails because of the sidecar. Where `patience` is None it is 1 second.
#[derive(Clone)]
#[must_use = "a turn ends when it is dropped"]
pub struct Turn {
    handle: Arc<Held>,
}

/// What the agent holds. What is delivered beside it holds only `shared`.
struct Held {
    shared: Arc<Shared>,
    _open: Arc<Open>,
}

impl Drop for Held {
    fn drop(&mut self) {
        leave(&self.shared, panic(), TaskOutcome::Unspecified);
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Turn").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Turn {
    pub(crate) fn begin(open: Arc<Open>, options: TurnOptions) -> (Self, Arc<Shared>) {
        let id = if options.turn_id.is_empty() { uuid::Uuid::new_v4().to_string() } else { options.turn_id };
        let task = options.started.task.clone();
        let shared = Arc::new(Shared::new(id.clone(), options.agent, task, open.home.clone()));
        let kind = Some(turn_event::Kind::TurnStarted(options.started));
        report(&shared, TurnEvent { turn_id: id, kind, ..Default::default() });
        (Self { handle: Arc::new(Held { shared: shared.clone(), _open: open }) }, shared)
    }

    /// The turn's id.
    pub fn id(&self) -> &str {
        &self.shared().id
    }

    /// Takes an event and returns its id. It never waits. Of a text of more than 256 KiB, which is what the sidecar
    /// takes, the beginning is kept, and so are 256 characters of a tool's name; a tool without one is called `unnamed`.
    pub fn report(&self, event: TurnEvent) -> String {
        report(self.shared(), event)
    }

    /// Ends the turn. Unless the outcome is UNSPECIFIED, which teaches nothing, it is reported for every block of lessons
    /// that the turn was given, and so is the goal that the turn works [`towards`](Self::towards). What is on its way is
    /// still delivered, also after the sidecar was away. A score that is no number from 0 to 1 is left out, as a warning says.
    /// A second end changes nothing but for a warning.
    pub fn finish(&self, outcome: TaskOutcome, score: Option<f64>) {
        finish(self.shared(), outcome, score, None);
    }

    /// The same with a goal that is known at the end only: `goal_id` and `objective` are needed. Its state is COMPLETED for
    /// SUCCESS and FAILED for any other outcome, unless it says its own.
    pub fn finish_with_goal(&self, outcome: TaskOutcome, score: Option<f64>, goal: ReportGoalRequest) {
        finish(self.shared(), outcome, score, Some(goal));
    }

    /// The turn with the goal that it works towards: `goal_id` and `objective` are needed. It is reported with the outcome
    /// however the turn ends, unless without one. The error that [`within`](Self::within) sees, or a panic, is its error where
    /// it has none. [`finish`](Self::finish) needs no goal then; that of `finish_with_goal` counts instead.
    pub fn towards(self, goal: ReportGoalRequest) -> Self {
        self.shared().state().goal = Some(goal);
        self
    }

    /// Does the work in the turn's scope: afterwards the turn is over, as ERROR if the work failed, panicked, or else
    /// without an outcome, unless the work has finished it.
    pub async fn within<T, E: fmt::Display>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.scope(work, TaskOutcome::Unspecified).await
    }

    /// The same for work that fails with an error whenever it fails: without one, the turn ends as SUCCESS.
    pub async fn succeed<T, E: fmt::Display>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.scope(work, TaskOutcome::Success).await
    }

    async fn scope<T, E: fmt::Display>(
        &self,
        work: impl Future<Output = Result<T, E>>,
        outcome: TaskOutcome,
    ) -> Result<T, E> {
        let scope = Scope(self.shared());
        let done = work.await;
        leave(scope.0, done.as_ref().err().map(ToString::to_string), outcome);
        done
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
    pub async fn plan(&self, patience: impl Into<Option<Duration>>) -> Option<TurnPlan> {
        self.wait(patience.into().unwrap_or(PATIENCE), |state| state.plan.clone()).await
    }

    /// The lessons for the turn's task, or another one, as a block with its text; None when no lesson fits, when they have
    /// not come in time, or at once while the sidecar is away. What the sidecar refuses is None too, with a warning, once for
    /// each status of a client.
    pub async fn recall(&self, what: impl Into<Recall>) -> Option<ContextBlock> {
        let what = what.into();
        let patience = what.patience.unwrap_or(RECALL);
        let mut request = BuildMemoryContextRequest {
            task: what.task.unwrap_or_else(|| self.shared().task.clone()),
            tools: what.tools,
            max_items: what.max_items.clamp(0, MOST_LESSONS),
            turn_id: self.id().into(),
            ..Default::default()
        };
        shorten(&mut request.task);
        let (began, memory) = (Instant::now(), self.home().memory.with_deadline(patience));
        let block = self.ask("recall", began, memory.build_memory_context(request)).await?.block?;
        self.shared().shown(&block.receipt_id);
        (!block.text.is_empty()).then_some(block)
    }

    /// What the sidecar says to what was reported: nudges, recoveries, reflections and critiques that nobody has taken yet,
    /// as far as they have a text for a model. Comes at once when nothing is in progress: an empty list is an answer. What
    /// comes later is in the next one.
    pub async fn advice(&self, patience: impl Into<Option<Duration>>) -> Vec<TurnDirective> {
        let reported = self.shared().state().events;
        let patience = patience.into().unwrap_or(PATIENCE);
        self.wait(patience, |state| state.is_quiet(reported).then_some(())).await;
        self.shared().state().take_advice()
    }

    /// The verdict on a response that was not sent yet, beside what the turn's tools returned; None without one in time, or
    /// at once while the sidecar is away. A refusal is told as that of [`recall`](Self::recall) is.
    pub async fn critique(&self, draft: impl Into<Draft>) -> Option<CritiqueResult> {
        let draft = draft.into();
        let patience = draft.patience.unwrap_or(CRITIQUE);
        let (began, reported) = (Instant::now(), self.shared().state().events);
        self.wait(patience, |state| (state.received >= reported).then_some(())).await;
        let left = patience.saturating_sub(began.elapsed());
        if left.is_zero() {
            self.late("critique", began);
            return None;
        }
        let (mut response, mut user_message) = (draft.response, draft.user_message);
        [&mut response, &mut user_message].into_iter().for_each(shorten);
        let request = CritiqueRequest { turn_id: self.id().into(), response, user_message, ..Default::default() };
        let critique = self.home().critique.with_deadline(left);
        let verdict = self.ask("critique", began, critique.critique(request)).await?.critique?;
        (verdict.status == i32::from(ResultStatus::Ok)).then_some(verdict)
    }

    /// The answer that may be sent: what `again` makes of the revision prompt where [`critique`](Self::critique) asks for
    /// a revision, else the draft's response as it is, also without a verdict. What `again` makes is judged by nobody: one
    /// revision at most. The error is that of `again`, for which the draft's `patience` is no bound.
    pub async fn revised<E, A>(&self, draft: impl Into<Draft>, again: impl FnOnce(String) -> A) -> Result<String, E>
    where
        A: Future<Output = Result<String, E>>,
    {
        let draft = draft.into();
        let answer = draft.response.clone();
        match self.critique(draft).await.filter(|verdict| verdict.should_revise) {
            Some(verdict) => again(verdict.revision_prompt).await,
            None => Ok(answer),
        }
    }

    /// The summary after `finish`; None when it has not come in time, or at once while the sidecar is away.
    pub async fn summary(&self, patience: impl Into<Option<Duration>>) -> Option<TurnSummary> {
        self.wait(patience.into().unwrap_or(PATIENCE), |state| state.summary.clone()).await
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

    fn home(&self) -> &Home {
        &self.shared().home
    }

    /// The answer to a call, or None: nothing of the sidecar's makes an agent fail. What it refuses, or has no answer to,
    /// is told. `began`: when the agent has asked.
    async fn ask<T>(
        &self,
        method: &'static str,
        began: Instant,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Option<T> {
        let link = &self.home().link;
        if !link.is_there() {
            return None;
        }
        let (outages, expected) = (link.outages(), link.expect());
        expected.sent();
        let answer = tokio::select! {
            answer = call => answer,
            () = link.gone() => return None,
        };
        match answer {
            Ok(answer) => {
                link.heard();
                Some(answer)
            }
            Err(status) => {
                link.failed(&status, outages);
                match (Trouble::of(&status), status.code()) {
                    (Trouble::Final, code) if link.is_new(method, code) => {
                        let (turn_id, address) = (self.id(), &self.home().address);
                        warning!("the sidecar has refused what a turn asks for", method, turn_id, address, status);
                    }
                    (Trouble::Final, _) => {}
                    (_, Code::ResourceExhausted) => self.busy(method, &status),
                    (_, Code::Unavailable) if is_unable(&status) => self.unable(method, &status),
                    (_, Code::DeadlineExceeded) => self.late(method, began),
                    _ => {}
                }
                None
            }
        }
    }

    /// What the agent has asked for then has no answer in time. A sidecar of which nothing was heard since may be away, which
    /// is told otherwise.
    fn late(&self, method: &'static str, began: Instant) {
        if self.home().link.heard_since(began.into()) {
            self.busy(method, &format!("no answer within {:?}", began.elapsed()));
        }
    }

    /// The sidecar is too busy for what the agent asks for, which is told once a minute for each method.
    fn busy(&self, method: &'static str, why: &dyn fmt::Display) {
        if self.home().link.is_newly_unanswered(method, "busy") {
            let (turn_id, address) = (self.id(), &self.home().address);
            warning!("the sidecar is too busy for what a turn asks for", method, turn_id, address, why);
        }
    }

    /// The sidecar has no answer to what the agent asks for, which is told once a minute for each method.
    fn unable(&self, method: &'static str, why: &Status) {
        if self.home().link.is_newly_unanswered(method, "unable") {
            let (turn_id, address) = (self.id(), &self.home().address);
            warning!("the sidecar has no answer now to what a turn asks for", method, turn_id, address, why);
        }
    }

    async fn wait<T>(&self, patience: Duration, there: impl Fn(&State) -> Option<T>) -> Option<T> {
        let (mut news, mut reach) = (self.shared().news.subscribe(), self.home().link.reach());
        let waiting = async {
            loop {
                {
                    let state = self.shared().state();
                    let answer = there(&state);
                    if answer.is_some() || state.over || *reach.borrow() != Reach::There {
                        return answer;
                    }
                }
                tokio::select! {
                    _ = news.changed() => {}
                    _ = reach.changed() => {}
                }
            }
        };
        timeout(patience, waiting).await.unwrap_or_else(|_| there(&self.shared().state()))
    }
}

/// Ends a turn when work in it is given up, or panics.
struct Scope<'a>(&'a Shared);

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        leave(self.0, panic(), TaskOutcome::Unspecified);
    }
}

/// Why a turn fails whose scope is left by a panic, whose own words nobody sees here.
fn panic() -> Option<String> {
    std::thread::panicking().then(|| "panic".into())
}

/// Ends the turn if nobody has: as ERROR when something says why, and else with this outcome.
fn leave(shared: &Shared, why: Option<String>, outcome: TaskOutcome) {
    let is_open = {
        let mut state = shared.state();
        if let Some(goal) = state.goal.as_mut().filter(|goal| goal.error.is_empty()) {
            goal.error = why.clone().unwrap_or_default();
        }
        !state.finishing && !state.over
    };
    if is_open {
        finish(shared, if why.is_some() { TaskOutcome::Error } else { outcome }, None, None);
    }
}

fn finish(shared: &Shared, outcome: TaskOutcome, score: Option<f64>, goal: Option<ReportGoalRequest>) {
    let is_score = |score: &f64| (0.0..=1.0).contains(score);
    if let Some(not) = score.filter(|score| !is_score(score)) {
        let turn_id = &shared.id;
        warning!("the turn ends without its score: a number from 0 to 1", turn_id, not);
    }
    let score = score.filter(is_score);
    let end = event::of(turn_event::Kind::TurnFinished(TurnFinished { outcome: outcome.into(), score }));
    shared.finish(complete(shared, end), outcome, score, goal);
}

fn report(shared: &Shared, event: TurnEvent) -> String {
    let event = complete(shared, event);
    let id = event.event_id.clone();
    shared.keep(event);
    id
}

/// The event as the sidecar takes it.
fn complete(shared: &Shared, mut event: TurnEvent) -> TurnEvent {
    if event.event_id.is_empty() {
        event.event_id = uuid::Uuid::new_v4().to_string();
    }
    if event.agent.is_empty() {
        event.agent.clone_from(&shared.agent);
    }
    event.time.get_or_insert_with(|| SystemTime::now().into());
    if event.encoded_len() > LONGEST_TEXT_BYTES {
        cut(&mut event);
    }
    name_tool(&mut event);
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::GoalState;
    use crate::{goal, Options, Sidemirror};

    /// Seen to fail when each scope ends without an outcome.
    #[tokio::test]
    async fn a_panic_and_an_error_end_a_turn_as_error() {
        let address = Some("unix:/nobody.sock".into());
        let client = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
        let ended = |work: fn(Turn)| {
            let turn = client.begin_turn(TurnStarted::default());
            let shared = turn.handle.shared.clone();
            let _ = std::thread::spawn(move || work(turn)).join();
            finished(&shared)
        };
        assert_eq!(ended(drop), TaskOutcome::Unspecified);
        assert_eq!(ended(|_turn| panic!("the agent's own")), TaskOutcome::Error);
        let failing = client.begin_turn(TurnStarted::default());
        let _ = failing.within(async { Err::<(), _>("the agent's own") }).await;
        assert_eq!(finished(failing.shared()), TaskOutcome::Error);
    }

    /// Seen to fail, with the whole turn refused by a sidecar, when a name goes as it comes.
    #[tokio::test]
    async fn a_tool_has_a_name_that_the_sidecar_takes() {
        let address = Some("unix:/nobody.sock".into());
        let client = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
        let turn = client.begin_turn(TurnStarted::default());
        let (long, longest) = ("ö".repeat(300), "ö".repeat(256));
        for (given, expected) in [("", "unnamed"), ("search", "search"), (&longest, &longest), (&long, &longest)] {
            turn.report(event::tool_called(given, "{}"));
            let kept = turn.shared().state().waiting.back().and_then(|event| event.kind.clone());
            assert_eq!(kept, event::tool_called(expected, "{}").kind);
        }
    }

    /// Seen to fail when it ends without an outcome, and when it ends as SUCCESS with an error.
    #[tokio::test]
    async fn work_that_succeeds_without_an_error_ends_a_turn_as_success() {
        let address = Some("unix:/nobody.sock".into());
        let client = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
        let begun = || client.begin_turn(TurnStarted::default());
        let (done, failing, given) = (begun(), begun(), begun());
        assert_eq!(done.succeed(async { Ok::<_, String>(1) }).await, Ok(1));
        assert_eq!(failing.succeed(async { Err::<(), _>("the agent's own") }).await, Err("the agent's own"));
        given.finish(TaskOutcome::Partial, None);
        let _ = given.succeed(async { Ok::<_, String>(()) }).await;
        assert_eq!(
            [&done, &failing, &given].map(|turn| finished(turn.shared())),
            [TaskOutcome::Success, TaskOutcome::Error, TaskOutcome::Partial]
        );
    }

    fn finished(shared: &Shared) -> TaskOutcome {
        match shared.state().waiting.back().and_then(|event| event.kind.clone()) {
            Some(turn_event::Kind::TurnFinished(finished)) => finished.outcome(),
            other => panic!("not finished: {other:?}"),
        }
    }

    /// A worker's and the scope's. Seen to fail when the end and what follows it are kept one after the other: two
    /// goals were reported, and another outcome than the turn's.
    #[tokio::test]
    async fn of_two_ends_at_once_one_counts() {
        let address = Some("unix:/nobody.sock".into());
        let client = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
        for _ in 0..1_000 {
            let turn = client.begin_turn(TurnStarted::default()).towards(goal("g", "o"));
            let together = std::sync::Barrier::new(2);
            std::thread::scope(|threads| {
                for outcome in [TaskOutcome::Success, TaskOutcome::Failure] {
                    let (turn, together) = (&turn, &together);
                    threads.spawn(move || {
                        together.wait();
                        turn.finish(outcome, None);
                    });
                }
            });
            let outcome = finished(turn.shared());
            let expected = if outcome == TaskOutcome::Success { GoalState::Completed } else { GoalState::Failed };
            let reported: Vec<_> = turn.shared().goals().iter().map(ReportGoalRequest::state).collect();
            assert_eq!((reported, turn.shared().state().outcome), (vec![expected], outcome));
        }
    }

    /// Seen to fail when a turn that is left with an error reports its end alone: its goal was lost.
    #[tokio::test]
    async fn the_goal_of_a_turn_is_reported_however_it_ends() {
        let address = Some("unix:/nobody.sock".into());
        let client = Sidemirror::connect_with(Options { address, ..Default::default() }).unwrap();
        let begun = || client.begin_turn(TurnStarted::default()).towards(goal("g", "o"));
        let reported =
            |turn: &Turn| turn.shared().goals().into_iter().map(|goal| (goal.state(), goal.goal_id, goal.error));

        let (failing, given) =
            (begun(), begun().towards(ReportGoalRequest { error: "its own".into(), ..goal("g", "o") }));
        for turn in [&failing, &given] {
            let _ = turn.within(async { Err::<(), _>("the agent's own") }).await;
        }
        assert!(reported(&failing).eq([(GoalState::Failed, "g".into(), "the agent's own".into())]));
        assert!(reported(&given).eq([(GoalState::Failed, "g".into(), "its own".into())]));

        let panicking = begun();
        let within = panicking.clone();
        let _ = tokio::spawn(async move { within.within(async { panic!() as Result<(), String> }).await }).await;
        assert!(reported(&panicking).eq([(GoalState::Failed, "g".into(), "panic".into())]));

        let (finished, other, left) = (begun(), begun(), begun());
        finished.finish(TaskOutcome::Success, None);
        assert!(reported(&finished).eq([(GoalState::Completed, "g".into(), String::new())]));
        other.finish_with_goal(TaskOutcome::Failure, None, goal("other", "o"));
        assert!(reported(&other).eq([(GoalState::Failed, "other".into(), String::new())]));
        let _ = left.within(async { Ok::<_, String>(()) }).await;
        assert!(reported(&left).eq([]));
    }
}
