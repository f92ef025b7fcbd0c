//! The server: binds an address, draws a token if it needs one, and serves requests.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use tokio::net::TcpListener;

use crate::asset::Asset;
use crate::http_error::HttpError;
use crate::request_policy::{self, RequestPolicy};
use crate::token::AccessToken;
use crate::{body, connections};

/// Reason why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The server cannot bind the requested address.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// Address and port that the caller requested.
        address: SocketAddr,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The operating system provided no random bits for the token.
    #[error("no random bits for a token: {0}")]
    Token(getrandom::Error),
    /// The file of the token cannot be read or created, or its content or permissions are invalid.
    #[error("cannot use token file {path}: {source}")]
    TokenFile {
        /// Path of the file that contains the token.
        path: String,
        /// Error of the operating system, or the reason why the content of the file is invalid.
        source: std::io::Error,
    },
}

/// A server that is bound to an address but does not serve requests yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    policy: RequestPolicy,
    head_timeout: Duration,
    body_timeout: Duration,
}

impl Server {
    /// Binds a port at the address `ip`. If `port` is 0, the operating system chooses a free port.
    /// Draws a random token if the address is not a loopback address.
    ///
    /// # Errors
    ///
    /// [`StartError::Bind`] if the port is in use or the address is not local.
    /// [`StartError::Token`] if no token can be drawn.
    pub async fn bind(ip: IpAddr, port: u16) -> Result<Self, StartError> {
        Server::bind_with(ip, port, || AccessToken::random().map_err(StartError::Token)).await
    }

    /// Binds a port like [`Server::bind`], with a token that survives restarts. If a token is
    /// required, reads the token from a file that only its owner may access. If the file does not
    /// exist, creates the file with a new token.
    ///
    /// # Errors
    ///
    /// [`StartError::Bind`] as for [`Server::bind`]. [`StartError::TokenFile`] if the file cannot
    /// be used, or if no token can be drawn for a new file.
    pub async fn bind_with_token_file(
        ip: IpAddr,
        port: u16,
        file: &Path,
    ) -> Result<Self, StartError> {
        let failed = |source| StartError::TokenFile { path: file.display().to_string(), source };
        Server::bind_with(ip, port, || AccessToken::load_or_create(file).map_err(failed)).await
    }

    async fn bind_with(
        to: IpAddr,
        port: u16,
        token: impl FnOnce() -> Result<AccessToken, StartError>,
    ) -> Result<Self, StartError> {
        let requested = SocketAddr::new(to, port);
        let bind_error = |source| StartError::Bind { address: requested, source };
        let token = (!to.to_canonical().is_loopback()).then(token).transpose()?;
        let listener = TcpListener::bind(requested).await.map_err(bind_error)?;
        let address = listener.local_addr().map_err(bind_error)?;
        let policy = RequestPolicy { bound_address: to, token };
        let (head_timeout, body_timeout) = (connections::HEAD_TIMEOUT, body::BODY_TIMEOUT);
        Ok(Server { listener, address, policy, head_timeout, body_timeout })
    }

    /// Sets the time within which the head of a request must arrive. The default is 5 s.
    #[must_use]
    pub fn with_head_timeout(self, head_timeout: Duration) -> Self {
        Server { head_timeout, ..self }
    }

    /// Sets the time within which a request body must arrive. The default is 20 s.
    #[must_use]
    pub fn with_body_timeout(self, body_timeout: Duration) -> Self {
        Server { body_timeout, ..self }
    }

    /// Returns the address and the port to which the server is bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL to open in a browser, with the token if one is required.
    pub fn url_with_token(&self) -> String {
        match &self.policy.token {
            None => format!("http://{}/", self.address),
            Some(token) => format!("http://{}/?token={token}", self.address),
        }
    }

    /// Serves requests until `stop` resolves. All requests must obey the [rules of this
    /// crate](crate), but requests for `assets` need no token. After `stop`, pending responses have
    /// half a second to complete.
    ///
    /// # Panics
    ///
    /// If an asset and a route have the same path.
    pub async fn serve(self, assets: &[Asset], routes: Router, stop: impl Future<Output = ()>) {
        let unknown = async || HttpError::not_found("no such page");
        let guarded = routes
            .fallback(unknown)
            .layer(DefaultBodyLimit::disable())
            .layer(from_fn_with_state(self.body_timeout, body::buffer_body))
            .layer(from_fn_with_state(self.policy.clone(), request_policy::require_token));
        let all = assets.iter().fold(guarded, |router, asset| asset.add_to_router(router));
        let all = all.layer(from_fn_with_state(self.policy, request_policy::check_origin));
        connections::serve(self.listener, all, self.head_timeout, stop).await;
    }
}
