//! Runs the scenario of clients/scenario. How a runner behaves is said there, in README.md.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::io::BufRead;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::{json, Value};
use sidemirror_client::v1::{self, *};
use sidemirror_client::{advice_text, event, problem_of, Draft, Options, Recall, Sidemirror, Turn, TurnOptions};
use tokio::sync::watch;
use tonic::{Code, Status};

type Failure = Box<dyn Error + Send + Sync>;
const PATIENCE: Duration = Duration::from_secs(60);

struct Runner {
    variables: HashMap<String, String>,
    pool: DescriptorPool,
    client: Option<Sidemirror>,
    turns: HashMap<String, Turn>,
    told: Arc<AtomicU32>,
    refusals: watch::Sender<Option<String>>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let steps: Vec<Value> = serde_json::from_slice(&std::fs::read(std::env::args().nth(1).ok_or("no scenario")?)?)?;
    let has: HashSet<String> = std::env::var("SCENARIO_HAS")?.split(',').map(Into::into).collect();
    // With the well-known types, which the contract imports.
    let mut pool = DescriptorPool::global();
    pool.decode_file_descriptor_set(v1::FILE_DESCRIPTOR_SET)?;
    let mut runner = Runner {
        variables: serde_json::from_str(&std::env::var("SCENARIO_VARIABLES")?)?,
        pool,
        client: None,
        turns: HashMap::new(),
        told: Arc::default(),
        refusals: watch::Sender::new(None),
    };
    let mut passed = 0;
    for step in steps {
        let needs = step["needs"].as_array().cloned().unwrap_or_default();
        if !needs.iter().all(|need| has.contains(need.as_str().unwrap_or_default())) {
            continue;
        }
        println!("step {}", text(&step, "name"));
        let step = runner.filled(&step);
        runner.run(&step).await?;
        passed += 1;
    }
    if let Some(client) = &runner.client {
        client.close().await;
    }
    println!("passed {passed}");
    Ok(())
}

/// Measures time, without that in which others had this thread's core.
struct Watch {
    waited: Duration,
    began: Instant,
}

impl Watch {
    fn start() -> Self {
        Self { waited: waited(), began: Instant::now() }
    }

    /// As the clock has it, and without the others.
    fn took(&self) -> (Duration, Duration) {
        let plain = self.began.elapsed();
        (plain, plain.saturating_sub(waited() - self.waited))
    }
}

/// How long this thread could have run while others had its core; zero where the system does not say.
fn waited() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').nth(1).and_then(|waited| waited.parse().ok()).unwrap_or_default())
}

impl Runner {
    async fn run(&mut self, step: &Value) -> Result<(), Failure> {
        if step["connect"].is_object() {
            self.connect(&step["connect"]).await
        } else if let Some(what) = step["server"].as_str() {
            control(what)
        } else if step["turn"].is_string() {
            self.turn(step).await
        } else if step["away"].is_object() {
            self.away(&step["away"]).await
        } else if step["many"].is_object() {
            self.many(&step["many"]).await
        } else if step["close"].is_object() {
            let lost = self.client()?.close_within(Duration::ZERO).await;
            let (events, outcomes, goals, turns) = (lost.events, lost.outcomes, lost.goals, lost.turns.len());
            check(&step["close"], &json!({"events": events, "outcomes": outcomes, "goals": goals, "turns": turns}))
        } else if let Some(directives) = step["advice_text"].as_array() {
            let directives: Result<Vec<TurnDirective>, Failure> =
                directives.iter().map(|one| self.typed(one)).collect();
            check(&step["text"], &json!(advice_text(directives?)))
        } else if let Some(word) = step["refused"].as_str() {
            self.refused(word).await
        } else {
            self.call(step).await
        }
    }

    fn client(&self) -> Result<&Sidemirror, Failure> {
        self.client.as_ref().ok_or_else(|| "not connected".into())
    }

    async fn connect(&mut self, given: &Value) -> Result<(), Failure> {
        if let Some(client) = &self.client {
            client.close().await;
        }
        self.told.store(0, Ordering::SeqCst);
        self.refusals.send_replace(None);
        let (told, refusals) = (self.told.clone(), self.refusals.clone());
        let path = |key: &str| given[key].as_str().map(Into::into);
        let client = Sidemirror::connect_with(Options {
            address: given["address"].as_str().map(Into::into),
            token_file: path("token_file"),
            ca_file: path("ca_file"),
            tenant_id: text(given, "tenant_id"),
            project_id: text(given, "project_id"),
            on_away: Some(Arc::new(move |why: &Status| {
                told.fetch_add(1, Ordering::SeqCst);
                println!("told {why}");
                panic!("an agent's own callback");
            })),
            on_refused: Some(Arc::new(move |why: &str| drop(refusals.send_replace(Some(why.into()))))),
            tls: given["tls"] == json!(true),
            ..Default::default()
        });
        if let Some(words) = given["refused"].as_array() {
            let said = client.err().ok_or("not refused")?.to_string();
            let has_all = words.iter().all(|word| said.contains(word.as_str().unwrap_or_default()));
            return if has_all { Ok(()) } else { Err(format!("refused with {said}").into()) };
        }
        let client = client?;
        if given["wait"] != json!(false) {
            client.wait_until_ready(PATIENCE).await?;
        }
        self.client = Some(client);
        Ok(())
    }

    async fn refused(&self, word: &str) -> Result<(), Failure> {
        let mut refusals = self.refusals.subscribe();
        let said = tokio::time::timeout(PATIENCE, refusals.wait_for(Option::is_some)).await??.clone();
        let told = self.told.load(Ordering::SeqCst);
        if told == 0 && said.as_ref().is_some_and(|said| said.contains(word)) {
            Ok(())
        } else {
            Err(format!("told {said:?}, and {told} times that the sidecar is away").into())
        }
    }

    // --- calls ---------------------------------------------------------------------------------------------------------

    async fn call(&mut self, step: &Value) -> Result<(), Failure> {
        let answers = match (self.answers(step).await?, step["error"].is_object()) {
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
                explore_graph find_recoveries list_recoveries;
            stream memory: dream export_reflections;
            send memory: import_reflections;
            unary sidecar: get_server_info erase list_tombstones get_policy set_policy;
        })
    }

    // --- the turn helper -----------------------------------------------------------------------------------------------

    async fn turn(&mut self, step: &Value) -> Result<(), Failure> {
        let name = step["as"].as_str().unwrap_or("t").to_string();
        let what = text(step, "turn");
        if what == "begin" {
            let started = self.typed(&step["started"])?;
            let options = TurnOptions { turn_id: text(step, "turn_id"), agent: text(step, "agent"), started };
            let turn = self.client()?.begin_turn(options);
            self.turns.insert(name, turn);
            return Ok(());
        }
        let turn = self.turns.get(&name).ok_or("no such turn")?;
        let patience = step["timeout_ms"].as_u64().map(Duration::from_millis);
        match what.as_str() {
            "report" => {
                for _ in 0..step["times"].as_u64().unwrap_or(1) {
                    for given in step["events"].as_array().into_iter().flatten() {
                        turn.report(self.typed(given)?);
                    }
                }
                if let Some(size) = step["text_bytes"].as_u64() {
                    turn.report(event::tool_returned("é".repeat(size as usize / 2), false));
                }
            }
            "finish" => {
                let outcome = TaskOutcome::from_str_name(&text(step, "outcome")).ok_or("no such outcome")?;
                let score = step["score"].as_f64();
                if step["goal"].is_object() {
                    turn.finish_with_goal(outcome, score, self.typed(&step["goal"])?);
                } else {
                    turn.finish(outcome, score);
                }
            }
            "flush" => {
                let delivered = self.client()?.flush(patience.unwrap_or(PATIENCE)).await;
                if delivered != step["delivered"].as_bool().unwrap_or(true) {
                    return Err(format!("delivered: {delivered}").into());
                }
            }
            "fail" => drop(turn.within(async { Err::<(), _>("a failure of the agent's own") }).await),
            "leave" => turn.within(async { Ok::<_, Failure>(()) }).await?,
            "plan" | "summary" | "recall" | "advice" | "critique" => {
                let began = Instant::now();
                let answer = self.asked(turn, step, patience).await?;
                let took = began.elapsed();
                check(&step["expect"], &answer)?;
                if answer.is_array() && answer.as_array().map(Vec::len) != step["expect"].as_array().map(Vec::len) {
                    return Err(format!("expected {}, got {answer}", step["expect"]).into());
                }
                if step["within_ms"].as_u64().is_some_and(|most| took > Duration::from_millis(most)) {
                    return Err(format!("it took {took:?}").into());
                }
            }
            "error" => {
                let ends = Instant::now() + PATIENCE;
                while turn.error().is_none() && Instant::now() < ends {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                check_error(&step["error"], &turn.error().ok_or("the turn goes on")?)?;
                if step["dropped"] != turn.dropped() {
                    return Err(format!("{} events were dropped", turn.dropped()).into());
                }
            }
            "await" => {
                let mut came = Vec::new();
                while let Ok(Some(next)) = tokio::time::timeout(PATIENCE, turn.next()).await {
                    came.push(self.plain(&next)?);
                    if matches(&step["expect"], came.last().unwrap_or(&Value::Null)) {
                        return Ok(());
                    }
                }
                return Err(format!("no directive {} among {came:?}", step["expect"]).into());
            }
            _ => {}
        }
        Ok(())
    }

    async fn away(&mut self, given: &Value) -> Result<(), Failure> {
        let count = |key: &str| given[key].as_u64().unwrap_or_default();
        let prefix = text(given, "prefix");
        let (mut longest, mut longest_plain) = (Duration::ZERO, Duration::ZERO);
        let mut timed = |began: Watch| {
            let (plain, held) = began.took();
            (longest, longest_plain) = (longest.max(held), longest_plain.max(plain));
        };
        let mut begun = Vec::new();
        self.told.store(0, Ordering::SeqCst);
        for number in 0..count("turns") {
            let began = Watch::start();
            let started = TurnStarted { session_id: prefix.clone(), task: "away".into(), ..Default::default() };
            let turn_id = format!("{prefix}-{number}");
            let turn = self.client()?.begin_turn(TurnOptions { turn_id, started, ..Default::default() });
            timed(began);
            for place in 0..count("events") {
                if place == count("events") / 2 && number == count("kill_at") {
                    control("kill")?;
                } else if place == count("events") / 2 && number == count("start_at") {
                    control("start")?;
                }
                let called = event::tool_called("step", format!("{{\"i\": {place}}}"));
                let began = Watch::start();
                turn.report(TurnEvent { event_id: format!("e{place}"), ..called });
                timed(began);
            }
            let began = Watch::start();
            turn.take();
            turn.finish(TaskOutcome::Success, None);
            timed(began);
            begun.push(turn);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if !self.client()?.flush(3 * PATIENCE).await {
            return Err("not everything was delivered".into());
        }
        let dropped: usize = begun.iter().map(Turn::dropped).sum();
        let told = self.told.load(Ordering::SeqCst);
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let figures =
            json!({"longest_ms": ms(longest), "plain_ms": ms(longest_plain), "told": told, "dropped": dropped});
        println!("away {figures}");
        Ok(())
    }

    /// What the helper gives for a step, in JSON.
    async fn asked(&self, turn: &Turn, step: &Value, patience: Option<Duration>) -> Result<Value, Failure> {
        Ok(match step["turn"].as_str() {
            Some("plan") => self.plain_or_null(turn.plan(patience.unwrap_or(PATIENCE)).await)?,
            Some("summary") => self.plain_or_null(turn.summary(patience.unwrap_or(PATIENCE)).await)?,
            Some("recall") => self.plain_or_null(turn.recall(Recall { patience, ..Default::default() }).await)?,
            Some("critique") => {
                let (response, user_message) = (text(step, "text"), text(step, "user_message"));
                self.plain_or_null(turn.critique(Draft { response, user_message, patience }).await)?
            }
            _ => {
                let said = turn.advice(patience).await;
                Value::Array(said.iter().map(|each| self.plain(each)).collect::<Result<_, _>>()?)
            }
        })
    }

    async fn many(&self, given: &Value) -> Result<(), Failure> {
        let turns = given["turns"].as_u64().or_else(|| given["turns"].as_str()?.parse().ok()).ok_or("no turns")?;
        let prefix = text(given, "prefix");
        let begun: Vec<_> = (0..turns)
            .map(|number| tokio::spawn(one_of_many(self.client.clone(), format!("{prefix}-{number}"))))
            .collect();
        let mut counts = [0; 4];
        for turn in begun {
            for (count, had) in counts.iter_mut().zip(turn.await??) {
                *count += u32::from(had);
            }
        }
        let [plans, directives, critiques, summaries] = counts;
        let told = self.told.load(Ordering::SeqCst);
        let counts = json!({"plans": plans, "directives": directives, "critiques": critiques, "summaries": summaries,
            "told": told});
        println!("many {counts}");
        Ok(())
    }

    // --- messages and their JSON ---------------------------------------------------------------------------------------

    fn typed<T: Message + Default>(&self, given: &Value) -> Result<T, Failure> {
        if given.is_null() {
            return Ok(T::default());
        }
        let message = DynamicMessage::deserialize_with_options(self.kind::<T>()?, given, &DeserializeOptions::new())?;
        Ok(T::decode(message.encode_to_vec().as_slice())?)
    }

    fn plain<T: Message>(&self, message: &T) -> Result<Value, Failure> {
        let message = DynamicMessage::decode(self.kind::<T>()?, message.encode_to_vec().as_slice())?;
        Ok(message.serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new())?)
    }

    fn plain_or_null<T: Message>(&self, message: Option<T>) -> Result<Value, Failure> {
        message.map_or(Ok(Value::Null), |message| self.plain(&message))
    }

    /// What the contract says of a type, which has the name of its message.
    fn kind<T>(&self) -> Result<MessageDescriptor, Failure> {
        let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
        let kind = self.pool.get_message_by_name(&format!("sidemirror.v1.{name}"));
        kind.ok_or_else(|| format!("no such message: {name}").into())
    }

    fn filled(&self, given: &Value) -> Value {
        match given {
            Value::String(text) => {
                let mut names: Vec<_> = self.variables.iter().collect();
                names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
                let fill = |text: String, (name, value): (&String, &String)| text.replace(&format!("${name}"), value);
                Value::String(names.into_iter().fold(text.clone(), fill))
            }
            Value::Array(list) => list.iter().map(|each| self.filled(each)).collect(),
            Value::Object(object) => {
                Value::Object(object.iter().map(|(key, each)| (key.clone(), self.filled(each))).collect())
            }
            other => other.clone(),
        }
    }
}

/// One turn of many: whether it had its plan, advice, a verdict and its summary.
async fn one_of_many(client: Option<Sidemirror>, name: String) -> Result<[bool; 4], Failure> {
    let config = ThinkingConfig { level: ThinkLevel::Medium.into(), ..Default::default() };
    let started =
        TurnStarted { session_id: name.clone(), task: "count".into(), config: Some(config), ..Default::default() };
    let turn = client.ok_or("not connected")?.begin_turn(TurnOptions { turn_id: name, started, ..Default::default() });
    let plan = turn.plan(2 * PATIENCE).await.is_some();
    turn.recall(PATIENCE).await;
    turn.report(event::tool_called("run_sql", "SELECT 1"));
    turn.report(event::tool_returned("no such column: status", true));
    let advice = !turn.advice(2 * PATIENCE).await.is_empty();
    let draft = Draft { response: "There are 41.".into(), patience: Some(PATIENCE), ..Default::default() };
    let critique = turn.critique(draft).await.is_some();
    turn.finish(TaskOutcome::Success, None);
    let summary = turn.summary(2 * PATIENCE).await.is_some();
    Ok([plan, advice, critique, summary])
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

/// Has something done to the sidecar.
fn control(what: &str) -> Result<(), Failure> {
    println!("@{what}");
    let mut answer = String::new();
    tokio::task::block_in_place(|| std::io::stdin().lock().read_line(&mut answer))?;
    if answer.trim() == "done" {
        Ok(())
    } else {
        Err(format!("{what}: {answer}").into())
    }
}

fn check_error(expected: &Value, status: &Status) -> Result<(), Failure> {
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
        _ => "another",
    };
    let mut fields = expected["fields"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let reason = expected["reason"].as_str().unwrap_or(&problem.reason);
    if expected["code"] == code && reason == problem.reason && fields.all(|field| problem.fields.contains_key(field)) {
        return Ok(());
    }
    Err(format!("{status:?} {problem:?} instead of {expected}").into())
}

fn check_stream(expected: &[Value], answers: &[Value]) -> Result<(), Failure> {
    let mut rest = answers.iter();
    for each in expected {
        if !rest.any(|answer| matches(each, answer)) {
            return Err(format!("{each} did not come, in that order, in {answers:?}").into());
        }
    }
    Ok(())
}

fn check(expected: &Value, answer: &Value) -> Result<(), Failure> {
    if matches(expected, answer) {
        Ok(())
    } else {
        Err(format!("expected {expected}, got {answer}").into())
    }
}

fn matches(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(_)) => {
            expected.iter().all(|(key, value)| matches(value, actual.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(expected), Value::Array(list)) => {
            expected.len() <= list.len() && expected.iter().zip(list).all(|(each, value)| matches(each, value))
        }
        (Value::Number(expected), Value::Number(actual)) => expected.as_f64() == actual.as_f64(),
        (Value::String(any), actual) if any == "*" => !actual.is_null(),
        _ => expected == actual,
    }
}

fn text(given: &Value, key: &str) -> String {
    given[key].as_str().unwrap_or_default().into()
}
