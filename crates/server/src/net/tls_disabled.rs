//! Replacement of `tls` for builds without the feature `tls`.

use std::io;

use tokio::net::TcpStream;

use crate::config::{ConfigError, TlsFiles};

/// Uninhabited: this build cannot read certificates.
#[derive(Debug)]
pub(crate) enum Tls {}

impl Tls {
    pub(crate) fn read(_: &TlsFiles) -> Result<Tls, ConfigError> {
        Err(ConfigError::OptionProblem(
            "this build has no TLS support: install one with `cargo install --path crates/cli \
             --features tls`",
        ))
    }

    pub(crate) async fn accept(&self, _: TcpStream) -> io::Result<TcpStream> {
        match *self {}
    }
}
