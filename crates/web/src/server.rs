use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use tokio::net::TcpListener;

use crate::asset::Asset;
use crate::guard::{self, Guard};
use crate::refusal::Refusal;
use crate::token::Token;
use crate::{carried, visitors};

/// A server could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// It may not listen there; nothing was started.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system gave no random bits for a token; nothing was started.
    #[error("no random bits for a token: {0}")]
    Token(getrandom::Error),
    /// The file in which a token is kept cannot be used; nothing was started.
    #[error("the token in {path} cannot be used: {source}")]
    Kept {
        /// Which file.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
}

/// A server that listens, and will serve as soon as it is told what.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    guard: Guard,
    longest: Duration,
}

impl Server {
    /// Listens on a port, or on any that is free when it is 0. Beyond the loopback addresses it
    /// draws a token.
    ///
    /// # Errors
    ///
    /// [`WebError::Bind`] where the port is taken or the address not this machine's, and
    /// [`WebError::Token`].
    pub async fn bind(to: IpAddr, port: u16) -> Result<Self, WebError> {
        Server::bind_with(to, port, || Token::random().map_err(WebError::Token)).await
    }

    /// The same with a token that is found again: it is kept in this file, which only its owner may
    /// read, and which is made where it is not there and a token is demanded.
    ///
    /// # Errors
    ///
    /// Those of [`Server::bind`], and [`WebError::Kept`].
    pub async fn bind_keeping(to: IpAddr, port: u16, file: &Path) -> Result<Self, WebError> {
        let failed = |source| WebError::Kept { path: file.display().to_string(), source };
        Server::bind_with(to, port, || Token::kept(file).map_err(failed)).await
    }

    async fn bind_with(
        to: IpAddr,
        port: u16,
        token: impl FnOnce() -> Result<Token, WebError>,
    ) -> Result<Self, WebError> {
        let wanted = SocketAddr::new(to, port);
        let cannot = |source| WebError::Bind { address: wanted, source };
        let token = (!to.to_canonical().is_loopback()).then(token).transpose()?;
        let listener = TcpListener::bind(wanted).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let guard = Guard { bound: to, token };
        Ok(Server { listener, address, guard, longest: carried::LONGEST })
    }

    /// Gives up a request whose body takes longer to arrive, instead of 20 s.
    #[must_use]
    pub fn receiving_within(self, longest: Duration) -> Self {
        Server { longest, ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open in a browser, with the token where one is demanded.
    pub fn url(&self) -> String {
        match &self.guard.token {
            None => format!("http://{}/", self.address),
            Some(token) => format!("http://{}/?token={token}", self.address),
        }
    }

    /// Serves `assets` to everybody and `routes` to whoever may ask, until `stop` is done. Answers
    /// that are still on their way then have half a second.
    ///
    /// # Panics
    ///
    /// When an asset and a route have the same path.
    pub async fn serve(self, assets: &[Asset], routes: Router, stop: impl Future<Output = ()>) {
        let unknown = async || Refusal::missing("there is no such page");
        let guarded = routes
            .fallback(unknown)
            .layer(DefaultBodyLimit::disable())
            .layer(from_fn_with_state(self.longest, carried::carry))
            .layer(from_fn_with_state(self.guard.clone(), guard::lock));
        let all = assets.iter().fold(guarded, |router, asset| asset.serve(router));
        let all = all.layer(from_fn_with_state(self.guard, guard::door));
        visitors::serve(self.listener, all, stop).await;
    }
}
