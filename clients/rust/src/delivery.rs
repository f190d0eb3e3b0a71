//! What goes on beside the agent: one stream after the other, until a turn is over; then what follows it.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use crate::calls::Carried;
use crate::link::{about, FIRST_PAUSE, LONGEST_PAUSE};
use crate::problem::{is_answer, is_busy, is_counted, problem_of, unbroken};
use crate::queue::{Sending, Shared};
use crate::v1::thinking_service_client::ThinkingServiceClient;
use crate::v1::{turn_directive, turn_event, RunTurnRequest, RunTurnResponse, TurnEvent, TurnResume};
use crate::warning::warning;

/// A request is kept well below the 4 MiB that the sidecar takes in a message.
const BATCH_EVENTS: usize = 500;
const BATCH_BYTES: usize = 1024 * 1024;
/// A turn is lost when so many streams in a row have failed without a word that it passes, and nothing more of it was durable
/// after them; a report after as many calls.
pub(crate) const MOST_TRIES: u32 = 10;

/// What the end of a stream means, and what the failure of a report.
#[derive(Debug, PartialEq)]
pub(crate) enum Trouble {
    /// The sidecar has understood, and will say the same again.
    Final,
    /// The sidecar is there, and takes it after this time.
    Later(Duration),
    /// The sidecar does not take the token, and may take the one that is in the file later.
    NotLetIn,
    /// The sidecar does not answer.
    Away,
}

impl Trouble {
    pub fn of(status: &Status) -> Self {
        match status.code() {
            // A limit of the turn, such as its bytes; or one of the moment, and then the sidecar says when it has passed.
            Code::ResourceExhausted => match problem_of(status) {
                problem if problem.retry_after.is_some() => Self::Later(problem.retry_after.unwrap_or_default()),
                problem if !problem.reason.is_empty() => Self::Final,
                _ => Self::Away,
            },
            Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::PermissionDenied
            | Code::Unimplemented => Self::Final,
            Code::Unauthenticated => Self::NotLetIn,
            // Somebody has given it up. A connection that breaks is UNAVAILABLE.
            Code::Cancelled => Self::Later(Duration::ZERO),
            // The sidecar says so; without its reason something between may.
            _ if is_answer(status) || is_busy(status) => Self::Later(Duration::ZERO),
            _ => Self::Away,
        }
    }
}

impl Shared {
    /// Runs beside the agent until the turn is over, or the client is closed.
    pub(crate) async fn deliver(self: Arc<Self>) {
        let refusal = tokio::select! {
            answer = self.deliver_all() => answer.err(),
            () = self.home.link.wait_closed() => None,
        };
        self.end(refusal);
    }

    /// The events, and then what follows them. Fails with the reason why the sidecar refuses the turn, where it does.
    async fn deliver_all(&self) -> Result<(), Status> {
        self.stream_by_stream().await?;
        self.deliver_reports().await;
        Ok(())
    }

    async fn stream_by_stream(&self) -> Result<(), Status> {
        let (link, turn_id, address) = (&self.home.link, &self.id, &self.home.address);
        let (mut failures, mut tries, mut told_later) = (0, 0, false);
        loop {
            link.there().await;
            let Some(room) = self.home.pool.room(|| link.outages()).await else { return Ok(()) };
            let outages = link.outages();
            let mut sending = Sending::default();
            let thinking = ThinkingServiceClient::new(room.channel.clone());
            let answer = tokio::select! {
                answer = self.stream(thinking, outages, &mut sending) => answer.map_err(unbroken),
                () = link.gone() => Err(Status::cancelled("given up, because the sidecar is away")),
            };
            drop(room);
            // Whatever has become of the stream behind the summary.
            let answer = if self.has_ended() { Ok(()) } else { answer };
            let counts = link.is_there() && answer.as_ref().is_err_and(is_counted);
            (failures, tries) = if sending.durable > 0 { (0, 0) } else { (failures + 1, tries + u32::from(counts)) };
            let mut pause = about((FIRST_PAUSE * failures).min(LONGEST_PAUSE));
            match answer {
                Ok(()) if self.is_durable() => return Ok(()),
                // Closed by the sidecar, because nothing was said for long: opened again when there is something.
                Ok(()) => self.something_to_send().await,
                Err(_) if !link.is_there() => {}
                Err(status) => match Trouble::of(&status) {
                    Trouble::Final => {
                        match status.code() {
                            Code::PermissionDenied => link.not_permitted(&status),
                            _ => warning!("the sidecar has refused a turn", turn_id, address, status),
                        }
                        return Err(status);
                    }
                    _ if tries >= MOST_TRIES => {
                        warning!("a turn is lost, the sidecar has failed with it", turn_id, tries, address, status);
                        return Err(status);
                    }
                    Trouble::Later(wait) => {
                        link.heard();
                        if !wait.is_zero() && !std::mem::replace(&mut told_later, true) {
                            warning!("the sidecar refuses a turn for now", turn_id, address, status);
                        }
                        pause = pause.max(wait);
                    }
                    Trouble::NotLetIn => link.refused(&status, outages),
                    Trouble::Away => link.lost(&status, outages),
                },
            }
            sleep(pause).await;
        }
    }

    /// Whether the summary has come, which is the last that is said of a turn, and everything is durable.
    fn has_ended(&self) -> bool {
        let state = self.state();
        state.summary.is_some() && state.waiting.is_empty()
    }

    /// Whether the whole turn is, with its end.
    fn is_durable(&self) -> bool {
        let state = self.state();
        state.finishing && state.waiting.is_empty()
    }

    async fn something_to_send(&self) {
        let mut news = self.news.subscribe();
        while self.state().waiting.is_empty() {
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns when the sidecar has closed the stream.
    async fn stream(
        &self,
        mut thinking: ThinkingServiceClient<Channel>,
        outages: u64,
        sending: &mut Sending,
    ) -> Result<(), Status> {
        let (link, carried) = (&self.home.link, &self.home.carried);
        let expected = link.expect();
        self.begin_stream();
        let (sender, receiver) = mpsc::channel(1);
        // None once the turn's end was sent. Said, so that the stream just ends: one that is reset counts with the sidecar
        // for a while.
        let mut sender = Some(sender);
        let mut news = self.news.subscribe();
        let mut request = Some(self.first_request(carried, sending));
        expected.sent();
        let opening = thinking.run_turn(carried.authorized(ReceiverStream::new(receiver)).await?);
        tokio::pin!(opening);
        // The answer to the call comes with the first response, so what there is has to be sent meanwhile.
        let mut responses: Option<Streaming<RunTurnResponse>> = None;
        loop {
            if request.is_none() {
                news.borrow_and_update();
                request = self.next_request(carried, sending);
                if request.is_some() {
                    expected.sent();
                }
            }
            tokio::select! {
                opened = &mut opening, if responses.is_none() => responses = Some(opened?.into_inner()),
                response = next(&mut responses), if responses.is_some() => {
                    let Some(response) = response? else { return Ok(()) };
                    link.answered(outages);
                    for directive in response.directives {
                        if let Some(turn_directive::Kind::Ack(ack)) = &directive.kind {
                            if self.acknowledged(ack, sending) {
                                expected.answered();
                            }
                        }
                        self.hear(directive);
                    }
                    self.tell();
                }
                () = send(&mut sender, &mut request), if request.is_some() && sender.is_some() => {}
                _ = news.changed(), if request.is_none() => {}
            }
        }
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
}

/// The next response of a stream that is open.
async fn next(responses: &mut Option<Streaming<RunTurnResponse>>) -> Result<Option<RunTurnResponse>, Status> {
    match responses {
        Some(responses) => responses.message().await,
        None => std::future::pending().await,
    }
}

/// Sends the request as soon as there is room for it, and lets go of the sender with the turn's end, or when nobody reads
/// what is sent any more.
async fn send(sender: &mut Option<mpsc::Sender<RunTurnRequest>>, request: &mut Option<RunTurnRequest>) {
    let Some(open) = sender else { return };
    let Ok(room) = open.reserve().await else {
        *sender = None;
        return;
    };
    let Some(request) = request.take() else { return };
    let end = request.events.last().and_then(|event| event.kind.as_ref());
    let ends = matches!(end, Some(turn_event::Kind::TurnFinished(_)));
    room.send(request);
    if ends {
        *sender = None;
    }
}

fn of_scope(carried: &Carried, events: Vec<TurnEvent>) -> RunTurnRequest {
    let mut request = RunTurnRequest { events, ..Default::default() };
    carried.scope(&mut request.tenant_id, &mut request.project_id);
    request
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use tonic_types::{ErrorDetails, StatusExt};

    fn limit(details: ErrorDetails) -> Status {
        Status::with_error_details(Code::ResourceExhausted, "a limit", details)
    }

    /// A limit that passes is not the sidecar's absence, of which the agent would be told, and neither is its failure. Seen
    /// to fail when one of them is.
    #[test]
    fn what_the_end_of_a_stream_means() {
        let mut passes = ErrorDetails::with_error_info("LIMIT_REACHED", "sidemirror.dev", HashMap::new());
        assert_eq!(Trouble::of(&limit(passes.clone())), Trouble::Final);
        passes.set_retry_info(Some(Duration::from_secs(2)));
        assert_eq!(Trouble::of(&limit(passes)), Trouble::Later(Duration::from_secs(2)));
        assert_eq!(Trouble::of(&limit(ErrorDetails::new())), Trouble::Away);
        let failed = ErrorDetails::with_error_info("INTERNAL", "sidemirror.dev", HashMap::new());
        assert_eq!(
            Trouble::of(&Status::with_error_details(Code::Internal, "", failed)),
            Trouble::Later(Duration::ZERO)
        );
        assert_eq!(Trouble::of(&Status::internal("something between")), Trouble::Away);
        assert_eq!(Trouble::of(&Status::cancelled("given up")), Trouble::Later(Duration::ZERO));
        assert_eq!(Trouble::of(&Status::not_found("no such turn")), Trouble::Final);
        assert_eq!(Trouble::of(&Status::unavailable("going away")), Trouble::Away);
        assert_eq!(Trouble::of(&Status::unauthenticated("another token, soon")), Trouble::NotLetIn);
    }
}
