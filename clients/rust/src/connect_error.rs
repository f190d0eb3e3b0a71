use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use crate::transport::DEFAULT_ADDRESS;

/// Why there is no client. That the sidecar is away is no reason.
#[non_exhaustive]
pub enum ConnectError {
    /// This is no address that the sidecar can be reached at.
    Address(String),
    /// A file cannot be read.
    File(PathBuf, std::io::Error),
    /// What is in a file of certificates or of a key cannot be used.
    Tls(tonic::transport::Error),
    /// Of the client's certificate and its key only one was given.
    HalfIdentity,
    /// The token would go to this host over a connection that everybody on the way can read.
    TokenInTheClear(String),
    /// A client's certificate is given, and the connection to this host would be plain.
    CertificateWithoutTls(String),
    /// TLS was asked for, and the crate was built without its feature `tls`.
    NoTls,
    /// The system gives no thread for what goes on beside the agent.
    NoThread(std::io::Error),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(given) => write!(
                to,
                "the address {given:?} of Sidemirror (SIDEMIRROR_ADDRESS, or `address`): host:port, such as \
                 {DEFAULT_ADDRESS}, https://host, https://host:port or unix:/path is expected"
            ),
            Self::File(path, _) => write!(to, "the file {} cannot be read", path.display()),
            Self::Tls(_) => write!(to, "the certificates or the key cannot be used"),
            Self::HalfIdentity => write!(to, "a client's certificate needs its key, and the key its certificate"),
            Self::TokenInTheClear(host) => write!(
                to,
                "the token of SIDEMIRROR_TOKEN_FILE does not go to {host} without TLS: write https:// before the address, \
                 or set `tls`, or name the authority's file in SIDEMIRROR_CA_FILE"
            ),
            Self::CertificateWithoutTls(host) => write!(
                to,
                "the certificate of SIDEMIRROR_CLIENT_CERTIFICATE_FILE does nothing at {host} without TLS: write https:// \
                 before the address, or set `tls`, or name the authority's file in SIDEMIRROR_CA_FILE"
            ),
            Self::NoTls => write!(to, "TLS needs the feature `tls` of sidemirror-client"),
            Self::NoThread(_) => write!(to, "the client's own thread cannot be started"),
        }
    }
}

/// As `Display`, and what is behind it: `fn main() -> Result<_, ConnectError>` prints this, which has to say what to set.
impl fmt::Debug for ConnectError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{self}")?;
        match self {
            Self::Tls(error) => write!(to, ": {error:?}"),
            Self::File(_, error) | Self::NoThread(error) => write!(to, ": {error}"),
            _ => Ok(()),
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Tls(error) => Some(error),
            Self::File(_, error) | Self::NoThread(error) => Some(error),
            Self::Address(_)
            | Self::HalfIdentity
            | Self::TokenInTheClear(_)
            | Self::CertificateWithoutTls(_)
            | Self::NoTls => None,
        }
    }
}
