//! Certificates for TLS.

use std::io;
use std::path::Path;

use thiserror::Error;
use tokio::net::TcpStream;

use crate::byte_stream::ByteStream;
use crate::tls::config::TlsConfig;

#[cfg_attr(not(feature = "tls"), path = "disabled.rs")]
mod config;

/// Certificates for endpoints with `https`: the certificates of trusted authorities and,
/// optionally, the certificate of the client. The files are read once, so later changes of the
/// files have no effect.
#[derive(Clone, Debug)]
pub struct Certificates(TlsConfig);

/// Error while reading certificates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// A certificate file or key file is invalid or cannot be read.
    #[error("{path}: {reason}")]
    File {
        /// Path of the certificate file or key file.
        path: String,
        /// Description of the problem.
        reason: String,
    },
    /// This build does not have the feature `tls`.
    #[error(
        "this program was built without TLS; `cargo install --path crates/cli \
         --features tls` builds one with it"
    )]
    Absent,
}

impl Certificates {
    /// Reads certificates from PEM files. `authorities` contains the authorities that sign the
    /// members' certificates. If members require a client certificate, `client_certificate`
    /// contains the files of the client's certificate and of its private key.
    ///
    /// # Errors
    ///
    /// [`CertificateError::File`] if a file is invalid or cannot be read, and
    /// [`CertificateError::Absent`] if this build does not have the feature `tls`.
    pub fn read(
        authorities: &Path,
        client_certificate: Option<(&Path, &Path)>,
    ) -> Result<Certificates, CertificateError> {
        TlsConfig::read(authorities, client_certificate).map(Certificates)
    }

    pub(crate) fn has_client_certificate(&self) -> bool {
        self.0.has_client_certificate()
    }

    pub(crate) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<ByteStream> {
        self.0.connect(host, stream).await
    }
}
