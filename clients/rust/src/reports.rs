//! What follows a turn once it is durable: its outcome for every block of lessons that it was given, and its goal.

use std::time::Duration;

use prost::Message;
use tokio::time::sleep;
use tonic::{Code, Status};

use crate::delivery::{Trouble, MOST_TRIES};
use crate::link::{about, FIRST_PAUSE};
use crate::problem::{is_counted, is_unable, problem_of, unbroken};
use crate::queue::Shared;
use crate::texts::cut_goal;
use crate::v1::{GoalState, ReportGoalRequest, ReportOutcomeRequest, TaskOutcome};
use crate::warning::warning;

/// The longest that a report may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// One call, under a request_id that stays the same when it is sent again.
#[derive(Debug, Clone)]
pub(crate) enum Report {
    Outcome(ReportOutcomeRequest),
    Goal(ReportGoalRequest),
}

impl Report {
    pub fn of_outcome(receipt_id: String, outcome: TaskOutcome, score: Option<f64>) -> Self {
        let (request_id, outcome) = (uuid::Uuid::new_v4().to_string(), outcome.into());
        Self::Outcome(ReportOutcomeRequest { request_id, receipt_id, outcome, score, ..Default::default() })
    }

    /// The goal's state follows from the outcome unless it says its own. The turn's calls are the tasks of a goal that
    /// has none.
    pub fn of_goal(mut goal: ReportGoalRequest, outcome: TaskOutcome, turn_id: &str) -> Self {
        goal.turn_id = turn_id.into();
        if goal.request_id.is_empty() {
            goal.request_id = uuid::Uuid::new_v4().to_string();
        }
        if goal.state == i32::from(GoalState::Unspecified) {
            let completed = outcome == TaskOutcome::Success;
            goal.state = if completed { GoalState::Completed } else { GoalState::Failed }.into();
        }
        cut_goal(&mut goal);
        Self::Goal(goal)
    }

    pub fn is_goal(&self) -> bool {
        matches!(self, Self::Goal(_))
    }

    /// In bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Outcome(request) => request.encoded_len(),
            Self::Goal(request) => request.encoded_len(),
        }
    }
}

impl Shared {
    /// Returns once nothing is left to report.
    pub(crate) async fn deliver_reports(&self) {
        while let Some(report) = self.next_report() {
            let dropped = self.deliver_report(&report).await;
            self.forget_report(dropped);
        }
    }

    /// Whether it is not taken.
    async fn deliver_report(&self, report: &Report) -> bool {
        let (link, turn_id) = (&self.home.link, &self.id);
        let mut tries = 0;
        loop {
            link.there().await;
            let outages = link.outages();
            let expected = link.expect();
            expected.sent();
            let answer = tokio::select! {
                answer = self.send(report) => answer,
                () = link.gone() => Err(Status::cancelled("the sidecar is away")),
            };
            let Err(status) = answer else {
                link.answered(outages);
                return false;
            };
            let status = unbroken(status);
            let is_late = status.code() == Code::DeadlineExceeded;
            tries += u32::from(link.is_there() && is_counted(&status) && !is_late);
            let mut wait = about(FIRST_PAUSE);
            match Trouble::of(&status) {
                trouble if trouble == Trouble::Final || tries >= MOST_TRIES => {
                    let what = if report.is_goal() { "goal" } else { "outcome" };
                    warning!("the sidecar has refused a report of a turn", turn_id, what, status);
                    return true;
                }
                _ if is_late => {}
                // Its store is away: it takes the report later.
                _ if is_unable(&status) => {
                    link.heard();
                    wait = wait.max(problem_of(&status).retry_after.unwrap_or_default());
                }
                Trouble::Later(pause) => wait = wait.max(pause),
                Trouble::NotLetIn => link.refused(&status, outages),
                _ => link.lost(&status, outages),
            }
            sleep(wait).await;
        }
    }

    async fn send(&self, report: &Report) -> Result<(), Status> {
        let home = &self.home;
        match report {
            Report::Outcome(request) => {
                home.memory.with_deadline(PATIENCE).report_outcome(request.clone()).await.map(|_| ())
            }
            Report::Goal(request) => home.goals.with_deadline(PATIENCE).report_goal(request.clone()).await.map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal;
    use crate::texts::LONGEST_TEXT_BYTES;
    use crate::v1::GoalTask;

    #[test]
    fn a_goal_names_its_turn() {
        let Report::Goal(goal) = Report::of_goal(ReportGoalRequest::default(), TaskOutcome::Failure, "t1") else {
            panic!("a goal is expected")
        };
        assert_eq!((goal.turn_id.as_str(), goal.state), ("t1", GoalState::Failed.into()));
        assert!(!goal.request_id.is_empty());
    }

    /// Seen to fail, with the goal refused by a sidecar, when its texts go as they come.
    #[test]
    fn of_a_goal_that_says_too_much_the_beginnings_are_reported() {
        let long = "ö".repeat(LONGEST_TEXT_BYTES);
        let whole = "ö".repeat(LONGEST_TEXT_BYTES / 2);
        let tasks = vec![GoalTask { name: "t".into(), output_summary: long.clone(), error: long.clone() }];
        let fits = GoalTask { error: whole.clone(), ..Default::default() };
        let said = ReportGoalRequest { error: long.clone(), tasks: [tasks, vec![fits]].concat(), ..goal("g", long) };
        let Report::Goal(goal) = Report::of_goal(said, TaskOutcome::Failure, "t1") else {
            panic!("a goal is expected")
        };
        let [task, fits] = &goal.tasks[..] else { panic!("two tasks are expected") };
        for text in [&goal.objective, &goal.error, &task.output_summary, &task.error] {
            assert!(text.ends_with("ö … [cut]") && text.len() <= LONGEST_TEXT_BYTES, "{} bytes", text.len());
        }
        assert_eq!((task.name.as_str(), &fits.error), ("t", &whole));
    }
}
