//! TLS: the certificate of a member, and the verification of client certificates.
//!
//! The server looks for changed files at a handshake, at most once per second. Open connections
//! keep their certificates. If a changed file is invalid, the server logs the error and continues
//! with the last valid files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{error, info};

use crate::config::{Certificates, ConfigError};

const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Certificate files, and the TLS configuration from their last valid contents.
pub(crate) struct Tls {
    files: Certificates,
    current: Mutex<Current>,
}

struct Current {
    config: Arc<ServerConfig>,
    stamps: Stamps,
    checked_at: Instant,
}

/// Modification time and length of each file; `None` for a file that cannot be read.
type Stamps = Vec<Option<(SystemTime, u64)>>;

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Tls {
    pub(crate) fn read(files: &Certificates) -> Result<Tls, ConfigError> {
        let stamps = stamps(files);
        let config = Arc::new(config(files)?);
        let current = Mutex::new(Current { config, stamps, checked_at: Instant::now() });
        Ok(Tls { files: files.clone(), current })
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.config()).accept(stream).await
    }

    /// Returns the TLS configuration from the current files. If the current files are invalid,
    /// returns the configuration from the last valid files.
    fn config(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.checked_at.elapsed() >= RELOAD_INTERVAL {
            current.checked_at = Instant::now();
            let stamps = stamps(&self.files);
            if stamps != current.stamps {
                current.stamps = stamps;
                match config(&self.files) {
                    Ok(config) => {
                        current.config = Arc::new(config);
                        info!(file = %self.files.cert.display(), "certificates reloaded");
                    }
                    Err(error) => {
                        let file = self.files.cert.display();
                        error!(%file, %error, "certificates not reloaded");
                    }
                }
            }
        }
        current.config.clone()
    }
}

fn stamps(files: &Certificates) -> Stamps {
    let stamp = |path: &PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    [Some(&files.cert), Some(&files.key), files.client_ca.as_ref()]
        .into_iter()
        .flatten()
        .map(stamp)
        .collect()
}

fn invalid(option: &'static str, path: &Path, reason: impl ToString) -> ConfigError {
    let path = path.display().to_string();
    ConfigError::Certificate { option, path, reason: reason.to_string() }
}

fn certificates(
    option: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| invalid(option, path, error))?;
    if found.is_empty() {
        Err(invalid(option, path, "the file contains no certificate"))
    } else {
        Ok(found)
    }
}

fn config(files: &Certificates) -> Result<ServerConfig, ConfigError> {
    let cert = certificates("--cert-file", &files.cert)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| invalid("--key-file", &files.key, error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid("--cert-file", &files.cert, error))?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let option = "--trusted-ca-file";
            let mut roots = RootCertStore::empty();
            for root in certificates(option, path)? {
                roots.add(root).map_err(|error| invalid(option, path, error))?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder
                .with_client_cert_verifier(verifier.map_err(|error| invalid(option, path, error))?)
        }
    };
    let mut config = builder
        .with_single_cert(cert, key)
        .map_err(|error| invalid("--key-file", &files.key, error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
