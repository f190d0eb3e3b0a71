use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, fmt};

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tonic::transport::{Channel, Endpoint};
use tonic::Status;
use tonic_health::pb::{health_check_response::ServingStatus, health_client::HealthClient, HealthCheckRequest};

use crate::calls::{Carried, Critique, Goals, Memory, Sidecar, Thinking};
use crate::connect_error::ConnectError;
use crate::link::{Link, OnAway};
use crate::problem::cause_of;
use crate::turn::{Shared, Turn, TurnOptions};
use crate::v1::thinking_service_client::ThinkingServiceClient;

/// Where a sidecar listens when nobody says otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:50051";
/// How long closing waits for events that are still on their way.
const FLUSH: Duration = Duration::from_secs(2);
/// A local call takes a millisecond; an agent that waits this long has lost its sidecar.
const DEADLINE: Duration = Duration::from_secs(10);

/// How to connect. What is None is read from the environment.
#[derive(Clone, Default)]
pub struct Options {
    /// host:port or unix:/path; else `SIDEMIRROR_ADDRESS`, else [`DEFAULT_ADDRESS`].
    pub address: Option<String>,
    /// The file that holds the token, read again for each call; else `SIDEMIRROR_TOKEN_FILE`.
    pub token_file: Option<PathBuf>,
    /// The authorities whose certificates are taken, in PEM; else `SIDEMIRROR_CA_FILE`. With it the connection is TLS.
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
    /// Called with the reason when the sidecar goes away, and again only after it was back; else a warning is logged.
    pub on_away: Option<OnAway>,
}

impl fmt::Debug for Options {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Options").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The services of one sidecar on one connection. Clones share it, and so do the turns begun with it.
///
/// When the last of them is dropped, the reporting ends as [`close`](Self::close) ends it, without being waited for.
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
    channel: Channel,
    carried: Arc<Carried>,
    open: Arc<Open>,
}

impl fmt::Debug for Sidemirror {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Sidemirror").field("away", &self.away()).finish_non_exhaustive()
    }
}

/// What lasts for as long as anybody holds the client or a turn of it.
pub(crate) struct Open {
    link: Arc<Link>,
    turns: Arc<Turns>,
    runtime: Handle,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.link.is_closed() {
            let (link, turns) = (self.link.clone(), self.turns.clone());
            self.runtime.spawn(async move {
                turns.delivered(FLUSH).await;
                link.close();
            });
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

    fn add(&self, turn: Arc<Shared>) -> u64 {
        let mut there = self.there();
        there.0 += 1;
        let number = there.0;
        there.1.insert(number, turn);
        number
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

impl Sidemirror {
    /// A client for the sidecar that the environment names, or that listens at [`DEFAULT_ADDRESS`].
    pub fn connect() -> Result<Self, ConnectError> {
        Self::connect_with(Options::default())
    }

    /// A client for a sidecar. Connects when it is first used, and again whenever that is needed: an error means that
    /// the options cannot be used, or that this was not called in a tokio runtime.
    pub fn connect_with(options: Options) -> Result<Self, ConnectError> {
        let runtime = Handle::try_current().map_err(|_| ConnectError::NoRuntime)?;
        let address = options.address.filter(|address| !address.is_empty());
        let address = address.or_else(|| env::var("SIDEMIRROR_ADDRESS").ok().filter(|address| !address.is_empty()));
        let address = address.unwrap_or_else(|| DEFAULT_ADDRESS.into());
        let is_unix = address.starts_with("unix:");
        let ca_file = given(options.ca_file, "SIDEMIRROR_CA_FILE").filter(|_| !is_unix);
        let target = match (&ca_file, is_unix) {
            (_, true) => address,
            (Some(_), _) => format!("https://{address}"),
            (None, _) => format!("http://{address}"),
        };
        let mut endpoint = Endpoint::from_shared(target)
            .map_err(ConnectError::Address)?
            .connect_timeout(Duration::from_secs(1))
            .http2_keep_alive_interval(Duration::from_secs(60))
            .keep_alive_timeout(Duration::from_secs(20));
        if let Some(ca_file) = ca_file {
            let certificate = given(options.client_certificate_file, "SIDEMIRROR_CLIENT_CERTIFICATE_FILE");
            let key = given(options.client_key_file, "SIDEMIRROR_CLIENT_KEY_FILE");
            let identity = match (certificate, key) {
                (Some(certificate), Some(key)) => Some((read(&certificate)?, read(&key)?)),
                (None, None) => None,
                _ => return Err(ConnectError::HalfIdentity),
            };
            endpoint = with_tls(endpoint, read(&ca_file)?, identity)?;
        }
        let carried = Arc::new(Carried {
            deadline: options.deadline.unwrap_or(DEADLINE),
            token_file: given(options.token_file, "SIDEMIRROR_TOKEN_FILE"),
            tenant_id: options.tenant_id,
            project_id: options.project_id,
        });
        let on_away = options.on_away.unwrap_or_else(|| {
            Arc::new(|why| tracing::warn!(%why, "the sidecar is away, the agent goes on without it"))
        });
        Ok(Self::on(endpoint.connect_lazy(), carried, on_away, runtime))
    }

    fn on(channel: Channel, carried: Arc<Carried>, on_away: OnAway, runtime: Handle) -> Self {
        let sidecar = Sidecar::new(channel.clone(), carried.clone());
        let link = Link::new(sidecar.clone(), on_away);
        Self {
            thinking: Thinking::new(channel.clone(), carried.clone()),
            critique: Critique::new(channel.clone(), carried.clone()),
            goals: Goals::new(channel.clone(), carried.clone()),
            memory: Memory::new(channel.clone(), carried.clone()),
            sidecar,
            channel,
            carried,
            open: Arc::new(Open { link, turns: Arc::default(), runtime }),
        }
    }

    /// Begins a turn of the agent, reported beside it: nothing waits for the sidecar, and nothing fails because it is
    /// away. May be called on any thread.
    pub fn begin_turn(&self, options: impl Into<TurnOptions>) -> Turn {
        let open = &self.open;
        let (turn, shared) = Turn::begin(open.link.clone(), open.clone(), options.into());
        let (turns, number) = (open.turns.clone(), open.turns.add(shared.clone()));
        let delivering = shared.deliver(ThinkingServiceClient::new(self.channel.clone()), self.carried.clone());
        open.runtime.spawn(async move {
            delivering.await;
            turns.there().1.remove(&number);
        });
        turn
    }

    /// Whether the sidecar is known not to answer now.
    pub fn away(&self) -> bool {
        *self.open.link.away().borrow()
    }

    /// Returns once the sidecar says that it serves; DEADLINE_EXCEEDED, with what went wrong last, when it has not in
    /// time.
    pub async fn wait_until_ready(&self, patience: Duration) -> Result<(), Status> {
        let mut last = None;
        let ready = async {
            loop {
                match self.serves().await {
                    Ok(true) => return,
                    Ok(false) => {}
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
        let mut health = HealthClient::new(self.channel.clone());
        let mut states = health.watch(HealthCheckRequest::default()).await?.into_inner();
        while let Some(state) = states.message().await? {
            if state.status() == ServingStatus::Serving {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until everything reported so far is durable with the sidecar; false when time is up first.
    pub async fn flush(&self, patience: Duration) -> bool {
        self.open.turns.delivered(patience).await
    }

    /// Waits up to two seconds for events that are on their way, then ends the reporting of turns, for all clones. The
    /// connection goes with the last of them.
    pub async fn close(&self) {
        self.flush(FLUSH).await;
        self.open.link.close();
    }
}

#[cfg(feature = "tls")]
fn with_tls(
    endpoint: Endpoint,
    authorities: Vec<u8>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
) -> Result<Endpoint, ConnectError> {
    use tonic::transport::{Certificate, ClientTlsConfig, Identity};

    let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authorities));
    if let Some((certificate, key)) = identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    endpoint.tls_config(tls).map_err(ConnectError::Tls)
}

#[cfg(not(feature = "tls"))]
fn with_tls(_: Endpoint, _: Vec<u8>, _: Option<(Vec<u8>, Vec<u8>)>) -> Result<Endpoint, ConnectError> {
    Err(ConnectError::NoTls)
}

fn read(path: &Path) -> Result<Vec<u8>, ConnectError> {
    std::fs::read(path).map_err(|error| ConnectError::File(path.into(), error))
}

fn given(value: Option<PathBuf>, name: &str) -> Option<PathBuf> {
    value.or_else(|| env::var_os(name).map(PathBuf::from)).filter(|path| !path.as_os_str().is_empty())
}
