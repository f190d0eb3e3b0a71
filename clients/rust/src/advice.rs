//! What a model is shown of what the sidecar says.

use std::borrow::Borrow;

use crate::v1::{turn_directive::Kind, ContextBlock, ResultStatus, TurnDirective};

/// The one text for a model: a paragraph for each nudge, recovery, reflection, block of lessons and request to revise,
/// separated by empty lines; empty without any.
pub fn advice_text<D: Borrow<TurnDirective>>(directives: impl IntoIterator<Item = D>) -> String {
    let paragraphs: Vec<_> = directives.into_iter().flat_map(|each| paragraphs(each.borrow())).collect();
    paragraphs.join("\n\n")
}

/// The text for a model of what [`recall`](crate::Turn::recall) gave; empty without lessons.
pub fn lessons_text(lessons: Option<&ContextBlock>) -> String {
    lessons.map(|block| block.text.clone()).unwrap_or_default()
}

/// Whether there is something in it for a model.
pub(crate) fn is_advice(directive: &TurnDirective) -> bool {
    !paragraphs(directive).is_empty()
}

fn paragraphs(directive: &TurnDirective) -> Vec<String> {
    match &directive.kind {
        Some(Kind::Nudge(nudge)) => vec![format!("[nudge] {}", nudge.message)],
        Some(Kind::Advice(advice)) => {
            let text = advice.block.as_ref().map(|block| block.text.clone());
            text.filter(|text| !text.is_empty()).into_iter().collect()
        }
        Some(Kind::Reflection(reflection)) => {
            let mut found = Vec::new();
            if reflection.status == i32::from(ResultStatus::Ok) {
                let action = reflection.suggested_action.as_deref().unwrap_or_default();
                let said = format!("{} {action}", reflection.reflection);
                if !said.trim().is_empty() {
                    found.push(format!("[reflection] {}", said.trim()));
                }
            }
            let lessons = reflection.lessons.as_ref().map(|block| block.text.clone());
            found.extend(lessons.filter(|text| !text.is_empty()));
            found
        }
        Some(Kind::Critique(critique)) if critique.should_revise => {
            vec![format!("[critique] {}", critique.revision_prompt)]
        }
        _ => Vec::new(),
    }
}
