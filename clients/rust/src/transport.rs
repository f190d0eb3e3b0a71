//! Where the sidecar is and how it is reached: from options and the environment to an endpoint.

use std::env;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tonic::transport::Endpoint;

use crate::connect_error::ConnectError;
use crate::Options;

/// Where a sidecar listens when nobody says otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:50051";
const HTTPS_PORT: u16 = 443;

/// The address as the options name it, or the environment.
pub(crate) fn address_of(options: &Options) -> String {
    let address = options.address.clone().filter(|address| !address.is_empty());
    let address = address.or_else(|| env::var("SIDEMIRROR_ADDRESS").ok().filter(|address| !address.is_empty()));
    address.unwrap_or_else(|| DEFAULT_ADDRESS.into())
}

/// The endpoint that the options name.
pub(crate) fn endpoint_of(options: &Options, token_file: Option<&Path>) -> Result<Endpoint, ConnectError> {
    let address = address_of(options);
    let endpoint_at = |target: String| {
        let endpoint = Endpoint::from_shared(target).map_err(|_| ConnectError::Address(address.clone()))?;
        Ok(with_patience(endpoint))
    };
    if address.strip_prefix("unix:").is_some_and(|path| !path.trim_matches('/').is_empty()) {
        return endpoint_at(address.clone());
    }
    let ca_file = given(options.ca_file.as_ref(), "SIDEMIRROR_CA_FILE");
    let tls = options.tls || ca_file.is_some() || address.starts_with("https://");
    let target = target_of(&address, tls).ok_or_else(|| ConnectError::Address(address.clone()))?;
    let endpoint = endpoint_at(target)?;
    let certificate = given(options.client_certificate_file.as_ref(), "SIDEMIRROR_CLIENT_CERTIFICATE_FILE");
    let key = given(options.client_key_file.as_ref(), "SIDEMIRROR_CLIENT_KEY_FILE");
    if tls {
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((read(&certificate)?, read(&key)?)),
            (None, None) => None,
            _ => return Err(ConnectError::HalfIdentity),
        };
        return with_tls(endpoint, ca_file.as_deref().map(read).transpose()?, identity);
    }
    let host = endpoint.uri().host().unwrap_or_default();
    if token_file.is_some() && !is_loopback(host) {
        return Err(ConnectError::TokenInTheClear(host.into()));
    }
    if (certificate.is_some() || key.is_some()) && !is_loopback(host) {
        return Err(ConnectError::CertificateWithoutTls(host.into()));
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

/// The URI of an address; None for what is no address.
fn target_of(address: &str, tls: bool) -> Option<String> {
    let bare = address.strip_prefix("https://").or(address.strip_prefix("http://")).unwrap_or(address);
    let mut place = bare.trim_end_matches('/').to_owned();
    if tls && (!place.contains(':') || place.ends_with(']')) {
        place = format!("{place}:{HTTPS_PORT}");
    }
    let scheme = if tls { "https" } else { "http" };
    is_place(&place).then(|| format!("{scheme}://{place}"))
}

/// Whether it is host:port, with a port that there can be, and IPv6 in brackets.
fn is_place(place: &str) -> bool {
    let Some((host, port)) = place.rsplit_once(':') else { return false };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(number) => number.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || ":/[]@?#\\".contains(c)),
    };
    is_host && port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
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
        let at = |address, tls| target_of(address, tls).unwrap();
        assert_eq!(at("https://a.example.com", true), "https://a.example.com:443");
        assert_eq!(at("a.example.com", true), "https://a.example.com:443");
        assert_eq!(at("https://[::1]", true), "https://[::1]:443");
        assert_eq!(at("https://a.example.com:7/", true), "https://a.example.com:7");
        assert_eq!(at("a.example.com:7", true), "https://a.example.com:7");
        assert_eq!(at("http://a:7", false), "http://a:7");
    }

    /// What `?` in `main` prints. Seen to fail when Debug is derived.
    #[test]
    fn a_refused_address_says_what_to_set() {
        let at = |address: &str| Options { address: Some(address.into()), ..Default::default() };
        let clear = endpoint_of(&at("example.com:7"), Some(Path::new("token")));
        assert!(matches!(clear, Err(ConnectError::TokenInTheClear(_))));
        assert!(format!("{:?}", clear.err()).contains("https://"));
        // A host behind an @ would be what is connected to.
        let hidden = endpoint_of(&at("localhost@example.com:7"), Some(Path::new("token")));
        assert!(matches!(hidden, Err(ConnectError::Address(_))));
        assert!(format!("{:?}", hidden.err()).contains("SIDEMIRROR_ADDRESS"));
    }
}
