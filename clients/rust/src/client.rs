use std::env;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::Status;
use tonic_health::pb::{health_check_response::ServingStatus, health_client::HealthClient, HealthCheckRequest};

use crate::calls::{Carried, Critique, Goals, Memory, Sidecar, Thinking};
use crate::link::{Link, OnAway};
use crate::turn::{Turn, TurnOptions};
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

/// The services of one sidecar on one connection. Clones share it.
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
    link: Arc<Link>,
    turns: Arc<Mutex<Vec<Turn>>>,
}

impl Sidemirror {
    /// A client for the sidecar that the environment names, or that listens at [`DEFAULT_ADDRESS`]. To be called in a
    /// tokio runtime.
    pub fn connect() -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Self::connect_with(Options::default())
    }

    /// A client for a sidecar. Connects when it is first used; an error means that a file could not be read, or that the
    /// address is none.
    pub fn connect_with(options: Options) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let address = options.address.filter(|address| !address.is_empty());
        let address = address.or_else(|| env::var("SIDEMIRROR_ADDRESS").ok().filter(|address| !address.is_empty()));
        let address = address.unwrap_or_else(|| DEFAULT_ADDRESS.into());
        let ca_file = given(options.ca_file, "SIDEMIRROR_CA_FILE").filter(|_| !address.starts_with("unix:"));
        let target = match (&ca_file, address.starts_with("unix:")) {
            (_, true) => address,
            (Some(_), _) => format!("https://{address}"),
            (None, _) => format!("http://{address}"),
        };
        let mut endpoint = Endpoint::from_shared(target)?
            .connect_timeout(Duration::from_secs(1))
            .http2_keep_alive_interval(Duration::from_secs(60))
            .keep_alive_timeout(Duration::from_secs(20));
        if let Some(ca_file) = ca_file {
            let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(std::fs::read(ca_file)?));
            let certificate = given(options.client_certificate_file, "SIDEMIRROR_CLIENT_CERTIFICATE_FILE");
            let key = given(options.client_key_file, "SIDEMIRROR_CLIENT_KEY_FILE");
            if let (Some(certificate), Some(key)) = (certificate, key) {
                tls = tls.identity(Identity::from_pem(std::fs::read(certificate)?, std::fs::read(key)?));
            }
            endpoint = endpoint.tls_config(tls)?;
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
        Ok(Self::on(endpoint.connect_lazy(), carried, on_away))
    }

    fn on(channel: Channel, carried: Arc<Carried>, on_away: OnAway) -> Self {
        let sidecar = Sidecar::new(channel.clone(), carried.clone());
        Self {
            thinking: Thinking::new(channel.clone(), carried.clone()),
            critique: Critique::new(channel.clone(), carried.clone()),
            goals: Goals::new(channel.clone(), carried.clone()),
            memory: Memory::new(channel.clone(), carried.clone()),
            link: Link::new(sidecar.clone(), on_away),
            sidecar,
            channel,
            carried,
            turns: Arc::default(),
        }
    }

    /// Begins a turn of the agent, reported beside it: nothing waits for the sidecar, and nothing fails because it is
    /// away.
    pub fn begin_turn(&self, options: impl Into<TurnOptions>) -> Turn {
        let turn = Turn::begin(self.link.clone(), options.into());
        self.turns().push(turn.clone());
        let (this, delivered) = (self.turns.clone(), turn.clone());
        let delivering = turn.clone().deliver(ThinkingServiceClient::new(self.channel.clone()), self.carried.clone());
        tokio::spawn(async move {
            delivering.await;
            this.lock().unwrap_or_else(PoisonError::into_inner).retain(|turn| turn.id() != delivered.id());
        });
        turn
    }

    /// Whether the sidecar is known not to answer now.
    pub fn away(&self) -> bool {
        *self.link.away().borrow()
    }

    /// Returns once the sidecar says that it serves; DEADLINE_EXCEEDED when it has not in time.
    pub async fn wait_until_ready(&self, patience: Duration) -> Result<(), Status> {
        let ready = async {
            loop {
                let mut health = HealthClient::new(self.channel.clone());
                if let Ok(states) = health.watch(HealthCheckRequest::default()).await {
                    let mut states = states.into_inner();
                    while let Ok(Some(state)) = states.message().await {
                        if state.status() == ServingStatus::Serving {
                            return;
                        }
                    }
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(patience, ready).await.map_err(|_| Status::deadline_exceeded("the sidecar is not ready"))
    }

    /// Waits until everything reported so far is durable with the sidecar; false when time is up first.
    pub async fn flush(&self, patience: Duration) -> bool {
        let turns = self.turns().clone();
        let all = async {
            for turn in turns {
                turn.delivered().await;
            }
        };
        timeout(patience, all).await.is_ok()
    }

    /// Waits up to two seconds for events that are on their way, then ends the reporting of turns, for all clones. The
    /// connection goes with the last of them.
    pub async fn close(&self) {
        self.flush(FLUSH).await;
        self.link.close();
    }

    fn turns(&self) -> std::sync::MutexGuard<'_, Vec<Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn given(value: Option<PathBuf>, name: &str) -> Option<PathBuf> {
    value.or_else(|| env::var_os(name).map(PathBuf::from)).filter(|path| !path.as_os_str().is_empty())
}
