//! Whom a client believes, where members speak TLS.

use std::io;
use std::path::Path;

use thiserror::Error;
use tokio::net::TcpStream;

use crate::tls::Tls;
use crate::wire::Wire;

/// Whom a client believes where members speak TLS (`https://…`), and what it shows them. Read once:
/// files that change later make no difference to it.
#[derive(Clone, Debug)]
pub struct Certificates(Tls);

/// Why there are no certificates: nothing was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// A file cannot be used.
    #[error("{path}: {says}")]
    File {
        /// Which one.
        path: String,
        /// What is wrong with it.
        says: String,
    },
    /// The feature `tls` is off.
    #[error(
        "this program was built without TLS; `cargo install --path crates/cli \
         --features tls` builds one with it"
    )]
    Absent,
}

impl Certificates {
    /// Reads files in PEM: the certificates of those who vouch for members, and where members want
    /// to see one, the own certificate and its private key.
    ///
    /// # Errors
    ///
    /// [`CertificateError`]
    pub fn read(
        authorities: &Path,
        own: Option<(&Path, &Path)>,
    ) -> Result<Certificates, CertificateError> {
        Tls::read(authorities, own).map(Certificates)
    }

    pub(crate) async fn wire(&self, host: &str, stream: TcpStream) -> io::Result<Wire> {
        self.0.over(host, stream).await
    }
}
