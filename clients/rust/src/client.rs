use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tonic::transport::Endpoint;
use tonic::Status;
use tonic_health::pb::{health_check_response::ServingStatus, health_client::HealthClient, HealthCheckRequest};

use crate::background::runtime;
use crate::calls::{Carried, Critique, Goals, Memory, Sidecar, Thinking};
use crate::connect_error::ConnectError;
use crate::connection::Connection;
use crate::link::{Link, OnAway, OnRefused, Reach};
use crate::losses::{Losses, Undelivered};
use crate::pool::Pool;
use crate::problem::cause_of;
use crate::queue::Shared;
use crate::transport::{address_of, endpoint_of, given};
use crate::turn::{Turn, TurnOptions};
use crate::warning::warning;

/// How long closing waits for what is still on its way.
const FLUSH: Duration = Duration::from_secs(2);
/// A local call takes a millisecond; an agent that waits this long has lost its sidecar.
const DEADLINE: Duration = Duration::from_secs(10);
/// Turns that may be open at once. One that begins beyond that is not reported, and counted.
const MOST_TURNS: usize = 10_000;

/// How to connect. What is None is read from the environment.
#[derive(Clone, Default)]
pub struct Options {
    /// host:port, https://host:port or unix:/path; else `SIDEMIRROR_ADDRESS`, else
    /// [`DEFAULT_ADDRESS`](crate::DEFAULT_ADDRESS).
    pub address: Option<String>,
    /// The file that holds the token, read again for each call; else `SIDEMIRROR_TOKEN_FILE`.
    pub token_file: Option<PathBuf>,
    /// TLS, as with https://: by the authorities that the system trusts, or by those of `ca_file`.
    pub tls: bool,
    /// The authorities whose certificates alone are taken, in PEM; else `SIDEMIRROR_CA_FILE`. With it the connection is
    /// TLS.
    pub ca_file: Option<PathBuf>,
    /// The client's own certificate, in PEM; else `SIDEMIRROR_CLIENT_CERTIFICATE_FILE`.
    pub client_certificate_file: Option<PathBuf>,
    /// Its key; else `SIDEMIRROR_CLIENT_KEY_FILE`.
    pub client_key_file: Option<PathBuf>,
    /// Filled into requests that name no tenant.
    pub tenant_id: String,
    /// Filled into requests that name no project.
    pub project_id: String,
    /// For unary calls; 10 seconds by default, and at least 60 for calls that ask a model.
    pub deadline: Option<Duration>,
    /// Called with the reason when the sidecar goes away, and again only after it was back; else a warning of `tracing`
    /// says it, or a line on stderr where there is no subscriber.
    pub on_away: Option<OnAway>,
    /// Called with what to set when the sidecar does not take the token, or there is none; else as with `on_away`.
    pub on_refused: Option<OnRefused>,
}

impl fmt::Debug for Options {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Options").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The services of one sidecar. Calls have a connection of their own, and turns as many as they need, up to 16. Clones
/// share them.
///
/// When the last of them is dropped, the reporting ends as [`close`](Self::close) ends it, without being waited for: the
/// process has to live so long.
#[derive(Clone)]
pub struct Sidemirror {
    /// Sessions, turns and reflections.
    pub thinking: Thinking,
    /// Whether an answer holds up.
    pub critique: Critique,
    /// What finished goals taught.
    pub goals: Goals,
    /// What was learned, and what of it fits here.
    pub memory: Memory,
    /// What the sidecar says of itself.
    pub sidecar: Sidecar,
    connection: Connection,
    open: Arc<Open>,
}

impl fmt::Debug for Sidemirror {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Sidemirror").field("away", &self.away()).finish_non_exhaustive()
    }
}

/// What a turn needs of its client.
pub(crate) struct Home {
    /// As the options or the environment name it.
    pub address: String,
    pub link: Arc<Link>,
    pub pool: Pool,
    pub losses: Losses,
    pub carried: Arc<Carried>,
    pub memory: Memory,
    pub critique: Critique,
    pub goals: Goals,
}

/// What lasts for as long as anybody holds the client or a turn of it.
pub(crate) struct Open {
    pub home: Arc<Home>,
    turns: Arc<Turns>,
    runtime: Handle,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.home.link.is_closed() {
            let (home, turns) = (self.home.clone(), self.turns.clone());
            self.runtime.spawn(async move { turns.close(&home, FLUSH).await });
        }
    }
}

/// The turns that are not over, each under a number of its own.
#[derive(Default)]
struct Turns {
    there: Mutex<(u64, HashMap<u64, Arc<Shared>>)>,
}

impl Turns {
    fn there(&self) -> MutexGuard<'_, (u64, HashMap<u64, Arc<Shared>>)> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None when there are too many.
    fn add(&self, turn: Arc<Shared>) -> Option<u64> {
        let mut there = self.there();
        if there.1.len() >= MOST_TURNS {
            return None;
        }
        there.0 += 1;
        let number = there.0;
        there.1.insert(number, turn);
        Some(number)
    }

    /// Waits for what is on its way, and ends the rest, also when it is given up. Says once what was not delivered.
    async fn close(&self, home: &Home, patience: Duration) -> Undelivered {
        let mut closing = Closing { home, turns: self, was_closed: None };
        self.delivered(patience).await;
        closing.end();
        home.link.wait_told().await;
        home.losses.so_far()
    }

    /// False when not everything is durable in time.
    async fn delivered(&self, patience: Duration) -> bool {
        let turns: Vec<_> = self.there().1.values().cloned().collect();
        let all = async {
            for turn in turns {
                turn.delivered().await;
            }
        };
        timeout(patience, all).await.is_ok()
    }
}

/// Ends the reporting, at the latest when it is dropped, and says then what was not delivered.
struct Closing<'a> {
    home: &'a Home,
    turns: &'a Turns,
    /// Known once the reporting has ended.
    was_closed: Option<bool>,
}

impl Closing<'_> {
    fn end(&mut self) -> bool {
        *self.was_closed.get_or_insert_with(|| {
            let was_closed = self.home.link.close();
            self.home.pool.close();
            let left: Vec<_> = self.turns.there().1.values().cloned().collect();
            left.iter().for_each(|turn| turn.end(None));
            was_closed
        })
    }
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let was_closed = self.end();
        let lost = self.home.losses.so_far();
        if !was_closed && !lost.is_empty() {
            let (events, outcomes, goals, turns) = (lost.events, lost.outcomes, lost.goals, lost.turns.len());
            warning!("not everything was delivered to the sidecar", events, outcomes, goals, turns);
        }
    }
}

impl Sidemirror {
    /// A client for the sidecar that the environment names, or that listens at
    /// [`DEFAULT_ADDRESS`](crate::DEFAULT_ADDRESS).
    pub fn connect() -> Result<Self, ConnectError> {
        Self::connect_with(Options::default())
    }

    /// A client for a sidecar. Connects when it is first used, and again whenever that is needed: an error means that
    /// the options cannot be used, or that the system gives no thread. May be called on any thread, in a runtime or
    /// outside; what waits needs one of tokio's with its timers, and panics in any other.
    pub fn connect_with(options: Options) -> Result<Self, ConnectError> {
        let runtime = runtime().map_err(ConnectError::NoThread)?;
        // What connections do goes on there.
        let _entered = runtime.enter();
        let token_file = given(options.token_file.as_ref(), "SIDEMIRROR_TOKEN_FILE");
        let (address, endpoint) = (address_of(&options), endpoint_of(&options, token_file.as_deref())?);
        let deadline = options.deadline.unwrap_or(DEADLINE);
        let carried = Arc::new(Carried::new(deadline, token_file, options.tenant_id, options.project_id));
        let on_away = options.on_away.unwrap_or_else(|| {
            let address = address.clone();
            Arc::new(move |status| {
                let why = status.message();
                warning!("the sidecar is away, the agent goes on without it", address, why);
            })
        });
        let on_refused = options.on_refused.unwrap_or_else(|| Arc::new(|why| warning!(why)));
        let link = Link::new(endpoint.clone(), carried.clone(), on_away, on_refused, runtime.clone());
        Ok(Self::on(address, endpoint, carried, link, runtime.clone()))
    }

    fn on(address: String, endpoint: Endpoint, carried: Arc<Carried>, link: Arc<Link>, runtime: Handle) -> Self {
        let connection = Connection::new(link.clone());
        let home = Home {
            address,
            link,
            pool: Pool::new(endpoint),
            losses: Losses::default(),
            carried: carried.clone(),
            memory: Memory::new(connection.clone(), carried.clone()),
            critique: Critique::new(connection.clone(), carried.clone()),
            goals: Goals::new(connection.clone(), carried.clone()),
        };
        Self {
            thinking: Thinking::new(connection.clone(), carried.clone()),
            critique: home.critique.clone(),
            goals: home.goals.clone(),
            memory: home.memory.clone(),
            sidecar: Sidecar::new(connection.clone(), carried),
            connection,
            open: Arc::new(Open { home: Arc::new(home), turns: Arc::default(), runtime }),
        }
    }

    /// Begins a turn of the agent, reported beside it: nothing waits for the sidecar, and nothing fails because it is
    /// away. May be called on any thread.
    pub fn begin_turn(&self, options: impl Into<TurnOptions>) -> Turn {
        let open = &self.open;
        let (turn, shared) = Turn::begin(open.clone(), options.into());
        let number = if open.home.link.is_closed() { None } else { open.turns.add(shared.clone()) };
        let Some(number) = number else {
            shared.end(None);
            return turn;
        };
        let turns = open.turns.clone();
        open.runtime.spawn(async move {
            shared.deliver().await;
            turns.there().1.remove(&number);
        });
        turn
    }

    /// Whether the sidecar is known not to answer now.
    pub fn away(&self) -> bool {
        *self.open.home.link.reach().borrow() == Reach::Away
    }

    /// Returns once the sidecar says that it serves; DEADLINE_EXCEEDED, with what went wrong last, when it has not in
    /// time.
    pub async fn wait_until_ready(&self, patience: Duration) -> Result<(), Status> {
        let mut last = None;
        let ready = async {
            loop {
                match self.serves().await {
                    Ok(true) if !self.away() => return,
                    Ok(_) => {}
                    Err(status) => last = Some(status),
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        let in_time = timeout(patience, ready).await.is_ok();
        in_time.then_some(()).ok_or_else(|| {
            let why = last.map(|status| format!(": {}", cause_of(&status))).unwrap_or_default();
            Status::deadline_exceeded(format!("the sidecar is not ready{why}"))
        })
    }

    /// Returns when that is known, or the sidecar does not say it any more.
    async fn serves(&self) -> Result<bool, Status> {
        let mut health = HealthClient::new(self.connection.clone());
        let mut states = health.watch(HealthCheckRequest::default()).await?.into_inner();
        while let Some(state) = states.message().await? {
            if state.status() == ServingStatus::Serving {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until everything reported so far is durable with the sidecar, 2 seconds unless another time is given; false
    /// when time is up first. What the sidecar has refused is not waited for: [`close`](Self::close) says it.
    pub async fn flush(&self, patience: impl Into<Option<Duration>>) -> bool {
        self.open.turns.delivered(patience.into().unwrap_or(FLUSH)).await
    }

    /// Waits up to two seconds for what is on its way, then ends the reporting of turns, for all clones, and says what was
    /// not delivered. Before it returns it waits, half a second at most, for a callback that still runs. The connection of calls
    /// goes with the last clone. A future that is dropped before, as by a time limit, ends the reporting at once, and a warning
    /// says what was not delivered.
    pub async fn close(&self) -> Undelivered {
        self.close_within(FLUSH).await
    }

    /// The same with another patience.
    pub async fn close_within(&self, patience: Duration) -> Undelivered {
        self.open.turns.close(&self.open.home, patience).await
    }
}
