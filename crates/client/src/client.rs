//! The client: connects to a service and starts sessions.

use std::sync::Arc;
use std::time::Duration;

use crate::election::observer::ElectionObserver;
use crate::error::ClientError;
use crate::options::ConnectOptions;
use crate::session::Session;
use crate::transport::channel::Channel;
use crate::transport::endpoint::Endpoint;
use crate::watch::key_changes::KeyChanges;
use crate::watch::queue_changes::LockQueueChanges;

/// Time within which a member must accept the first connection. After this time,
/// [`Client::connect`] fails.
const INITIAL_ACCEPT_TIMEOUT: Duration = Duration::from_secs(3);

/// A client of a lock service, `tenure serve` or an etcd of 3.4 or later.
///
/// Clones share one connection. At first, the client connects to any member that responds. Once
/// there is a session, the client connects to the leader instead, except with
/// [`ConnectOptions::any_member`].
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) channel: Arc<Channel>,
}

impl Client {
    /// Connects to a service with members at these endpoints, such as `http://127.0.0.1:2379`.
    ///
    /// One member that accepts the connection is enough. The client tries the endpoints in turn,
    /// beginning with a random endpoint. Dropping the future closes all connections.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidEndpoint`] for an invalid endpoint or an empty list,
    /// [`ClientError::MissingCertificates`] for an `https` endpoint, and
    /// [`ClientError::Unavailable`] if no member accepts a connection within three seconds.
    pub async fn connect(
        endpoints: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<Client, ClientError> {
        Client::connect_with(endpoints, ConnectOptions::default()).await
    }

    /// Connects with options: a [`User`](crate::User), [`Certificates`](crate::Certificates), or
    /// [`ConnectOptions`] with both. Dropping the future closes all connections.
    ///
    /// # Errors
    ///
    /// As [`Client::connect`], but [`ClientError::MissingCertificates`] only if the options contain
    /// no certificates. Also returns [`ClientError::Rejected`] if the service rejects the user, for
    /// example because the password is wrong. Also returns [`ClientError::Unavailable`] if each
    /// member that accepts the connection takes longer than five seconds to verify the password.
    pub async fn connect_with(
        endpoints: impl IntoIterator<Item: AsRef<str>>,
        options: impl Into<ConnectOptions>,
    ) -> Result<Client, ClientError> {
        let client = Client::connect_lazily(endpoints, options)?;
        client.wait_until_connected().await?;
        Ok(client)
    }

    /// Creates a client that connects when it sends its first request. Must be called within a
    /// runtime of tokio.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidEndpoint`] for an invalid endpoint or an empty list, and
    /// [`ClientError::MissingCertificates`] for an `https` endpoint without certificates.
    pub fn connect_lazily(
        endpoints: impl IntoIterator<Item: AsRef<str>>,
        options: impl Into<ConnectOptions>,
    ) -> Result<Client, ClientError> {
        let options = options.into();
        let endpoints = Endpoint::parse_all(endpoints, &options)?;
        Ok(Client { channel: Arc::new(Channel::new(endpoints, options)) })
    }

    /// Connects to a member if the client has no connection. A caller may drop the future if the
    /// attempt takes too long. Later requests then connect as usual, and
    /// [`Client::endpoint_failures`] returns the failures of the attempt.
    ///
    /// # Errors
    ///
    /// As [`Client::connect_with`], but neither [`ClientError::InvalidEndpoint`] nor
    /// [`ClientError::MissingCertificates`].
    pub async fn wait_until_connected(&self) -> Result<(), ClientError> {
        self.channel.connect(INITIAL_ACCEPT_TIMEOUT).await.map(drop)
    }

    /// Returns the last failure of each endpoint, as one line of text with the addresses of the
    /// endpoints. The text is for users and logs, for example if a time limit of the caller passes
    /// before a request succeeds.
    ///
    /// The client records failures of requests, connections and renewals. When a member serves a
    /// request, the client removes all recorded failures. Returns `None` if no failure is recorded.
    pub fn endpoint_failures(&self) -> Option<String> {
        self.channel.failures.reasons_with_addresses()
    }

    /// Starts a session. When the session ends, all its locks and leaderships end.
    ///
    /// A background task renews the session. The session ends at the latest one TTL after the last
    /// successful renewal. The service grants `ttl` rounded down to whole seconds, and at least
    /// one second. It may grant more; [`Session::ttl`] returns the granted TTL.
    ///
    /// If the future is dropped, the service may have granted a lease. That lease has no keys, and
    /// expires after its TTL.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within ten seconds, and
    /// [`ClientError::Rejected`] if the service rejects the request.
    pub async fn session(&self, ttl: Duration) -> Result<Session, ClientError> {
        Session::start(self.channel.clone(), ttl).await
    }

    /// Returns a receiver of the changes in the queue of a lock or an election. The first reported
    /// changes are those in the revision `from` of the store. The first revision of a store is 1.
    pub fn lock_queue_changes(&self, name: &str, from: u64) -> LockQueueChanges {
        LockQueueChanges::new(self.channel.clone(), name, from)
    }

    /// Returns a receiver of the changes of a key. The first reported changes are those in the
    /// revision `from` of the store. The first revision of a store is 1.
    pub fn key_changes(&self, key: &[u8], from: u64) -> KeyChanges {
        KeyChanges::new(self.channel.clone(), key, from)
    }

    /// Returns an observer of the leader of an election. Sends no request.
    pub fn election_observer(&self, name: &str) -> ElectionObserver {
        ElectionObserver::new(self.channel.clone(), name)
    }
}
