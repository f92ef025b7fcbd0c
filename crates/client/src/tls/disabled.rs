//! Replacement for TLS in a build without the feature `tls`.

use std::io;
use std::path::Path;

use tokio::net::TcpStream;

use crate::byte_stream::ByteStream;
use crate::tls::CertificateError;

/// Uninhabited: this build cannot read certificates.
#[derive(Clone, Debug)]
pub(crate) enum TlsConfig {}

impl TlsConfig {
    pub(crate) fn read(_: &Path, _: Option<(&Path, &Path)>) -> Result<TlsConfig, CertificateError> {
        Err(CertificateError::Absent)
    }

    pub(crate) fn has_client_certificate(&self) -> bool {
        match *self {}
    }

    pub(crate) async fn connect(&self, _: &str, _: TcpStream) -> io::Result<ByteStream> {
        match *self {}
    }
}
