//! The longest texts and names that the sidecar takes, and what becomes of longer ones.

use crate::v1::{turn_event, ReportGoalRequest, TurnEvent};

/// Of a longer text the beginning is sent.
pub(crate) const LONGEST_TEXT_BYTES: usize = 256 * 1024;
const CUT: &str = " … [cut]";
/// Of a tool's name, which it does not take empty.
const LONGEST_NAME_CHARS: usize = 256;
const UNNAMED: &str = "unnamed";

/// Gives a call a tool's name that the sidecar takes: models call tools without one, too.
pub(crate) fn name_tool(event: &mut TurnEvent) {
    let Some(turn_event::Kind::ToolCalled(called)) = &mut event.kind else { return };
    if called.name.is_empty() {
        called.name = UNNAMED.into();
    } else if let Some((end, _)) = called.name.char_indices().nth(LONGEST_NAME_CHARS) {
        called.name.truncate(end);
    }
}

/// Cuts the texts that the sidecar would refuse.
pub(crate) fn cut(event: &mut TurnEvent) {
    texts_of(event).into_iter().for_each(shorten);
}

/// The same for a goal.
pub(crate) fn cut_goal(goal: &mut ReportGoalRequest) {
    let of_tasks = goal.tasks.iter_mut().flat_map(|task| [&mut task.output_summary, &mut task.error]);
    [&mut goal.objective, &mut goal.error].into_iter().chain(of_tasks).for_each(shorten);
}

/// The texts of an event that may be long. Ids, and names but those of tools, are the sidecar's to refuse.
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
        Some(ModelStarted(_) | TurnFinished(_) | SessionNamed(_)) | None => Vec::new(),
    }
}

/// Cuts a text on a character boundary.
pub(crate) fn shorten(text: &mut String) {
    if text.len() > LONGEST_TEXT_BYTES {
        let mut end = LONGEST_TEXT_BYTES - CUT.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(CUT);
    }
}
