//! Runs the scenario of clients/scenario. How a runner behaves is said there, in README.md.

mod calls;
mod crowd;
mod held;
mod matching;
mod timed;

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
use sidemirror_client::{advice_text, event, Draft, Options, Recall, Sidemirror, Turn, TurnOptions};
use tokio::sync::watch;
use tonic::Status;

use crate::calls::check_error;
use crate::held::held;
use crate::matching::{check, matches, text};
use crate::timed::Timed;

type Failure = Box<dyn Error + Send + Sync>;
const PATIENCE: Duration = Duration::from_secs(60);

struct Runner {
    variables: HashMap<String, String>,
    pool: DescriptorPool,
    client: Option<Sidemirror>,
    turns: HashMap<String, Turn>,
    told: Arc<AtomicU32>,
    refusals: watch::Sender<Vec<String>>,
    /// How many tasks the first `held` has counted.
    few_tasks: Option<usize>,
    timed: Timed,
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
        refusals: watch::Sender::default(),
        few_tasks: None,
        timed: Timed::default(),
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
    runner.timed.print();
    println!("passed {passed}");
    Ok(())
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
        } else if step["held"].is_boolean() {
            self.client()?.flush(PATIENCE).await;
            held(&mut self.few_tasks).await;
            Ok(())
        } else if step["close"].is_object() {
            let lost = self.client()?.close_within(Duration::ZERO).await;
            let (events, outcomes, goals, turns) = (lost.events, lost.outcomes, lost.goals, lost.turns.len());
            check(&step["close"], &json!({"events": events, "outcomes": outcomes, "goals": goals, "turns": turns}))
        } else if let Some(directives) = step["advice_text"].as_array() {
            let directives: Result<Vec<TurnDirective>, Failure> =
                directives.iter().map(|one| self.typed(one)).collect();
            check(&step["text"], &json!(advice_text(directives?)))
        } else if let Some(word) = step["refused"].as_str() {
            self.refused(word, step["times"].as_u64()).await
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
        self.refusals.send_replace(Vec::new());
        let (told, refusals) = (self.told.clone(), self.refusals.clone());
        let path = |key: &str| given[key].as_str().map(Into::into);
        let client = Sidemirror::connect_with(Options {
            address: given["address"].as_str().map(Into::into),
            token_file: path("token_file"),
            ca_file: path("ca_file"),
            client_certificate_file: path("client_certificate_file"),
            client_key_file: path("client_key_file"),
            tenant_id: text(given, "tenant_id"),
            project_id: text(given, "project_id"),
            on_away: Some(Arc::new(move |why: &Status| {
                told.fetch_add(1, Ordering::SeqCst);
                println!("told {why}");
                panic!("an agent's own callback");
            })),
            on_refused: Some(Arc::new(move |why: &str| refusals.send_modify(|said| said.push(why.into())))),
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

    async fn refused(&self, word: &str, times: Option<u64>) -> Result<(), Failure> {
        let mut refusals = self.refusals.subscribe();
        let said = tokio::time::timeout(PATIENCE, refusals.wait_for(|said| !said.is_empty())).await??.clone();
        let told = self.told.load(Ordering::SeqCst);
        if told == 0 && said[0].contains(word) && times.is_none_or(|times| times == said.len() as u64) {
            Ok(())
        } else {
            Err(format!("told {said:?}, and {told} times that the sidecar is away").into())
        }
    }

    // --- the turn helper -----------------------------------------------------------------------------------------------

    async fn turn(&mut self, step: &Value) -> Result<(), Failure> {
        let name = step["as"].as_str().unwrap_or("t").to_string();
        let what = text(step, "turn");
        if what == "begin" {
            let started = self.typed(&step["started"])?;
            let options = TurnOptions { turn_id: text(step, "turn_id"), agent: text(step, "agent"), started };
            let mut turn = self.client()?.begin_turn(options);
            if step["goal"].is_object() {
                turn = turn.towards(self.typed(&step["goal"])?);
            }
            self.turns.insert(name, turn);
            return Ok(());
        }
        let turn = self.turns.get(&name).ok_or("no such turn")?.clone();
        let turn = &turn;
        let patience = step["timeout_ms"].as_u64().map(Duration::from_millis);
        match what.as_str() {
            "report" => {
                for _ in 0..step["times"].as_u64().unwrap_or(1) {
                    for given in step["events"].as_array().into_iter().flatten() {
                        let event = self.typed(given)?;
                        let began = Instant::now();
                        turn.report(event);
                        self.timed.keep(step, began.elapsed());
                    }
                }
                if let Some(size) = step["text_bytes"].as_u64() {
                    turn.report(event::tool_returned("é".repeat(size as usize / 2), false));
                }
            }
            "worked" => {
                let worked = event::tool_worked(text(step, "content"));
                turn.report(event::of_call(text(step, "call_id"), worked));
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
            "ready" => {
                let client = self.client()?;
                client.wait_until_ready(PATIENCE).await?;
                if client.away() {
                    return Err("ready, and away".into());
                }
            }
            "fail" => drop(turn.within(async { Err::<(), _>("a failure of the agent's own") }).await),
            "leave" => turn.within(async { Ok::<_, Failure>(()) }).await?,
            "cancel" => {
                let work = turn.within(std::future::pending::<Result<(), String>>());
                // Begun, and dropped.
                let _ = tokio::time::timeout(Duration::from_millis(10), work).await;
            }
            "plan" | "summary" | "recall" | "advice" | "critique" | "revised" => {
                let (answer, took) = self.asked(turn, step, patience).await?;
                self.timed.keep(step, took);
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
            _ => return Err(format!("no such step: {what}").into()),
        }
        Ok(())
    }

    /// What the helper gives for a step, in JSON, and how long it takes.
    async fn asked(&self, turn: &Turn, step: &Value, patience: Option<Duration>) -> Result<(Value, Duration), Failure> {
        macro_rules! timed {
            ($answer:expr) => {{
                let began = Instant::now();
                let answer = $answer.await;
                (answer, began.elapsed())
            }};
        }
        let draft = Draft { response: text(step, "text"), user_message: text(step, "user_message"), patience };
        Ok(match step["turn"].as_str() {
            Some("plan") => {
                let (plan, took) = timed!(turn.plan(patience.unwrap_or(PATIENCE)));
                (self.plain_or_null(plan)?, took)
            }
            Some("summary") => {
                let (summary, took) = timed!(turn.summary(patience.unwrap_or(PATIENCE)));
                (self.plain_or_null(summary)?, took)
            }
            Some("recall") => {
                let (block, took) = timed!(turn.recall(Recall { patience, ..Default::default() }));
                (self.plain_or_null(block)?, took)
            }
            Some("critique") => {
                let (verdict, took) = timed!(turn.critique(draft));
                (self.plain_or_null(verdict)?, took)
            }
            Some("revised") => {
                let (answer, took) = timed!(turn.revised(draft, async |_| Ok::<_, Failure>(text(step, "again"))));
                (Value::String(answer?), took)
            }
            _ => {
                let (said, took) = timed!(turn.advice(patience));
                (Value::Array(said.iter().map(|each| self.plain(each)).collect::<Result<_, _>>()?), took)
            }
        })
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

/// Has something done to the sidecar.
pub(crate) fn control(what: &str) -> Result<(), Failure> {
    println!("@{what}");
    let mut answer = String::new();
    tokio::task::block_in_place(|| std::io::stdin().lock().read_line(&mut answer))?;
    if answer.trim() == "done" {
        Ok(())
    } else {
        Err(format!("{what}: {answer}").into())
    }
}
