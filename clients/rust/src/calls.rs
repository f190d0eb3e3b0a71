//! What every call carries: a deadline, the token, the scope, and for writes a request_id.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_stream::{Stream, StreamExt};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Code, Request, Status, Streaming};

use crate::connection::{Connection, Ends};
use crate::link::{about, FIRST_PAUSE, LONGEST_PAUSE};
use crate::problem::{is_busy, unbroken};
use crate::v1::{
    critique_service_client::CritiqueServiceClient, goal_reflection_service_client::GoalReflectionServiceClient,
    reflective_memory_service_client::ReflectiveMemoryServiceClient, sidecar_service_client::SidecarServiceClient,
    thinking_service_client::ThinkingServiceClient, *,
};

/// Calls that ask a language model, which the sidecar gives up to 30 seconds an attempt.
const MODEL_DEADLINE: Duration = Duration::from_secs(60);
/// Streams that do one piece of work and end.
const WORK_DEADLINE: Duration = Duration::from_secs(300);
/// A longer one, which clocks and gRPC's header may have no room for, is this: a year.
const LONGEST_DEADLINE: Duration = Duration::from_secs(365 * 86_400);
const ATTEMPTS: u32 = 4;
/// Unary calls at once on their connection, of whose 100 streams some are left to streaming calls. Others wait.
const MOST_CALLS: usize = 90;

/// What the message begins with that says why the token's file gives none.
pub(crate) const TOKEN_UNUSABLE: &str = "the token's file ";

/// The header's value. UNAUTHENTICATED where the file gives none that can be sent, in words that do not quote it.
async fn authorization(path: &Path) -> Result<MetadataValue<Ascii>, Status> {
    let unusable = |why: &dyn std::fmt::Display| {
        Status::unauthenticated(format!("{TOKEN_UNUSABLE}{} (SIDEMIRROR_TOKEN_FILE): {why}", path.display()))
    };
    let held = tokio::fs::read_to_string(path).await.map_err(|error| unusable(&error))?;
    let token = held.trim();
    let not_sendable = "it holds what cannot be sent: a token is one line of printable ASCII";
    if !token.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(unusable(&not_sendable));
    }
    MetadataValue::try_from(format!("Bearer {token}")).map_err(|_| unusable(&not_sendable))
}

/// What is added to the calls of one client.
#[derive(Debug)]
pub(crate) struct Carried {
    deadline: Duration,
    token_file: Option<PathBuf>,
    tenant_id: String,
    project_id: String,
    room: Semaphore,
}

impl Carried {
    pub fn new(deadline: Duration, token_file: Option<PathBuf>, tenant_id: String, project_id: String) -> Self {
        let deadline = deadline.min(LONGEST_DEADLINE);
        Self { deadline, token_file, tenant_id, project_id, room: Semaphore::new(MOST_CALLS) }
    }

    /// The request with the token, which is read for every call: whoever issues tokens replaces the file.
    pub async fn authorized<T>(&self, message: T) -> Result<Request<T>, Status> {
        let mut request = Request::new(message);
        if let Some(path) = &self.token_file {
            request.metadata_mut().insert("authorization", authorization(path).await?);
        }
        Ok(request)
    }

    pub fn scope(&self, tenant_id: &mut String, project_id: &mut String) {
        if tenant_id.is_empty() {
            tenant_id.clone_from(&self.tenant_id);
        }
        if project_id.is_empty() {
            project_id.clone_from(&self.project_id);
        }
    }
}

fn name(request_id: &mut String) {
    if request_id.is_empty() {
        *request_id = uuid::Uuid::new_v4().to_string();
    }
}

/// Ends a streaming call after this time.
fn bound<T>(request: &mut Request<T>, deadline: Duration) {
    request.set_timeout(deadline);
    request.extensions_mut().insert(Ends(Instant::now() + deadline));
}

/// Tries again while the sidecar is away, for about a second, and while it is busy, until the deadline: every unary call is a read, or a write that its request_id
/// makes safe to repeat.
async fn patiently<T, F>(deadline: Duration, mut attempt: impl FnMut(Duration) -> F) -> Result<T, Status>
where
    F: std::future::Future<Output = Result<T, Status>>,
{
    let ends = Instant::now() + deadline;
    for number in 0.. {
        let left = ends.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let answer = tokio::time::timeout(left, attempt(left))
            .await
            .unwrap_or_else(|_| Err(Status::deadline_exceeded("the deadline has passed")))
            .map_err(unbroken);
        let pause = about((FIRST_PAUSE * 2u32.pow(number.min(4))).min(LONGEST_PAUSE));
        match answer {
            Err(status)
                if status.code() == Code::Unavailable
                    && (number + 1 < ATTEMPTS || is_busy(&status))
                    && Instant::now() + pause < ends =>
            {
                tokio::time::sleep(pause).await;
            }
            Err(status) if status.code() == Code::Cancelled && Instant::now() >= ends => {
                return Err(Status::deadline_exceeded(status.message()));
            }
            answer => return answer,
        }
    }
    unreachable!("the loop ends by returning")
}

macro_rules! service {
    ($(#[$doc:meta])* $service:ident, $client:ident { $($kind:ident $method:ident($request:ident) -> $response:ident;)* }) => {
        $(#[$doc])*
        ///
        /// A method takes a request and returns the answer, as the contract says. `with_deadline` gives calls another
        /// deadline than the client's.
        #[derive(Debug, Clone)]
        pub struct $service {
            client: $client<Connection>,
            carried: Arc<Carried>,
            deadline: Option<Duration>,
        }

        impl $service {
            pub(crate) fn new(connection: Connection, carried: Arc<Carried>) -> Self {
                Self { client: $client::new(connection), carried, deadline: None }
            }

            /// The same service, whose calls end after this time.
            pub fn with_deadline(&self, deadline: Duration) -> Self {
                Self { deadline: Some(deadline.min(LONGEST_DEADLINE)), ..self.clone() }
            }

            $(service!(@$kind $method, $request, $response);)*
        }
    };
    (@read $method:ident, $request:ident, $response:ident) => {
        #[doc = concat!("A call that changes nothing: [`", stringify!($request), "`].")]
        pub async fn $method(&self, mut request: $request) -> Result<$response, Status> {
            self.carried.scope(&mut request.tenant_id, &mut request.project_id);
            service!(@unary self, $method, request, self.carried.deadline)
        }
    };
    (@judge $method:ident, $request:ident, $response:ident) => {
        #[doc = concat!("A call that changes nothing and asks a model: [`", stringify!($request), "`].")]
        pub async fn $method(&self, mut request: $request) -> Result<$response, Status> {
            self.carried.scope(&mut request.tenant_id, &mut request.project_id);
            service!(@unary self, $method, request, self.carried.deadline.max(MODEL_DEADLINE))
        }
    };
    (@write $method:ident, $request:ident, $response:ident) => {
        #[doc = concat!("A write, named by its request_id: [`", stringify!($request), "`].")]
        pub async fn $method(&self, mut request: $request) -> Result<$response, Status> {
            self.carried.scope(&mut request.tenant_id, &mut request.project_id);
            name(&mut request.request_id);
            service!(@unary self, $method, request, self.carried.deadline)
        }
    };
    (@ask $method:ident, $request:ident, $response:ident) => {
        #[doc = concat!("A write that asks a model, named by its request_id: [`", stringify!($request), "`].")]
        pub async fn $method(&self, mut request: $request) -> Result<$response, Status> {
            self.carried.scope(&mut request.tenant_id, &mut request.project_id);
            name(&mut request.request_id);
            service!(@unary self, $method, request, self.carried.deadline.max(MODEL_DEADLINE))
        }
    };
    (@work $method:ident, $request:ident, $response:ident) => {
        #[doc = concat!("A stream of steps, ended by its result: [`", stringify!($request), "`].")]
        pub async fn $method(&self, mut request: $request) -> Result<Streaming<$response>, Status> {
            self.carried.scope(&mut request.tenant_id, &mut request.project_id);
            name(&mut request.request_id);
            let mut given = self.carried.authorized(request).await?;
            bound(&mut given, self.deadline.unwrap_or(WORK_DEADLINE));
            Ok(self.client.clone().$method(given).await.map_err(unbroken)?.into_inner())
        }
    };
    (@watch $method:ident, $request:ident, $response:ident) => {
        #[doc = concat!("A stream that goes on for as long as there is something to say: [`", stringify!($request), "`].")]
        pub async fn $method(&self, mut request: $request) -> Result<Streaming<$response>, Status> {
            self.carried.scope(&mut request.tenant_id, &mut request.project_id);
            let mut given = self.carried.authorized(request).await?;
            if let Some(deadline) = self.deadline {
                bound(&mut given, deadline);
            }
            Ok(self.client.clone().$method(given).await.map_err(unbroken)?.into_inner())
        }
    };
    (@read_stream $method:ident, $request:ident, $response:ident) => {
        #[doc = concat!("A stream that changes nothing and ends: [`", stringify!($request), "`].")]
        pub async fn $method(&self, mut request: $request) -> Result<Streaming<$response>, Status> {
            self.carried.scope(&mut request.tenant_id, &mut request.project_id);
            let mut given = self.carried.authorized(request).await?;
            bound(&mut given, self.deadline.unwrap_or(WORK_DEADLINE));
            Ok(self.client.clone().$method(given).await.map_err(unbroken)?.into_inner())
        }
    };
    (@send_stream $method:ident, $request:ident, $response:ident) => {
        #[doc = concat!("A stream of requests with one answer: [`", stringify!($request), "`].")]
        pub async fn $method<S>(&self, requests: S) -> Result<$response, Status>
        where
            S: Stream<Item = $request> + Send + 'static,
        {
            let carried = self.carried.clone();
            let mut given = self.carried.authorized(requests.map(move |mut request| {
                carried.scope(&mut request.tenant_id, &mut request.project_id);
                request
            })).await?;
            bound(&mut given, self.deadline.unwrap_or(WORK_DEADLINE));
            Ok(self.client.clone().$method(given).await.map_err(unbroken)?.into_inner())
        }
    };
    (@unary $self:ident, $method:ident, $request:ident, $deadline:expr) => {
        patiently($self.deadline.unwrap_or($deadline), |left| {
            let (mut client, request, carried) = ($self.client.clone(), $request.clone(), &$self.carried);
            async move {
                let _room = carried.room.acquire().await;
                let mut given = carried.authorized(request).await?;
                given.set_timeout(left);
                Ok(client.$method(given).await?.into_inner())
            }
        })
        .await
    };
}

service! {
    /// ThinkingService: sessions, turns and reflections.
    Thinking, ThinkingServiceClient {
        write create_session(CreateSessionRequest) -> CreateSessionResponse;
        read get_session(GetSessionRequest) -> GetSessionResponse;
        write update_session(UpdateSessionRequest) -> UpdateSessionResponse;
        read list_sessions(ListSessionsRequest) -> ListSessionsResponse;
        write delete_session(DeleteSessionRequest) -> DeleteSessionResponse;
        read get_thinking_prompt(GetThinkingPromptRequest) -> GetThinkingPromptResponse;
        write start_turn(StartTurnRequest) -> StartTurnResponse;
        write report_events(ReportEventsRequest) -> ReportEventsResponse;
        write finish_turn(FinishTurnRequest) -> FinishTurnResponse;
        read get_turn(GetTurnRequest) -> GetTurnResponse;
        watch watch_turns(WatchTurnsRequest) -> WatchTurnsResponse;
        read list_turns(ListTurnsRequest) -> ListTurnsResponse;
        read should_reflect(ShouldReflectRequest) -> ShouldReflectResponse;
        ask reflect(ReflectRequest) -> ReflectResponse;
        read get_reflection_prompt(GetReflectionPromptRequest) -> GetReflectionPromptResponse;
    }
}

service! {
    /// CritiqueService: whether an answer holds up.
    Critique, CritiqueServiceClient {
        read should_critique(ShouldCritiqueRequest) -> ShouldCritiqueResponse;
        ask critique(CritiqueRequest) -> CritiqueResponse;
        work revise(ReviseRequest) -> ReviseResponse;
        judge evaluate_trace(EvaluateTraceRequest) -> EvaluateTraceResponse;
        work debate(DebateRequest) -> DebateResponse;
        read list_critiques(ListCritiquesRequest) -> ListCritiquesResponse;
        read get_critique_statistics(GetCritiqueStatisticsRequest) -> GetCritiqueStatisticsResponse;
        write report_critique_outcome(ReportCritiqueOutcomeRequest) -> ReportCritiqueOutcomeResponse;
    }
}

service! {
    /// GoalReflectionService: what finished goals taught.
    Goals, GoalReflectionServiceClient {
        write report_goal(ReportGoalRequest) -> ReportGoalResponse;
        read list_goal_reports(ListGoalReportsRequest) -> ListGoalReportsResponse;
        write retry_goal_report(RetryGoalReportRequest) -> RetryGoalReportResponse;
        read get_goal_reflections(GetGoalReflectionsRequest) -> GetGoalReflectionsResponse;
        read list_recent_goals(ListRecentGoalsRequest) -> ListRecentGoalsResponse;
        write delete_goal_reflections(DeleteGoalReflectionsRequest) -> DeleteGoalReflectionsResponse;
        write build_goal_context(BuildGoalContextRequest) -> BuildGoalContextResponse;
        watch watch_goal_reflections(WatchGoalReflectionsRequest) -> WatchGoalReflectionsResponse;
    }
}

service! {
    /// ReflectiveMemoryService: what was learned, and what of it fits here.
    Memory, ReflectiveMemoryServiceClient {
        ask generate_reflection(GenerateReflectionRequest) -> GenerateReflectionResponse;
        write store_reflection(StoreReflectionRequest) -> StoreReflectionResponse;
        read get_reflection(GetReflectionRequest) -> GetReflectionResponse;
        read list_reflections(ListReflectionsRequest) -> ListReflectionsResponse;
        write update_reflection(UpdateReflectionRequest) -> UpdateReflectionResponse;
        write delete_reflection(DeleteReflectionRequest) -> DeleteReflectionResponse;
        read list_reflection_versions(ListReflectionVersionsRequest) -> ListReflectionVersionsResponse;
        write review_reflection(ReviewReflectionRequest) -> ReviewReflectionResponse;
        read query_reflections(QueryReflectionsRequest) -> QueryReflectionsResponse;
        write build_memory_context(BuildMemoryContextRequest) -> BuildMemoryContextResponse;
        write report_outcome(ReportOutcomeRequest) -> ReportOutcomeResponse;
        read list_clusters(ListClustersRequest) -> ListClustersResponse;
        write link_reflections(LinkReflectionsRequest) -> LinkReflectionsResponse;
        read explore_graph(ExploreGraphRequest) -> ExploreGraphResponse;
        write find_recoveries(FindRecoveriesRequest) -> FindRecoveriesResponse;
        read list_receipts(ListReceiptsRequest) -> ListReceiptsResponse;
        read list_recoveries(ListRecoveriesRequest) -> ListRecoveriesResponse;
        read get_lesson_statistics(GetLessonStatisticsRequest) -> GetLessonStatisticsResponse;
        work dream(DreamRequest) -> DreamResponse;
        read list_dreams(ListDreamsRequest) -> ListDreamsResponse;
        read list_prunings(ListPruningsRequest) -> ListPruningsResponse;
        read_stream export_reflections(ExportReflectionsRequest) -> ExportReflectionsResponse;
        send_stream import_reflections(ImportReflectionsRequest) -> ImportReflectionsResponse;
    }
}

service! {
    /// SidecarService: what the sidecar says of itself, the erasure of what it stores, and policies.
    Sidecar, SidecarServiceClient {
        read get_server_info(GetServerInfoRequest) -> GetServerInfoResponse;
        write erase(EraseRequest) -> EraseResponse;
        read list_tombstones(ListTombstonesRequest) -> ListTombstonesResponse;
        read get_policy(GetPolicyRequest) -> GetPolicyResponse;
        write set_policy(SetPolicyRequest) -> SetPolicyResponse;
    }
}
