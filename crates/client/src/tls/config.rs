//! TLS connections from a client to members.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::byte_stream::ByteStream;
use crate::tls::CertificateError;

#[derive(Clone, Debug)]
pub(crate) struct TlsConfig {
    http2: Arc<ClientConfig>,
    has_client_certificate: bool,
}

impl TlsConfig {
    pub(crate) fn read(
        authorities: &Path,
        client_certificate: Option<(&Path, &Path)>,
    ) -> Result<TlsConfig, CertificateError> {
        let mut roots = RootCertStore::empty();
        for root in certificates(authorities)? {
            roots.add(root).map_err(|error| invalid(authorities, error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| invalid(authorities, error))?
            .with_root_certificates(roots);
        let mut config = match client_certificate {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let own = certificates(certificate)?;
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|it| invalid(key, it))?;
                builder.with_client_auth_cert(own, secret).map_err(|it| invalid(key, it))?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(TlsConfig {
            http2: Arc::new(config),
            has_client_certificate: client_certificate.is_some(),
        })
    }

    pub(crate) fn has_client_certificate(&self) -> bool {
        self.has_client_certificate
    }

    pub(crate) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<ByteStream> {
        let connector = TlsConnector::from(self.http2.clone());
        Ok(Box::new(connector.connect(server_name(host)?, stream).await?))
    }
}

fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    ServerName::try_from(bare).map_err(io::Error::other)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| invalid(path, error))?;
    if found.is_empty() { Err(invalid(path, "it contains no certificate")) } else { Ok(found) }
}

fn invalid(path: &Path, reason: impl ToString) -> CertificateError {
    CertificateError::File { path: path.display().to_string(), reason: reason.to_string() }
}
