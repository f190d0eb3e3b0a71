//! Sidemirror for Rust: an agent's turns reported without waiting, and typed calls for everything else.
//!
//! ```no_run
//! # fn ask(prompt: String) -> Result<String, Box<dyn std::error::Error>> { Ok(prompt) }
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use sidemirror_client::{advice_text, event, goal, started, Sidemirror, TaskOutcome, ThinkLevel};
//!
//! let sidemirror = Sidemirror::connect()?;
//! let turn = sidemirror.begin_turn(started("find the cheapest flight", ThinkLevel::Medium));
//! let turn = turn.towards(goal("lisbon", "Get to Lisbon"));
//! turn.report(event::tool_called("search", r#"{"to": "LIS"}"#));
//! println!("{}", advice_text(turn.advice(None).await));
//! let answer = turn.revised("TAP, 89 EUR", async |prompt| ask(prompt)).await?;
//! turn.finish(TaskOutcome::Success, None);
//! sidemirror.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Messages are in [`v1`] (the crate `sidemirror-api`); the outcome and the level of a turn are here, too. A minor version
//! adds fields, values and kinds: `..Default::default()` in a message or in options, and `_ =>` in a `match`, take them.
//!
//! [`tonic`] and [`prost_types`] are the versions whose types are in this crate's own: a call's `Status` with its `Code`, its
//! `Streaming`, and the times in messages.
//!
//! Features: `tls` (on by default) makes connections with TLS possible.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod advice;
mod background;
mod calls;
mod client;
mod connect_error;
mod connection;
mod delivery;
pub mod event;
mod link;
mod losses;
mod messages;
mod pool;
mod problem;
mod queue;
mod reports;
mod texts;
mod transport;
mod turn;
mod warning;

pub use advice::{advice_text, lessons_text};
#[doc(hidden)]
pub use background::alive_tasks;
pub use calls::{Critique, Goals, Memory, Sidecar, Thinking};
pub use client::{Options, Sidemirror};
pub use connect_error::ConnectError;
pub use link::{OnAway, OnRefused};
pub use losses::Undelivered;
pub use messages::{goal, started};
pub use problem::{problem_of, Problem};
pub use prost_types;
pub use sidemirror_api::v1;
pub use sidemirror_api::v1::{TaskOutcome, ThinkLevel};
pub use tonic;
pub use transport::DEFAULT_ADDRESS;
pub use turn::{Draft, Recall, Turn, TurnOptions};
