//! The endpoints of a service, and a blocking client of it.

use std::future::Future;

use clap::Args;
use tenure_client::{Admin, ClientError, Code, ConnectOptions};
use tokio::runtime::Runtime;

use super::certificates::CertificateFiles;
use super::user::{self, User};
use crate::cmd::failure::Failure;
use crate::cmd::machine;

/// Options that select a service.
#[derive(Debug, Args)]
pub(crate) struct Endpoints {
    /// Members of the service, of Tenure or etcd; the first one that responds is used
    #[arg(long, alias = "endpoint", value_name = "URL,…", value_delimiter = ',')]
    #[arg(default_value = "http://127.0.0.1:2379")]
    endpoints: Vec<String>,
    /// User to authenticate as, NAME:PASSWORD [default: TENURE_USER]
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = user::parse)]
    user: Option<User>,
    #[command(flatten)]
    files: CertificateFiles,
}

impl Endpoints {
    /// Creates a client of the service. The first call opens the connection.
    pub(crate) fn service(&self) -> Result<Service, Failure> {
        let mut access = ConnectOptions::default();
        if let Some(User { name, password }) = user::or_from_environment(self.user.as_ref())? {
            access = access.user(tenure_client::User::new(name, password));
        }
        if let Some(certificates) = self.files.read()? {
            access = access.certificates(certificates);
        }
        Service::new(&self.endpoints, access)
    }

    /// Returns the endpoints as the user gave them.
    pub(crate) fn urls(&self) -> &[String] {
        &self.endpoints
    }
}

/// A blocking client of a service, with the runtime on which its calls run.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) admin: Admin,
    runtime: Runtime,
}

impl Service {
    /// Creates a client of one member, without TLS and without a user.
    pub(crate) fn of(endpoint: &str) -> Result<Service, Failure> {
        Service::new(&[endpoint], ConnectOptions::default())
    }

    fn new<E: AsRef<str>>(endpoints: &[E], access: ConnectOptions) -> Result<Service, Failure> {
        let admin = Admin::new(endpoints, access).map_err(request_failure)?;
        Ok(Service { admin, runtime: machine::current_thread_runtime()? })
    }

    /// Makes a call and waits for its response. Converts an error to a failure of the command.
    pub(crate) fn call<T>(
        &self,
        call: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(call).map_err(request_failure)
    }

    /// Makes several calls and waits for all of them. The caller handles errors.
    pub(crate) fn run<T>(&self, calls: impl Future<Output = T>) -> T {
        self.runtime.block_on(calls)
    }
}

/// Converts the error of a call into a failure of the command.
pub(crate) fn request_failure(error: ClientError) -> Failure {
    match error {
        ClientError::MissingCertificates { .. } => {
            Failure::usage(format!("{error}: give the CA certificate with --cacert"))
        }
        ClientError::InvalidEndpoint { .. } => Failure::usage(error),
        // Not an error response: the received data is invalid.
        ClientError::Rejected { code: Code::Internal | Code::OutOfRange, .. } => {
            Failure::environment(error)
        }
        ClientError::Rejected { .. } => Failure::usage(user::with_remedy(error.to_string())),
        error => Failure::environment(error),
    }
}
