//! In place of certificates, where the feature `tls` is off.

use std::io;

use tokio::net::TcpStream;

use crate::config::{Certificates, ConfigError};

/// What there is not.
#[derive(Debug)]
pub(crate) enum Tls {}

impl Tls {
    pub(crate) fn read(_: &Certificates) -> Result<Tls, ConfigError> {
        Err(ConfigError::Incomplete(
            "this program was built without TLS; `cargo install --path crates/cli \
             --features tls` builds one with it",
        ))
    }

    pub(crate) async fn accept(&self, _: TcpStream) -> io::Result<TcpStream> {
        match *self {}
    }
}
