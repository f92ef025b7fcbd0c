//! Certificates: the one that a member shows, and those of clients that it takes.
//!
//! Files are looked at again when a client comes and a second has passed; who is connected stays
//! so. A file that cannot be used changes nothing: the log says why.

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

/// How long it takes at least before the files are looked at again.
const AGAIN: Duration = Duration::from_secs(1);

/// Files of certificates, and what was in them.
pub(crate) struct Tls {
    files: Certificates,
    current: Mutex<Current>,
}

struct Current {
    config: Arc<ServerConfig>,
    stamps: Stamps,
    looked: Instant,
}

/// When files were written, and how long they are.
type Stamps = Vec<Option<(SystemTime, u64)>>;

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files.
    pub(crate) fn read(files: &Certificates) -> Result<Tls, ConfigError> {
        let stamps = stamps(files);
        let config = Arc::new(config(files)?);
        let current = Mutex::new(Current { config, stamps, looked: Instant::now() });
        Ok(Tls { files: files.clone(), current })
    }

    /// Shakes hands with whoever has connected.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.config()).accept(stream).await
    }

    /// What the files say now, or said when they could be used last.
    fn config(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked.elapsed() >= AGAIN {
            current.looked = Instant::now();
            let stamps = stamps(&self.files);
            if stamps != current.stamps {
                current.stamps = stamps;
                match config(&self.files) {
                    Ok(config) => {
                        current.config = Arc::new(config);
                        info!("certificates were read again");
                    }
                    Err(why) => error!("certificates stay as they were: {why}"),
                }
            }
        }
        current.config.clone()
    }
}

fn stamps(files: &Certificates) -> Stamps {
    let stamp = |path: &PathBuf| {
        let seen = fs::metadata(path).ok()?;
        Some((seen.modified().ok()?, seen.len()))
    };
    [Some(&files.own), Some(&files.key), files.of_clients.as_ref()]
        .into_iter()
        .flatten()
        .map(stamp)
        .collect()
}

fn wrong(option: &'static str, path: &Path, says: impl ToString) -> ConfigError {
    let path = path.display().to_string();
    ConfigError::Certificate { option, path, says: says.to_string() }
}

fn certificates(
    option: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| wrong(option, path, error))?;
    if found.is_empty() { Err(wrong(option, path, "no certificate in it")) } else { Ok(found) }
}

fn config(files: &Certificates) -> Result<ServerConfig, ConfigError> {
    let own = certificates("--cert-file", &files.own)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| wrong("--key-file", &files.key, error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong("--cert-file", &files.own, error))?;
    let builder = match &files.of_clients {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let option = "--trusted-ca-file";
            let mut roots = RootCertStore::empty();
            for root in certificates(option, path)? {
                roots.add(root).map_err(|error| wrong(option, path, error))?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| wrong(option, path, error))?)
        }
    };
    let mut config = builder
        .with_single_cert(own, key)
        .map_err(|error| wrong("--key-file", &files.key, error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
