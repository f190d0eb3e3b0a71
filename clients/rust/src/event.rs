//! Events that most agents report, as short functions; every other is a [`TurnEvent`] with its `kind`.

use crate::v1::{turn_event::Kind, ResponseDrafted, ToolCalled, ToolFailed, ToolReturned, TurnEvent, UserMessage};

/// The event of this kind.
pub fn of(kind: Kind) -> TurnEvent {
    TurnEvent { kind: Some(kind), ..Default::default() }
}

/// A tool was called.
pub fn tool_called(name: impl Into<String>, arguments: impl Into<String>) -> TurnEvent {
    of(Kind::ToolCalled(ToolCalled { name: name.into(), arguments: arguments.into(), ..Default::default() }))
}

/// A tool has answered; `is_error`: it reported a failure.
pub fn tool_returned(content: impl Into<String>, is_error: bool) -> TurnEvent {
    of(Kind::ToolReturned(ToolReturned { content: content.into(), is_error, ..Default::default() }))
}

/// A tool has answered: with what, or with which failure.
pub fn tool_result(result: &Result<impl ToString, impl ToString>) -> TurnEvent {
    match result {
        Ok(content) => tool_returned(content.to_string(), false),
        Err(error) => tool_returned(error.to_string(), true),
    }
}

/// The tool that was called last never returned.
pub fn tool_failed(error: impl Into<String>) -> TurnEvent {
    of(Kind::ToolFailed(ToolFailed { error: error.into(), ..Default::default() }))
}

/// The user said something.
pub fn user_message(text: impl Into<String>) -> TurnEvent {
    of(Kind::UserMessage(UserMessage { text: text.into() }))
}

/// An answer is ready to be sent.
pub fn response_drafted(text: impl Into<String>) -> TurnEvent {
    of(Kind::ResponseDrafted(ResponseDrafted { text: text.into() }))
}
