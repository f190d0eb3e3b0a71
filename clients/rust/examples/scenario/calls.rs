//! Any call of the contract, by its name.

use std::time::{Duration, Instant};

use serde_json::Value;
use sidemirror_client::problem_of;
use tonic::{Code, Status};

use crate::matching::{check, check_stream, text};
use crate::{Failure, Runner};

impl Runner {
    pub(crate) async fn call(&mut self, step: &Value) -> Result<(), Failure> {
        let began = Instant::now();
        let answers = self.answers(step).await?;
        self.timed.keep(step, began.elapsed());
        let answers = match (answers, step["error"].is_object()) {
            (Ok(answers), false) => answers,
            (Err(status), true) => return check_error(&step["error"], &status),
            (Ok(answers), true) => return Err(format!("an answer instead of {}: {answers:?}", step["error"]).into()),
            (Err(status), false) => return Err(status.into()),
        };
        if let Some(expected) = step["expect_stream"].as_array() {
            check_stream(expected, &answers)?;
        } else if step.get("expect").is_some() {
            check(&step["expect"], &answers[0])?;
        }
        let answer = if step["expect_stream"].is_array() { Value::Array(answers) } else { answers[0].clone() };
        for (name, path) in step["save"].as_object().into_iter().flatten() {
            let pointer = format!("/{}", path.as_str().unwrap_or_default().replace('.', "/"));
            let value = answer.pointer(&pointer).and_then(Value::as_str).ok_or("nothing to save")?;
            self.variables.insert(name.clone(), value.into());
        }
        Ok(())
    }

    async fn answers(&self, step: &Value) -> Result<Result<Vec<Value>, Status>, Failure> {
        let client = self.client()?.clone();
        let deadline = step["deadline_ms"].as_u64().map(Duration::from_millis);
        let limit = step["cancel_after"].as_u64().unwrap_or(u64::MAX) as usize;
        let call = text(step, "call");
        let method = snake(call.split_once('/').ok_or("no call")?.1);
        // The types of a call's messages follow from its method.
        macro_rules! unary {
            ($service:ident, $method:ident) => {{
                let service = match deadline {
                    Some(deadline) => client.$service.with_deadline(deadline),
                    None => client.$service.clone(),
                };
                match service.$method(self.typed(&step["request"])?).await {
                    Ok(answer) => Ok(vec![self.plain(&answer)?]),
                    Err(status) => Err(status),
                }
            }};
        }
        macro_rules! stream {
            ($service:ident, $method:ident) => {{
                let mut answers = Vec::new();
                match client.$service.$method(self.typed(&step["request"])?).await {
                    Err(status) => Err(status),
                    Ok(mut stream) => loop {
                        match stream.message().await {
                            Ok(Some(answer)) => answers.push(self.plain(&answer)?),
                            Ok(None) => break Ok(answers),
                            Err(status) => break Err(status),
                        }
                        // Dropping the stream cancels the call.
                        if answers.len() == limit {
                            break Ok(answers);
                        }
                    },
                }
            }};
        }
        macro_rules! send {
            ($service:ident, $method:ident) => {{
                let given = step["requests"].as_array().into_iter().flatten();
                let requests: Result<Vec<_>, Failure> = given.map(|each| self.typed(each)).collect();
                match client.$service.$method(tokio_stream::iter(requests?)).await {
                    Ok(answer) => Ok(vec![self.plain(&answer)?]),
                    Err(status) => Err(status),
                }
            }};
        }
        macro_rules! one_of {
            ($($kind:ident $service:ident: $($method:ident)*;)*) => {
                match method.as_str() {
                    $($(stringify!($method) => $kind!($service, $method),)*)*
                    _ => return Err(format!("unknown: {call}").into()),
                }
            };
        }
        // A method that is missing here fails its step.
        Ok(one_of! {
            unary thinking: create_session get_session update_session list_sessions delete_session get_thinking_prompt
                start_turn report_events finish_turn get_turn list_turns should_reflect reflect get_reflection_prompt;
            stream thinking: watch_turns;
            unary critique: should_critique critique evaluate_trace list_critiques get_critique_statistics
                report_critique_outcome;
            stream critique: revise debate;
            unary goals: report_goal list_goal_reports retry_goal_report get_goal_reflections list_recent_goals
                delete_goal_reflections build_goal_context;
            stream goals: watch_goal_reflections;
            unary memory: generate_reflection store_reflection get_reflection list_reflections update_reflection
                delete_reflection list_reflection_versions review_reflection query_reflections build_memory_context
                report_outcome get_lesson_statistics list_dreams list_prunings list_clusters link_reflections
                explore_graph find_recoveries list_receipts list_recoveries;
            stream memory: dream export_reflections;
            send memory: import_reflections;
            unary sidecar: get_server_info erase list_tombstones get_policy set_policy;
        })
    }
}

/// The name that a method has here: `get_turn` of `GetTurn`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

pub(crate) fn check_error(expected: &Value, status: &Status) -> Result<(), Failure> {
    let problem = problem_of(status);
    let code = match status.code() {
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Unavailable => "UNAVAILABLE",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::Unauthenticated => "UNAUTHENTICATED",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::Internal => "INTERNAL",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::Aborted => "ABORTED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        _ => "another",
    };
    let mut fields = expected["fields"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let reason = expected["reason"].as_str().unwrap_or(&problem.reason);
    if expected["code"] == code && reason == problem.reason && fields.all(|field| problem.fields.contains_key(field)) {
        return Ok(());
    }
    Err(format!("{status:?} {problem:?} instead of {expected}").into())
}
