//! The service that a command asks, and a client of it for a command that waits for each response.

use std::future::Future;

use clap::Args;
use tenure_client::{Access, Admin, ClientError, Code};
use tokio::runtime::Runtime;

use super::certificates::Files;
use super::user::{self, User};
use crate::cmd::failure::Failure;
use crate::cmd::machine;

/// The service that a command asks.
#[derive(Debug, Args)]
pub(crate) struct Endpoints {
    /// Members of the service, of Tenure or etcd; the first one that answers is asked
    #[arg(long, alias = "endpoint", value_name = "URL,…", value_delimiter = ',')]
    #[arg(default_value = "http://127.0.0.1:2379")]
    endpoints: Vec<String>,
    /// Who asks, where members want to know: NAME:PASSWORD [default: TENURE_USER]
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = user::parse)]
    user: Option<User>,
    #[command(flatten)]
    files: Files,
}

impl Endpoints {
    /// Makes a client. It connects with the first call.
    pub(crate) fn service(&self) -> Result<Service, Failure> {
        let mut access = Access::default();
        if let Some(User { name, password }) = user::or_of_environment(self.user.as_ref())? {
            access = access.user(tenure_client::User::new(name, password));
        }
        if let Some(certificates) = self.files.read()? {
            access = access.certificates(certificates);
        }
        Service::new(&self.endpoints, access)
    }

    /// The endpoints as they were given.
    pub(crate) fn urls(&self) -> &[String] {
        &self.endpoints
    }
}

/// A client of a service, with the runtime on which its calls are made.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) admin: Admin,
    runtime: Runtime,
}

impl Service {
    /// A client of one member, without TLS and as no user.
    pub(crate) fn of(endpoint: &str) -> Result<Service, Failure> {
        Service::new(&[endpoint], Access::default())
    }

    fn new<E: AsRef<str>>(endpoints: &[E], access: Access) -> Result<Service, Failure> {
        let admin = Admin::new(endpoints, access).map_err(failed)?;
        Ok(Service { admin, runtime: machine::one_thread()? })
    }

    /// Waits for a call.
    pub(crate) fn call<T>(
        &self,
        call: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(call).map_err(failed)
    }

    /// Waits for several calls of which one failure may end the command.
    pub(crate) fn run<T>(&self, calls: impl Future<Output = T>) -> T {
        self.runtime.block_on(calls)
    }
}

/// The failure of a call, as a command reports it.
pub(crate) fn failed(error: ClientError) -> Failure {
    match error {
        ClientError::Unvouched { .. } => {
            Failure::usage(format!("{error}: --cacert says whose does"))
        }
        ClientError::Endpoint { .. } => Failure::usage(error),
        // Not a refusal: what was received is no response.
        ClientError::Refused { code: Code::Internal | Code::OutOfRange, .. } => {
            Failure::environment(error)
        }
        ClientError::Refused { .. } => Failure::usage(user::advised(error.to_string())),
        error => Failure::environment(error),
    }
}
