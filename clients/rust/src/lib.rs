//! Sidemirror for Rust: an agent's turns reported without waiting, and typed calls for everything else.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use sidemirror_client::{event, v1::TaskOutcome, v1::TurnStarted, Sidemirror};
//!
//! let sidemirror = Sidemirror::connect()?;
//! let turn = sidemirror.begin_turn(TurnStarted { task: "find the cheapest flight".into(), ..Default::default() });
//! turn.report(event::tool_called("search", r#"{"to": "LIS"}"#));
//! for directive in turn.take() {
//!     println!("{directive:?}");
//! }
//! turn.finish(TaskOutcome::Success, None);
//! sidemirror.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Messages are in [`v1`] (the crate `sidemirror-api`).
//!
//! Features: `tls` (on by default) makes connections with `ca_file` possible.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod calls;
mod client;
mod connect_error;
mod delivery;
pub mod event;
mod link;
mod problem;
mod texts;
mod turn;

pub use calls::{Critique, Goals, Memory, Sidecar, Thinking};
pub use client::{Options, Sidemirror, DEFAULT_ADDRESS};
pub use connect_error::ConnectError;
pub use link::OnAway;
pub use problem::{problem_of, Problem};
pub use sidemirror_api::v1;
pub use turn::{Turn, TurnOptions};
