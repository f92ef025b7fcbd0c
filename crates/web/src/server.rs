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
use crate::token::Token;
use crate::{body, connections};

/// Error while starting a server.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The requested address.
        address: SocketAddr,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The system gave no random bits for the token.
    #[error("no random bits for a token: {0}")]
    Token(getrandom::Error),
    /// The file with the token cannot be used.
    #[error("invalid token file {path}: {source}")]
    TokenFile {
        /// Path of the file.
        path: String,
        /// Error of the system, or the reason why the file is invalid.
        source: std::io::Error,
    },
}

/// A server that is bound and does not serve yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    policy: RequestPolicy,
    body_timeout: Duration,
}

impl Server {
    /// Binds a port, or any free one if it is 0. Draws a token if the address is not loopback.
    ///
    /// # Errors
    ///
    /// [`WebError::Bind`] if the port is used or the address is not local, and [`WebError::Token`].
    pub async fn bind(to: IpAddr, port: u16) -> Result<Self, WebError> {
        Server::bind_with(to, port, || Token::random().map_err(WebError::Token)).await
    }

    /// Binds a port with a token that survives restarts. If a token is required, it is read from
    /// this file, which only its owner may read; a missing file is created.
    ///
    /// # Errors
    ///
    /// Those of [`Server::bind`], and [`WebError::TokenFile`].
    pub async fn bind_with_token_file(
        to: IpAddr,
        port: u16,
        file: &Path,
    ) -> Result<Self, WebError> {
        let failed = |source| WebError::TokenFile { path: file.display().to_string(), source };
        Server::bind_with(to, port, || Token::load_or_create(file).map_err(failed)).await
    }

    async fn bind_with(
        to: IpAddr,
        port: u16,
        token: impl FnOnce() -> Result<Token, WebError>,
    ) -> Result<Self, WebError> {
        let requested = SocketAddr::new(to, port);
        let bind_error = |source| WebError::Bind { address: requested, source };
        let token = (!to.to_canonical().is_loopback()).then(token).transpose()?;
        let listener = TcpListener::bind(requested).await.map_err(bind_error)?;
        let address = listener.local_addr().map_err(bind_error)?;
        let policy = RequestPolicy { bound: to, token };
        Ok(Server { listener, address, policy, body_timeout: body::BODY_TIMEOUT })
    }

    /// Sets the time for a request body to arrive; 20 s by default.
    #[must_use]
    pub fn with_body_timeout(self, body_timeout: Duration) -> Self {
        Server { body_timeout, ..self }
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL to open in a browser, with the token if one is required.
    pub fn url(&self) -> String {
        match &self.policy.token {
            None => format!("http://{}/", self.address),
            Some(token) => format!("http://{}/?token={token}", self.address),
        }
    }

    /// Serves `assets` publicly and `routes` by the rules, until `stop` resolves. Pending responses
    /// then have half a second to complete.
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
        let all = assets.iter().fold(guarded, |router, asset| asset.serve(router));
        let all = all.layer(from_fn_with_state(self.policy, request_policy::check_origin));
        connections::serve(self.listener, all, stop).await;
    }
}
