//! A turn reported beside the agent: nothing waits, nothing is lost while the sidecar is away, nothing counts twice.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use prost::Message;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::calls::Carried;
use crate::link::{Link, FIRST_PAUSE, LONGEST_PAUSE};
use crate::problem::problem_of;
use crate::v1::thinking_service_client::ThinkingServiceClient;
use crate::v1::{
    turn_directive, turn_event, RunTurnRequest, TaskOutcome, TurnDirective, TurnEvent, TurnFinished, TurnPlan,
    TurnResume, TurnStarted, TurnSummary,
};

/// What the sidecar takes in a turn; a request is kept well below its 4 MiB a message.
const MOST_EVENTS: usize = 10_000;
const BATCH_EVENTS: usize = 500;
const BATCH_BYTES: usize = 1024 * 1024;
/// Bytes of events that wait for a sidecar that is away. Beyond that they are dropped, and counted.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The longest text that the sidecar takes; of a longer one the beginning is reported.
const LONGEST_TEXT_BYTES: usize = 256 * 1024;
const CUT: &str = " … [cut]";
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
/// Clones are the same turn.
#[derive(Clone)]
pub struct Turn {
    shared: Arc<Shared>,
}

struct Shared {
    id: String,
    agent: String,
    state: Mutex<State>,
    /// Changes whenever something does.
    news: watch::Sender<u64>,
    link: Arc<Link>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<TurnEvent>,
    waiting_bytes: usize,
    events: usize,
    dropped: usize,
    finishing: bool,
    over: bool,
    refusal: Option<Status>,
    last_sequence: u64,
    heard: u64,
    told: HashSet<String>,
    directives: VecDeque<TurnDirective>,
    plan: Option<TurnPlan>,
    summary: Option<TurnSummary>,
}

/// How many events one stream has sent, and how many of these are durable.
#[derive(Default)]
struct Sending {
    sent: usize,
    durable: usize,
}

impl Turn {
    pub(crate) fn begin(link: Arc<Link>, options: TurnOptions) -> Self {
        let id = if options.turn_id.is_empty() { uuid::Uuid::new_v4().to_string() } else { options.turn_id };
        let (state, news) = (Mutex::default(), watch::Sender::new(0));
        let turn = Self { shared: Arc::new(Shared { id: id.clone(), agent: options.agent, state, news, link }) };
        let kind = Some(turn_event::Kind::TurnStarted(options.started));
        turn.report(TurnEvent { turn_id: id, kind, ..Default::default() });
        turn
    }

    /// The turn's id.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Takes an event and returns its id. It never waits. Of a text of more than 256 KiB, which is what the sidecar
    /// takes, the beginning is kept.
    pub fn report(&self, mut event: TurnEvent) -> String {
        if event.event_id.is_empty() {
            event.event_id = uuid::Uuid::new_v4().to_string();
        }
        if event.agent.is_empty() {
            event.agent.clone_from(&self.shared.agent);
        }
        event.time.get_or_insert_with(|| SystemTime::now().into());
        if event.encoded_len() > LONGEST_TEXT_BYTES {
            texts_of(&mut event).into_iter().for_each(shorten);
        }
        let (id, size) = (event.event_id.clone(), event.encoded_len());
        let ends = matches!(event.kind, Some(turn_event::Kind::TurnFinished(_)));
        {
            let mut state = self.shared.state();
            let full =
                state.events >= MOST_EVENTS || state.waiting_bytes + size > MOST_BYTES || size > MOST_EVENT_BYTES;
            if state.finishing || state.over || (full && !ends) {
                state.dropped += 1;
                return id;
            }
            state.finishing = ends;
            state.events += 1;
            state.waiting_bytes += size;
            state.waiting.push_back(event);
        }
        self.shared.tell();
        id
    }

    /// Ends the turn. What is on its way is still delivered, also after the sidecar was away.
    pub fn finish(&self, outcome: TaskOutcome, score: Option<f64>) {
        let kind = turn_event::Kind::TurnFinished(TurnFinished { outcome: outcome.into(), score });
        self.report(crate::event::of(kind));
    }

    /// The directives that have come since the last time, in their order, without waiting.
    pub fn take(&self) -> Vec<TurnDirective> {
        self.shared.state().directives.drain(..).collect()
    }

    /// The next directive, waiting for it; None when the turn is over.
    pub async fn next(&self) -> Option<TurnDirective> {
        let mut news = self.shared.news.subscribe();
        loop {
            news.borrow_and_update();
            {
                let mut state = self.shared.state();
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

    /// Why the sidecar has refused this turn, so that nothing more of it is reported; None unless it has.
    pub fn error(&self) -> Option<Status> {
        self.shared.state().refusal.clone()
    }

    /// How many events were not kept: there were too many, one was too large, or the turn is over.
    pub fn dropped(&self) -> usize {
        self.shared.state().dropped
    }

    /// Returns once everything reported is durable with the sidecar, or it has refused the turn.
    pub(crate) async fn delivered(&self) {
        let mut news = self.shared.news.subscribe();
        let done = |state: &State| state.over || (state.waiting.is_empty() && !state.finishing);
        while !done(&self.shared.state()) {
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    async fn wait<T>(&self, patience: Duration, there: impl Fn(&State) -> Option<T>) -> Option<T> {
        let (mut news, mut away) = (self.shared.news.subscribe(), self.shared.link.away());
        let waiting = async {
            loop {
                {
                    let state = self.shared.state();
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
        timeout(patience, waiting).await.unwrap_or_else(|_| there(&self.shared.state()))
    }

    /// Runs beside the agent until the turn is over: one stream after the other.
    pub(crate) async fn deliver(self, thinking: ThinkingServiceClient<Channel>, carried: Arc<Carried>) {
        tokio::select! {
            () = self.stream_by_stream(thinking, &carried) => {}
            () = self.shared.link.wait_closed() => {}
        }
        {
            let mut state = self.shared.state();
            state.over = true;
            state.dropped += state.waiting.len();
            state.waiting.clear();
        }
        self.shared.tell();
    }

    async fn stream_by_stream(&self, thinking: ThinkingServiceClient<Channel>, carried: &Carried) {
        let link = &self.shared.link;
        let mut failures = 0;
        loop {
            link.there().await;
            let Ok(permit) = link.streams.acquire().await else { break };
            let (outages, heard) = (link.outages(), self.shared.state().heard);
            let answer = self.stream(thinking.clone(), carried, outages).await;
            drop(permit);
            match answer {
                Ok(()) if self.shared.state().over => break,
                // Closed by the sidecar, because nothing was said for long: opened again when there is something.
                Ok(()) => self.something_to_send().await,
                Err(status) if is_final(&status) => {
                    tracing::warn!(turn_id = self.id(), %status, "the sidecar has refused a turn");
                    self.shared.state().refusal = Some(status);
                    break;
                }
                Err(status) => {
                    failures = if self.shared.state().heard > heard { 0 } else { failures + 1 };
                    link.lost(&status, outages);
                    sleep((FIRST_PAUSE * failures).min(LONGEST_PAUSE)).await;
                }
            }
        }
    }

    async fn something_to_send(&self) {
        let mut news = self.shared.news.subscribe();
        while self.shared.state().waiting.is_empty() && news.changed().await.is_ok() {}
    }

    /// Returns when the sidecar has closed the stream.
    async fn stream(
        &self,
        mut thinking: ThinkingServiceClient<Channel>,
        carried: &Carried,
        outages: u64,
    ) -> Result<(), Status> {
        let (sender, receiver) = mpsc::channel(1);
        // None once the turn's end was sent. Said, so that the stream just ends: one that is reset counts with the sidecar
        // for a while.
        let mut sender = Some(sender);
        let mut sending = Sending::default();
        let mut news = self.shared.news.subscribe();
        let mut request = Some(self.shared.first_request(carried, &mut sending));
        let opening = thinking.run_turn(carried.authorized(ReceiverStream::new(receiver))?);
        tokio::pin!(opening);
        // The answer to the call comes with the first response, so something has to be sent meanwhile.
        let mut responses = loop {
            tokio::select! {
                opened = &mut opening => break opened?.into_inner(),
                () = send(&mut sender, &mut request), if request.is_some() => {}
            }
        };
        loop {
            if request.is_none() {
                news.borrow_and_update();
                request = self.shared.next_request(carried, &mut sending);
            }
            tokio::select! {
                response = responses.message() => {
                    let Some(response) = response? else { break };
                    self.shared.link.answered(outages);
                    self.shared.state().heard += 1;
                    for directive in response.directives {
                        self.shared.hear(directive, &mut sending);
                    }
                    self.shared.tell();
                }
                () = send(&mut sender, &mut request), if request.is_some() && sender.is_some() => {}
                _ = news.changed(), if request.is_none() => {}
            }
        }
        let mut state = self.shared.state();
        state.over = state.finishing && state.waiting.is_empty();
        Ok(())
    }
}

/// Sends the request as soon as there is room for it, and lets go of the sender with the turn's end.
async fn send(sender: &mut Option<mpsc::Sender<RunTurnRequest>>, request: &mut Option<RunTurnRequest>) {
    let room = match sender {
        Some(open) => open.reserve().await.ok(),
        None => None,
    };
    let (Some(room), Some(request)) = (room, request.take()) else { return };
    let end = request.events.last().and_then(|event| event.kind.as_ref());
    let ends = matches!(end, Some(turn_event::Kind::TurnFinished(_)));
    room.send(request);
    if ends {
        *sender = None;
    }
}

/// The texts of an event that may be long. Names and ids are the sidecar's to refuse.
fn texts_of(event: &mut TurnEvent) -> Vec<&mut String> {
    use turn_event::Kind::*;
    match event.kind.as_mut() {
        Some(TurnStarted(started)) => {
            let mut texts = vec![&mut started.task, &mut started.base_prompt];
            texts.extend(started.messages.iter_mut().map(|message| &mut message.content));
            texts.extend(started.context.as_mut().map(|wanted| &mut wanted.task));
            texts
        }
        Some(UserMessage(said)) => vec![&mut said.text],
        Some(ModelReturned(returned)) => vec![&mut returned.text],
        Some(ToolCalled(called)) => vec![&mut called.arguments],
        Some(ToolReturned(returned)) => vec![&mut returned.content],
        Some(ToolFailed(failed)) => vec![&mut failed.error],
        Some(Uncertainty(doubt)) => vec![&mut doubt.detail],
        Some(ReflectionRecorded(recorded)) => {
            let mut texts = vec![&mut recorded.reflection];
            texts.extend(&mut recorded.suggested_action);
            texts
        }
        Some(ResponseDrafted(drafted)) => vec![&mut drafted.text],
        Some(ModelStarted(_) | TurnFinished(_)) | None => Vec::new(),
    }
}

fn shorten(text: &mut String) {
    if text.len() > LONGEST_TEXT_BYTES {
        let mut end = LONGEST_TEXT_BYTES - CUT.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(CUT);
    }
}

/// The sidecar has understood, and will say the same again.
fn is_final(status: &Status) -> bool {
    if status.code() == Code::ResourceExhausted {
        // A limit of the turn, such as its bytes. Where there will be room again the sidecar says when.
        let problem = problem_of(status);
        return !problem.reason.is_empty() && problem.retry_after.is_none();
    }
    matches!(
        status.code(),
        Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::PermissionDenied
            | Code::Unimplemented
    )
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn tell(&self) {
        self.news.send_modify(|number| *number += 1);
    }

    fn first_request(&self, carried: &Carried, sending: &mut Sending) -> RunTurnRequest {
        let resume = {
            let state = self.state();
            let begins =
                matches!(state.waiting.front(), Some(TurnEvent { kind: Some(turn_event::Kind::TurnStarted(_)), .. }));
            (!begins).then(|| TurnResume { turn_id: self.id.clone(), after_sequence: state.last_sequence })
        };
        RunTurnRequest {
            resume,
            ..self.next_request(carried, sending).unwrap_or_else(|| of_scope(carried, Vec::new()))
        }
    }

    /// What this stream has not sent yet, as far as it fits one request; None when that is nothing.
    fn next_request(&self, carried: &Carried, sending: &mut Sending) -> Option<RunTurnRequest> {
        let state = self.state();
        let mut events = Vec::new();
        let mut size = 0;
        for event in state.waiting.iter().skip(sending.sent - sending.durable) {
            size += event.encoded_len();
            if !events.is_empty() && (size > BATCH_BYTES || events.len() >= BATCH_EVENTS) {
                break;
            }
            events.push(event.clone());
        }
        sending.sent += events.len();
        (!events.is_empty()).then(|| of_scope(carried, events))
    }

    fn hear(&self, directive: TurnDirective, sending: &mut Sending) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.last_sequence = state.last_sequence.max(directive.sequence);
        match &directive.kind {
            Some(turn_directive::Kind::Ack(ack)) => {
                while sending.durable < ack.durable as usize {
                    let safe = state.waiting.pop_front();
                    state.waiting_bytes -= safe.map_or(0, |event| event.encoded_len());
                    sending.durable += 1;
                }
                return;
            }
            Some(turn_directive::Kind::Heartbeat(_) | turn_directive::Kind::Closing(_)) => return,
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

fn of_scope(carried: &Carried, events: Vec<TurnEvent>) -> RunTurnRequest {
    let mut request = RunTurnRequest { events, ..Default::default() };
    carried.scope(&mut request.tenant_id, &mut request.project_id);
    request
}
