use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt;

/// What the sidecar says about an error beyond its status code (google.rpc).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Problem {
    /// A name of `ErrorReason` without its prefix; empty for errors that do not come from the sidecar.
    pub reason: String,
    /// What belongs to the reason.
    pub metadata: HashMap<String, String>,
    /// What is wrong with the request, by field.
    pub fields: HashMap<String, String>,
    /// When to come again.
    pub retry_after: Option<Duration>,
}

/// What came with the error of a call; empty where nothing did.
pub fn problem_of(status: &Status) -> Problem {
    let details = status.get_error_details();
    let info = details.error_info();
    let violations = details.bad_request().map(|request| request.field_violations.as_slice()).unwrap_or_default();
    Problem {
        reason: info.map(|info| info.reason.clone()).unwrap_or_default(),
        metadata: info.map(|info| info.metadata.clone()).unwrap_or_default(),
        fields: violations.iter().map(|each| (each.field.clone(), each.description.clone())).collect(),
        retry_after: details.retry_info().and_then(|info| info.retry_delay),
    }
}

/// UNAVAILABLE for a call whose connection broke, which tonic calls UNKNOWN, or CANCELLED where it closed before the call
/// was sent; DEADLINE_EXCEEDED for one whose time was over before anything came, which tonic calls CANCELLED, too; any other
/// status as it is. What the sidecar itself says has no source.
pub(crate) fn unbroken(status: Status) -> Status {
    if status.source().is_none() {
        return status;
    }
    match (status.code(), cause_of(&status).as_str()) {
        (Code::Cancelled, "Timeout expired") => Status::deadline_exceeded("the deadline has passed"),
        (Code::Unknown, cause) | (Code::Cancelled, cause @ "connection closed") => {
            Status::unavailable(format!("{}: {cause}", status.message()))
        }
        _ => status,
    }
}

/// Whether a call that is UNAVAILABLE was answered: the sidecar's store or model is away, and it says so itself. One that
/// ends says so too, and is as good as away.
pub(crate) fn is_unable(status: &Status) -> bool {
    status.code() == Code::Unavailable && !["", "DRAINING"].contains(&problem_of(status).reason.as_str())
}

/// Whether a call that has failed was answered by the sidecar itself, which is there then and knows the token.
pub(crate) fn is_answer(status: &Status) -> bool {
    let is_away = matches!(status.code(), Code::Unavailable | Code::Unauthenticated);
    !is_away && !problem_of(status).reason.is_empty()
}

/// Whether nobody says that it passes, so that it is not tried for ever.
pub(crate) fn is_counted(status: &Status) -> bool {
    let passes = matches!(status.code(), Code::Unavailable | Code::Unauthenticated) || is_busy(status);
    !passes && problem_of(status).retry_after.is_none()
}

/// HTTP/2's word for: not begun with, come again. The sidecar still counts streams that have ended.
pub(crate) fn is_busy(status: &Status) -> bool {
    cause_of(status).contains("refused stream")
}

/// The status in the words of what stands behind it, and what the sidecar itself says as it is.
pub(crate) fn plain(status: &Status) -> Status {
    match status.source() {
        Some(_) => Status::new(status.code(), cause_of(status)),
        None => status.clone(),
    }
}

/// What stands behind a status that says no more than "transport error".
pub(crate) fn cause_of(status: &Status) -> String {
    let mut said = status.message().to_string();
    let mut cause = status.source();
    while let Some(error) = cause {
        said = error.to_string();
        cause = error.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic_types::ErrorDetails;

    /// With which it is back. Seen to fail when none is.
    #[test]
    fn an_error_of_the_sidecars_own_is_an_answer() {
        let own = |code| {
            let details = ErrorDetails::with_error_info("A_REASON", "sidemirror.dev", HashMap::new());
            Status::with_error_details(code, "", details)
        };
        for code in [Code::Internal, Code::ResourceExhausted, Code::PermissionDenied, Code::InvalidArgument] {
            assert!(is_answer(&own(code)), "{code}");
            assert!(!is_answer(&Status::new(code, "something between")), "{code}");
        }
        assert!(!is_answer(&own(Code::Unavailable)) && !is_answer(&own(Code::Unauthenticated)));
    }
}
