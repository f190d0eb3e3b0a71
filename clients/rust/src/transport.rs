//! Where the sidecar is and how it is reached: from options and the environment to an endpoint.

use std::env;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tonic::transport::Endpoint;

use crate::connect_error::ConnectError;
use crate::Options;

/// Where a sidecar listens when nobody says otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:50051";
const HTTPS_PORT: u16 = 443;

/// The endpoint that the options name.
pub(crate) fn endpoint_of(options: &Options, token_file: Option<&Path>) -> Result<Endpoint, ConnectError> {
    let address = options.address.clone().filter(|address| !address.is_empty());
    let address = address.or_else(|| env::var("SIDEMIRROR_ADDRESS").ok().filter(|address| !address.is_empty()));
    let address = address.unwrap_or_else(|| DEFAULT_ADDRESS.into());
    if address.starts_with("unix:") {
        return Ok(with_patience(Endpoint::from_shared(address).map_err(ConnectError::Address)?));
    }
    let ca_file = given(options.ca_file.as_ref(), "SIDEMIRROR_CA_FILE");
    let tls = options.tls || ca_file.is_some() || address.starts_with("https://");
    let target = target_of(&address, tls);
    let endpoint = with_patience(Endpoint::from_shared(target).map_err(ConnectError::Address)?);
    if tls {
        let certificate = given(options.client_certificate_file.as_ref(), "SIDEMIRROR_CLIENT_CERTIFICATE_FILE");
        let key = given(options.client_key_file.as_ref(), "SIDEMIRROR_CLIENT_KEY_FILE");
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((read(&certificate)?, read(&key)?)),
            (None, None) => None,
            _ => return Err(ConnectError::HalfIdentity),
        };
        return with_tls(endpoint, ca_file.as_deref().map(read).transpose()?, identity);
    }
    // Of the URI that is connected to: what looks like a host in the address may be none.
    let host = endpoint.uri().host().unwrap_or_default();
    if token_file.is_some() && !is_loopback(host) {
        return Err(ConnectError::TokenInTheClear(host.into()));
    }
    Ok(endpoint)
}

/// The path that was given, or that the environment names.
pub(crate) fn given(value: Option<&PathBuf>, name: &str) -> Option<PathBuf> {
    let value = value.cloned().or_else(|| env::var_os(name).map(PathBuf::from));
    value.filter(|path| !path.as_os_str().is_empty())
}

fn with_patience(endpoint: Endpoint) -> Endpoint {
    endpoint
        .connect_timeout(Duration::from_secs(1))
        .http2_keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(20))
}

fn target_of(address: &str, tls: bool) -> String {
    let is_https = address.starts_with("https://");
    let bare = address.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    let has_port = bare.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match (tls, is_https && !has_port) {
        (true, true) => format!("https://{bare}:{HTTPS_PORT}"),
        (true, false) => format!("https://{bare}"),
        (false, _) => format!("http://{bare}"),
    }
}

/// Whether a host is this machine, by its own name or number.
fn is_loopback(host: &str) -> bool {
    let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || number.is_ok_and(|number| number.is_loopback())
}

#[cfg(feature = "tls")]
fn with_tls(
    endpoint: Endpoint,
    authorities: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
) -> Result<Endpoint, ConnectError> {
    use tonic::transport::{Certificate, ClientTlsConfig, Identity};

    let mut tls = match authorities {
        Some(authorities) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authorities)),
        None => ClientTlsConfig::new().with_native_roots(),
    };
    if let Some((certificate, key)) = identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    endpoint.tls_config(tls).map_err(ConnectError::Tls)
}

#[cfg(not(feature = "tls"))]
fn with_tls(_: Endpoint, _: Option<Vec<u8>>, _: Option<(Vec<u8>, Vec<u8>)>) -> Result<Endpoint, ConnectError> {
    Err(ConnectError::NoTls)
}

fn read(path: &Path) -> Result<Vec<u8>, ConnectError> {
    std::fs::read(path).map_err(|error| ConnectError::File(path.into(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen to fail when everything that begins with 127 counts as loopback, and without the port of HTTPS.
    #[test]
    fn what_is_this_machine_and_what_is_connected_to() {
        for host in ["localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["127.0.0.1.example.com", "localhost.example.com", "10.0.0.7", "[::2]", ""] {
            assert!(!is_loopback(host), "{host}");
        }
        assert_eq!(target_of("https://a.example.com", true), "https://a.example.com:443");
        assert_eq!(target_of("https://[::1]", true), "https://[::1]:443");
        assert_eq!(target_of("https://a.example.com:7/", true), "https://a.example.com:7");
        assert_eq!(target_of("a.example.com:7", true), "https://a.example.com:7");
        assert_eq!(target_of("http://a:7", false), "http://a:7");
    }

    /// The host behind the @ is what is connected to. Seen to fail when the part before it counts.
    #[test]
    fn a_token_does_not_go_where_the_address_only_seems_to_lead() {
        let options = Options { address: Some("localhost@example.com:7".into()), ..Default::default() };
        let refused = endpoint_of(&options, Some(Path::new("token")));
        assert!(matches!(refused, Err(ConnectError::TokenInTheClear(_))));
        // What `?` in `main` prints. Seen to fail when Debug is derived.
        assert!(format!("{:?}", refused.err()).contains("https://"));
    }
}
