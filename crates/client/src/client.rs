//! Who uses a service.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::access::Access;
use crate::changes::Changes;
use crate::endpoint::Endpoint;
use crate::error::ClientError;
use crate::line::Line;
use crate::observer::Observer;
use crate::session::Session;

/// How long a request may take, whoever answers it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long nobody may accept a connection at the beginning.
const AT_FIRST: Duration = Duration::from_secs(3);

/// A client of a lock service, `tenure serve` or an etcd of 3.4 or later. Clones share one
/// connection: to whichever member answers, and to the one that leads as soon as that is known to a
/// session ([`Access::any_member`] is for who wants it otherwise).
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) line: Arc<Line>,
}

impl Client {
    /// Connects to a service with members at these endpoints, such as `http://127.0.0.1:2379`.
    ///
    /// One that accepts the connection is enough. They are tried in turn, from any of them on.
    ///
    /// # Errors
    ///
    /// [`ClientError::Endpoint`] for what is none, and [`ClientError::Silence`] if nobody accepts
    /// a connection for three seconds.
    pub async fn connect<I>(endpoints: I) -> Result<Client, ClientError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        Client::connect_as(endpoints, Access::default()).await
    }

    /// The same as a user, or to members that speak TLS: with a [`User`](crate::User), with
    /// [`Certificates`](crate::Certificates), or with an [`Access`] that has both.
    ///
    /// # Errors
    ///
    /// As [`Client::connect`], [`ClientError::Unvouched`] for an `https` endpoint without
    /// certificates, and [`ClientError::Refused`] if the password is another.
    pub async fn connect_as<I>(
        endpoints: I,
        access: impl Into<Access>,
    ) -> Result<Client, ClientError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let access = access.into();
        let endpoints = Endpoint::parse_all(endpoints, &access)?;
        let line = Arc::new(Line::new(endpoints, access));
        line.connection(Instant::now() + AT_FIRST).await?;
        Ok(Client { line })
    }

    /// Begins a session: whatever is held in it is given up when it ends. It is renewed in the
    /// background, and ends `ttl` after the last renewal at the latest; in whole seconds, and the
    /// service may choose longer.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub async fn session(&self, ttl: Duration) -> Result<Session, ClientError> {
        Session::begin(self, ttl).await
    }

    /// Sees who enters and who leaves the queue of a lock or an election, from a revision of the
    /// service on; 1 is the first.
    pub fn changes(&self, name: &str, from: u64) -> Changes {
        Changes::new(self, name, from)
    }

    /// Sees who leads an election, now and whenever that changes.
    pub fn observe(&self, name: &str) -> Observer {
        Observer::new(self.clone(), name)
    }
}
