//! Client for programs without an asynchronous runtime.

use std::sync::Arc;
use std::time::Duration;

use crate::blocking::background_runtime::BackgroundRuntime;
use crate::blocking::barrier::Barrier;
use crate::blocking::observer::ElectionObserver;
use crate::blocking::session::Session;
use crate::election::records::Candidate;
use crate::error::ClientError;
use crate::options::ConnectOptions;

/// A client of a lock service, for programs without an asynchronous runtime. Clones share one
/// connection and one thread.
#[derive(Clone, Debug)]
pub struct Client {
    client: crate::client::Client,
    background: Arc<BackgroundRuntime>,
}

impl Client {
    /// Connects to a service, as [`Client::connect`](crate::Client::connect) does, and starts a
    /// thread.
    ///
    /// # Errors
    ///
    /// As [`Client::connect`](crate::Client::connect), and [`ClientError::NoThread`] if the system
    /// provides no thread.
    pub fn connect(endpoints: impl IntoIterator<Item: AsRef<str>>) -> Result<Client, ClientError> {
        Client::connect_with(endpoints, ConnectOptions::default())
    }

    /// Connects with options, as [`Client::connect_with`](crate::Client::connect_with) does, and
    /// starts a thread.
    ///
    /// # Errors
    ///
    /// As [`Client::connect_with`](crate::Client::connect_with), and [`ClientError::NoThread`] if
    /// the system provides no thread.
    pub fn connect_with(
        endpoints: impl IntoIterator<Item: AsRef<str>>,
        options: impl Into<ConnectOptions>,
    ) -> Result<Client, ClientError> {
        let background = BackgroundRuntime::start()?;
        let client =
            background.block_on(crate::client::Client::connect_with(endpoints, options))?;
        Ok(Client { client, background })
    }

    /// Starts a session, as [`Client::session`](crate::Client::session) does. The thread of the
    /// client renews the session, even while the program does something else.
    ///
    /// # Errors
    ///
    /// As [`Client::session`](crate::Client::session).
    pub fn session(&self, ttl: Duration) -> Result<Session, ClientError> {
        let session = self.background.block_on(self.client.session(ttl))?;
        Ok(Session::new(session, self.background.clone()))
    }

    /// Returns the barrier with this name, see [`Client::barrier`](crate::Client::barrier).
    pub fn barrier(&self, name: &str) -> Barrier {
        Barrier { barrier: self.client.barrier(name), background: self.background.clone() }
    }

    /// Returns an observer of the leader of an election. Sends no request.
    pub fn election_observer(&self, name: &str) -> ElectionObserver {
        // No runtime is needed here, because the observer starts no task before its first call.
        ElectionObserver {
            observer: self.client.election_observer(name),
            background: self.background.clone(),
        }
    }

    /// Reads the candidates of an election that have an identity, as
    /// [`Client::identified_candidates`](crate::Client::identified_candidates) does.
    ///
    /// # Errors
    ///
    /// As [`Client::identified_candidates`](crate::Client::identified_candidates).
    pub fn identified_candidates(&self, name: &str) -> Result<Vec<Candidate>, ClientError> {
        self.background.block_on(self.client.identified_candidates(name))
    }

    /// Requests that a waiting candidate becomes the next leader, as
    /// [`Client::request_transfer`](crate::Client::request_transfer) does.
    ///
    /// # Errors
    ///
    /// As [`Client::request_transfer`](crate::Client::request_transfer).
    pub fn request_transfer(&self, name: &str, identity: &str) -> Result<Candidate, ClientError> {
        self.background.block_on(self.client.request_transfer(name, identity))
    }
}
