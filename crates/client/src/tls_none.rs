//! In place of TLS, where the feature `tls` is off.

use std::io;
use std::path::Path;

use tokio::net::TcpStream;

use crate::certificates::CertificateError;
use crate::wire::Wire;

/// What there is not.
#[derive(Clone, Debug)]
pub(crate) enum Tls {}

impl Tls {
    pub(crate) fn read(_: &Path, _: Option<(&Path, &Path)>) -> Result<Tls, CertificateError> {
        Err(CertificateError::Absent)
    }

    pub(crate) async fn over(&self, _: &str, _: TcpStream) -> io::Result<Wire> {
        match *self {}
    }
}
