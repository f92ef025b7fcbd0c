//! TLS: the certificate of a member, and the verification of client certificates.
//!
//! The server looks for changed files at a handshake, at most once per second. Open connections
//! keep their certificates. If the changed files cannot be loaded, the server logs the error,
//! continues with the last valid files, and tries again.

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

use crate::config::{ConfigError, TlsFiles};

const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Certificate files, and the TLS configuration from their last valid contents.
pub(crate) struct Tls {
    files: TlsFiles,
    current: Mutex<Current>,
}

struct Current {
    config: Arc<ServerConfig>,
    /// Stamps of the files from which `config` was loaded.
    stamps: Stamps,
    checked_at: Instant,
    /// Last failure to load changed files: their stamps, and the error. `None` if no load has
    /// failed since `config` was loaded.
    failure: Option<(Stamps, String)>,
}

/// Modification time and length of each file; `None` for a file that cannot be read.
type Stamps = Vec<Option<(SystemTime, u64)>>;

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Tls {
    pub(crate) fn read(files: &TlsFiles) -> Result<Tls, ConfigError> {
        let stamps = stamps(files);
        let config = Arc::new(config(files)?);
        let current = Current { config, stamps, checked_at: Instant::now(), failure: None };
        Ok(Tls { files: files.clone(), current: Mutex::new(current) })
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.config()).accept(stream).await
    }

    /// Returns the TLS configuration from the current files. If the current files cannot be loaded,
    /// returns the configuration from the last valid files.
    fn config(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.checked_at.elapsed() >= RELOAD_INTERVAL {
            current.checked_at = Instant::now();
            self.reload_if_changed(&mut current);
        }
        current.config.clone()
    }

    /// Loads the files if they have changed since they were loaded. A failed load is repeated at
    /// the next check, even if the stamps stay the same: for example, the owner of a file may
    /// change. The error is logged again only if the stamps or the error change.
    fn reload_if_changed(&self, current: &mut Current) {
        let stamps = stamps(&self.files);
        if stamps == current.stamps {
            return;
        }
        let file = self.files.cert.display();
        match config(&self.files) {
            Ok(config) => {
                (current.config, current.stamps) = (Arc::new(config), stamps);
                current.failure = None;
                info!(%file, "certificates reloaded");
            }
            Err(error) => {
                let failure = Some((stamps, error.to_string()));
                if current.failure != failure {
                    error!(%file, %error, "certificates not reloaded");
                    current.failure = failure;
                }
            }
        }
    }
}

fn stamps(files: &TlsFiles) -> Stamps {
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

fn config(files: &TlsFiles) -> Result<ServerConfig, ConfigError> {
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Creates a key and a certificate in `folder`. Returns `None` without `openssl`.
    fn create(folder: &Path, name: &str) -> Option<()> {
        let line = format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 9 -subj /CN=a \
             -keyout {name}.key -out {name}.pem"
        );
        let made = Command::new("openssl").args(line.split(' ')).current_dir(folder).output();
        made.ok().filter(|it| it.status.success()).map(drop)
    }

    /// Replaces a file, and gives it the modification time `modified_at`.
    fn replace(path: &Path, content: &[u8], modified_at: SystemTime) {
        fs::write(path, content).expect("a write");
        let file = fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(modified_at).expect("the owner of the file");
    }

    /// Replaces the files while one of them cannot be loaded. The file becomes valid later, without
    /// a change of its length and of its modification time, as after `chown`.
    #[test]
    fn failed_reload_is_repeated_although_stamps_stay_the_same() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| folder.path().join(name);
        if ["own", "next"].iter().any(|name| create(folder.path(), name).is_none()) {
            return crate::skipped::report_skip("openssl");
        }
        let files = TlsFiles { cert: at("own.pem"), key: at("own.key"), client_ca: None };
        let tls = Tls::read(&files).expect("valid files");
        let config = || {
            let mut current = tls.current.lock().expect("no panic");
            tls.reload_if_changed(&mut current);
            current.config.clone()
        };
        let failure = || tls.current.lock().expect("no panic").failure.clone();
        let before = config();
        let modified_at = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let key = fs::read(at("next.key")).expect("a file");
        fs::copy(at("next.pem"), at("own.pem")).expect("a write");
        replace(&at("own.key"), &vec![b'x'; key.len()], modified_at);
        for _ in 0..2 {
            assert!(Arc::ptr_eq(&config(), &before), "the key is invalid");
            assert!(failure().is_some());
        }
        replace(&at("own.key"), &key, modified_at);
        let after = config();
        assert!(!Arc::ptr_eq(&after, &before), "the files are valid now");
        assert!(Arc::ptr_eq(&config(), &after), "the files are unchanged");
        assert_eq!(failure(), None);
    }
}
