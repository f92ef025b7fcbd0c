//! Whom a command believes where members speak TLS.

use std::path::PathBuf;

use clap::Args;
use tenure_client::Certificates;

use crate::cmd::failure::Failure;

/// Whom a command believes where members speak TLS, and what it shows them.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Files {
    /// Who vouches for the members, where URLs are https (PEM)
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// The certificate that members are shown, where they want to see one (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["cacert", "key"])]
    cert: Option<PathBuf>,
    /// The private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

impl Files {
    /// What is in them, if there are any.
    pub(crate) fn read(&self) -> Result<Option<Certificates>, Failure> {
        let Some(authorities) = &self.cacert else { return Ok(None) };
        let own = self.cert.as_deref().zip(self.key.as_deref());
        Certificates::read(authorities, own).map(Some).map_err(Failure::usage)
    }
}
