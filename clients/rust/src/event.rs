//! Events that most agents report, as short functions; every other is a [`TurnEvent`] with its `kind`.

use crate::v1::{turn_event::Kind, ResponseDrafted, ToolCalled, ToolFailed, ToolReturned, TurnEvent, UserMessage};

/// The event of this kind.
pub fn of(kind: Kind) -> TurnEvent {
    TurnEvent { kind: Some(kind), ..Default::default() }
}

/// A tool was called with these arguments: a text, or JSON such as a `serde_json::Value`.
pub fn tool_called(name: impl Into<String>, arguments: impl ToString) -> TurnEvent {
    of(Kind::ToolCalled(ToolCalled { name: name.into(), arguments: arguments.to_string(), ..Default::default() }))
}

/// A tool has answered; `is_error`: it reported a failure.
pub fn tool_returned(content: impl ToString, is_error: bool) -> TurnEvent {
    of(Kind::ToolReturned(ToolReturned { content: content.to_string(), is_error, ..Default::default() }))
}

/// A tool has answered, and is known to have worked, as by an exit status of 0: the text is never taken for a failure. An
/// `Ok` is not enough, since tools return texts of errors too.
pub fn tool_worked(content: impl ToString) -> TurnEvent {
    of(Kind::ToolReturned(ToolReturned { content: content.to_string(), has_worked: true, ..Default::default() }))
}

/// A tool has answered: with what, whose text may still say that it has failed, or with which failure.
pub fn tool_result(result: &Result<impl ToString, impl ToString>) -> TurnEvent {
    match result {
        Ok(content) => tool_returned(content.to_string(), false),
        Err(error) => tool_returned(error.to_string(), true),
    }
}

/// The tool that was called last never returned.
pub fn tool_failed(error: impl ToString) -> TurnEvent {
    of(Kind::ToolFailed(ToolFailed { error: error.to_string(), ..Default::default() }))
}

/// The event as one of a call that overlaps with others. Without the call's id, what returns belongs to the last call that is
/// still open. Events that are of no call stay as they are.
pub fn of_call(call_id: impl Into<String>, mut event: TurnEvent) -> TurnEvent {
    match &mut event.kind {
        Some(Kind::ToolCalled(called)) => called.call_id = call_id.into(),
        Some(Kind::ToolReturned(returned)) => returned.call_id = call_id.into(),
        Some(Kind::ToolFailed(failed)) => failed.call_id = call_id.into(),
        _ => {}
    }
    event
}

/// The user said something.
pub fn user_message(text: impl Into<String>) -> TurnEvent {
    of(Kind::UserMessage(UserMessage { text: text.into() }))
}

/// An answer is ready to be sent.
pub fn response_drafted(text: impl Into<String>) -> TurnEvent {
    of(Kind::ResponseDrafted(ResponseDrafted { text: text.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen to fail when a failure counts as an answer, and when an id is left out of one kind.
    #[test]
    fn a_result_is_an_answer_or_a_failure_and_belongs_to_its_call() {
        let returned = |content: &str, is_error| {
            let call_id = "c".into();
            of(Kind::ToolReturned(ToolReturned { call_id, content: content.into(), is_error, ..Default::default() }))
        };
        assert_eq!(of_call("c", tool_result(&Ok::<_, String>(41))), returned("41", false));
        assert_eq!(of_call("c", tool_result(&Err::<u8, _>("no such table"))), returned("no such table", true));
        let arguments = serde_json::json!({ "id": 1 });
        let text = r#"{"id":1}"#.into();
        let called = ToolCalled { call_id: "c".into(), name: "t".into(), arguments: text, ..Default::default() };
        assert_eq!(of_call("c", tool_called("t", &arguments)), of(Kind::ToolCalled(called)));
        let failed = ToolFailed { call_id: "c".into(), error: "gone".into() };
        assert_eq!(of_call("c", tool_failed("gone")), of(Kind::ToolFailed(failed)));
        assert_eq!(of_call("c", user_message("hello")), user_message("hello"));
    }
}
