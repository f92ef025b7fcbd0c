//! Members that speak TLS: whom a client believes, and what it shows them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::certificates::CertificateError;
use crate::wire::Wire;

/// What was in the files.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    /// To speak HTTP/2.
    http2: Arc<ClientConfig>,
}

impl Tls {
    pub(crate) fn read(
        authorities: &Path,
        own: Option<(&Path, &Path)>,
    ) -> Result<Tls, CertificateError> {
        let mut roots = RootCertStore::empty();
        for root in certificates(authorities)? {
            roots.add(root).map_err(|error| wrong(authorities, error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(authorities, error))?
            .with_root_certificates(roots);
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let own = certificates(certificate)?;
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|it| wrong(key, it))?;
                builder.with_client_auth_cert(own, secret).map_err(|it| wrong(key, it))?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Tls { http2: Arc::new(config) })
    }

    /// Shakes hands with a member that is called so, to speak HTTP/2.
    pub(crate) async fn over(&self, host: &str, stream: TcpStream) -> io::Result<Wire> {
        let connector = TlsConnector::from(self.http2.clone());
        Ok(Box::new(connector.connect(name(host)?, stream).await?))
    }
}

fn name(host: &str) -> io::Result<ServerName<'static>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    ServerName::try_from(bare).map_err(io::Error::other)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| wrong(path, error))?;
    if found.is_empty() { Err(wrong(path, "no certificate in it")) } else { Ok(found) }
}

fn wrong(path: &Path, says: impl ToString) -> CertificateError {
    CertificateError::File { path: path.display().to_string(), says: says.to_string() }
}
