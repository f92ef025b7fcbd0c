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
    pub(super) cacert: Option<PathBuf>,
    /// Client certificate, for members that require one (PEM)
    #[arg(long, value_name = "FILE")]
    pub(super) cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
}

impl CertificateFiles {
    /// Combines two sets of files. A file in `self` takes precedence over the file in `other`. The
    /// client certificate and its key always come from the same set.
    pub(super) fn with_fallback(&self, other: CertificateFiles) -> CertificateFiles {
        let cacert = self.cacert.clone().or(other.cacert);
        let (cert, key) = match (&self.cert, &self.key) {
            (None, None) => (other.cert, other.key),
            (cert, key) => (cert.clone(), key.clone()),
        };
        CertificateFiles { cacert, cert, key }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.cacert.is_none() && self.cert.is_none() && self.key.is_none()
    }

    /// Reads the certificates. Returns `None` if no CA certificate is given.
    ///
    /// # Errors
    ///
    /// Returns an error if a file is missing or invalid, or if a client certificate is given
    /// without its key or without a CA certificate.
    pub(super) fn read(&self) -> Result<Option<Certificates>, Failure> {
        let own = self.cert.as_deref().zip(self.key.as_deref());
        match &self.cacert {
            _ if own.is_none() && (self.cert.is_some() || self.key.is_some()) => {
                Err(Failure::usage("a client certificate requires --cert, --key and --cacert"))
            }
            None if own.is_some() => {
                Err(Failure::usage("a client certificate requires --cacert as well"))
            }
            None => Ok(None),
            Some(authorities) => {
                Certificates::read(authorities, own).map(Some).map_err(Failure::usage)
            }
        }
    }
}
