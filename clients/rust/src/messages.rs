//! Messages that most turns begin and end with, as short functions. More of their fields are set with `..` behind them:
//! `TurnStarted { session_id, ..started(task, level) }`.

use crate::v1::{ReportGoalRequest, ThinkLevel, ThinkingConfig, TurnStarted};

/// What a turn begins with: its task, and how deep to think. Without a level, the sidecar's default holds.
pub fn started(task: impl Into<String>, level: ThinkLevel) -> TurnStarted {
    let config = ThinkingConfig { level: level.into(), ..Default::default() };
    TurnStarted { task: task.into(), config: Some(config), ..Default::default() }
}

/// The goal that a turn worked towards.
pub fn goal(id: impl Into<String>, objective: impl Into<String>) -> ReportGoalRequest {
    ReportGoalRequest { goal_id: id.into(), objective: objective.into(), ..Default::default() }
}
