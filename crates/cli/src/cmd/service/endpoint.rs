//! The endpoints of a lock service, and a blocking client of the service.

use std::env;
use std::future::Future;

use clap::Args;
use tenure_client::{AdminClient, ClientError, Code, ConnectOptions};
use tokio::runtime::Runtime;

use super::certificates::CertificateFiles;
use super::client_file::ClientSettings;
use super::user::{self, User};
use crate::cmd::failure::Failure;
use crate::cmd::machine;
use crate::cmd::output::Format;

const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:2379";

/// Options that select a service.
#[derive(Clone, Debug, Args)]
pub(crate) struct EndpointOptions {
    /// Members of the service, of Tenure or etcd; the first one that responds is used [default:
    /// TENURE_ENDPOINTS, or the setting in client.toml, or http://127.0.0.1:2379]
    #[arg(long, alias = "endpoint", value_name = "URL,…", value_delimiter = ',')]
    endpoints: Option<Vec<String>>,
    /// User to authenticate as, NAME:PASSWORD [default: TENURE_USER, or the setting in client.toml]
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = user::parse)]
    user: Option<User>,
    #[command(flatten)]
    files: CertificateFiles,
}

/// Options of a command that prints the response of a service.
#[derive(Debug, Args)]
pub(super) struct QueryOptions {
    #[command(flatten)]
    pub(super) endpoints: EndpointOptions,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
}

/// Addresses of the members of the service that a command uses, and the credentials for connections
/// to them.
#[derive(Debug)]
pub(super) struct ConnectionSettings {
    pub(super) endpoints: Vec<String>,
    pub(super) connect_options: ConnectOptions,
}

impl EndpointOptions {
    /// Returns the addresses of the members of the service, and the credentials. An option takes
    /// precedence over the environment, and the environment takes precedence over `client.toml`.
    ///
    /// # Errors
    ///
    /// Returns an error if `client.toml`, the environment variable `TENURE_USER` or a file with
    /// certificates is invalid.
    pub(super) fn resolve_connection_settings(&self) -> Result<ConnectionSettings, Failure> {
        let file = ClientSettings::read()?;
        let certificates = self.files.with_fallback(file.certificates());
        let endpoints = self.endpoints.clone().or_else(endpoints_from_environment);
        let endpoints = endpoints.or(file.endpoints);
        let endpoints = endpoints.unwrap_or_else(|| vec![DEFAULT_ENDPOINT.to_owned()]);
        let user = match &self.user {
            Some(user) => Some(user.clone()),
            None => user::from_environment()?.or(file.user),
        };
        let mut access = ConnectOptions::default();
        if let Some(User { name, password }) = user {
            access = access.user(tenure_client::User::new(name, password));
        }
        // Reads the certificates only for `https` URLs or if an option names a certificate.
        // Certificates of `client.toml` may be for other members.
        let uses_tls = endpoints.iter().any(|endpoint| endpoint.starts_with("https://"));
        if (uses_tls || !self.files.is_empty())
            && let Some(certificates) = certificates.read()?
        {
            access = access.certificates(certificates);
        }
        Ok(ConnectionSettings { endpoints, connect_options: access })
    }

    /// Returns a copy of these options with other members of the service.
    pub(crate) fn with_endpoints(&self, endpoints: Vec<String>) -> EndpointOptions {
        EndpointOptions { endpoints: Some(endpoints), ..self.clone() }
    }

    /// Creates a client of the service. The first call to the service opens the connection.
    pub(crate) fn blocking_client(&self) -> Result<BlockingClient, Failure> {
        let ConnectionSettings { endpoints, connect_options: access } =
            self.resolve_connection_settings()?;
        BlockingClient::new(endpoints, access)
    }
}

fn endpoints_from_environment() -> Option<Vec<String>> {
    let variable = env::var_os("TENURE_ENDPOINTS").filter(|variable| !variable.is_empty())?;
    let endpoints = variable.to_string_lossy();
    Some(endpoints.split(',').map(|endpoint| endpoint.trim().to_owned()).collect())
}

/// Client of a service whose calls block the calling thread.
#[derive(Debug)]
pub(crate) struct BlockingClient {
    pub(crate) admin: AdminClient,
    endpoints: Vec<String>,
    runtime: Runtime,
}

impl BlockingClient {
    /// Creates a client that connects to one member, without TLS and without authentication.
    pub(crate) fn for_endpoint(endpoint: &str) -> Result<BlockingClient, Failure> {
        BlockingClient::new(vec![endpoint.to_owned()], ConnectOptions::default())
    }

    fn new(endpoints: Vec<String>, access: ConnectOptions) -> Result<BlockingClient, Failure> {
        let admin = AdminClient::new(&endpoints, access).map_err(request_failure)?;
        Ok(BlockingClient { admin, endpoints, runtime: machine::current_thread_runtime()? })
    }

    pub(crate) fn endpoints(&self) -> &[String] {
        &self.endpoints
    }

    /// Makes a call to the service, and blocks this thread until the call is complete. Converts an
    /// error by [`request_failure`].
    pub(crate) fn call<T>(
        &self,
        call: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(call).map_err(request_failure)
    }

    /// Runs the future `calls`, which makes calls to the service, and blocks this thread until the
    /// future is complete. Does not convert errors.
    pub(crate) fn block_on<T>(&self, calls: impl Future<Output = T>) -> T {
        self.runtime.block_on(calls)
    }
}

/// Converts an error of a request. A rejected request is a usage failure, and an unreachable
/// service is a failure of the environment.
pub(crate) fn request_failure(error: ClientError) -> Failure {
    match error {
        ClientError::MissingCertificates { .. } => {
            Failure::usage(format!("{error}: give the CA certificate with --cacert"))
        }
        ClientError::InvalidEndpoint { .. } | ClientError::UnknownCandidate { .. } => {
            Failure::usage(error)
        }
        // The request is not at fault: the service failed, or its response is invalid or too large.
        ClientError::Rejected { code: Code::Internal | Code::OutOfRange, .. } => {
            Failure::environment(error)
        }
        ClientError::Rejected { .. } => {
            Failure::usage(user::append_credentials_remedy(error.to_string()))
        }
        error => Failure::environment(user::append_credentials_remedy(error.to_string())),
    }
}
