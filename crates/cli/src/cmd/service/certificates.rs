//! TLS certificates of a client command.

use std::path::PathBuf;

use clap::Args;
use tenure_client::Certificates;

use crate::cmd::failure::Failure;

/// TLS certificates of a client command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CertificateFiles {
    /// CA certificates that the members' certificates must be signed by, for https URLs (PEM)
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Client certificate, for members that require one (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["cacert", "key"])]
    cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

impl CertificateFiles {
    /// Reads the files, if any are given.
    pub(crate) fn read(&self) -> Result<Option<Certificates>, Failure> {
        let Some(authorities) = &self.cacert else { return Ok(None) };
        let own = self.cert.as_deref().zip(self.key.as_deref());
        Certificates::read(authorities, own).map(Some).map_err(Failure::usage)
    }
}
