//! A complete member: its log, its store, and its listeners for clients.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use tenure_runtime::NodeFailure;
use tenure_runtime::transport::Eviction;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle, JoinSet, spawn_blocking};
use tokio::time::timeout;

use crate::config::{Config, ConfiguredMember, ListenAddress};
use crate::log::state;
use crate::member::{Member, ServeError};
use crate::net::listener::{self, CLOSE_TIMEOUT, ListenerScope};
use crate::net::peers::PeerKeys;
use crate::net::tls::Tls;

/// Listener with its TLS configuration. If the configuration is `None`, the listener serves without
/// TLS.
type BoundListener = (TcpListener, Option<Arc<Tls>>);

async fn bind_all(
    places: &[ListenAddress],
    tls: Option<&Arc<Tls>>,
) -> Result<Vec<BoundListener>, ServeError> {
    let mut listeners = Vec::new();
    for ListenAddress { address, is_tls } in places {
        let tls = tls.filter(|_| *is_tls).cloned();
        listeners.push((listener::bind(*address).await?, tls));
    }
    Ok(listeners)
}

/// Member whose log runs and whose listeners are bound. [`Server::serve`] serves its clients.
#[derive(Debug)]
pub struct Server {
    member: Arc<Member>,
    log: JoinHandle<Result<(), NodeFailure>>,
    listeners: Vec<BoundListener>,
    /// Listeners that serve only the requests of [`ListenerScope::Metrics`].
    metrics: Vec<BoundListener>,
    addresses: Vec<SocketAddr>,
}

/// Leader and term that a member knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderStatus {
    /// Name of the leader; `None` if the member knows no leader.
    pub leader: Option<String>,
    /// Latest term that the member knows.
    pub term: u64,
}

/// Receiver that is notified when the leader or the term changes.
#[derive(Debug)]
pub struct LeaderWatch {
    leader_status: watch::Receiver<state::LeaderStatus>,
    names: Vec<String>,
}

impl LeaderWatch {
    /// Waits until the leader or the term changes, and returns the new status. Returns `None` once
    /// the member has stopped. Several changes since the last call are combined into one.
    pub async fn next(&mut self) -> Option<LeaderStatus> {
        self.leader_status.changed().await.ok()?;
        let state::LeaderStatus { leader, term } = *self.leader_status.borrow_and_update();
        Some(LeaderStatus { leader: leader.map(|leader| self.names[leader].clone()), term })
    }
}

impl Server {
    /// Binds the listeners, opens the data directory and starts the log. [`Server::serve`] then
    /// serves the clients.
    ///
    /// # Errors
    ///
    /// [`ServeError`] if the configuration is invalid, a listener cannot be bound, the data
    /// directory cannot be used, or the log does not start. After an error, no task and no listener
    /// is left running.
    pub async fn start(config: &Config) -> Result<Server, ServeError> {
        let mut validated = config.validate()?;
        let tls = validated.certificates.as_ref().map(Tls::read).transpose()?.map(Arc::new);
        let listeners = bind_all(&validated.client_listeners, tls.as_ref()).await?;
        let metrics = bind_all(&validated.metrics_listeners, tls.as_ref()).await?;
        let addresses = listeners.iter().filter_map(|(it, _)| it.local_addr().ok());
        let addresses: Vec<SocketAddr> = addresses.collect();
        if config.advertise_client_urls.is_none() {
            validated.client_urls = with_chosen_ports(&validated.client_urls, &addresses);
        }
        let (member, log) = Member::start(config, validated)?;
        Ok(Server { member, log, listeners, metrics, addresses })
    }

    /// Returns the addresses of the listeners for clients, with the ports that the system chose for
    /// port 0.
    pub fn client_addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the addresses of the listeners for clients as URLs.
    pub fn client_listener_urls(&self) -> Vec<String> {
        urls(&self.listeners)
    }

    /// Returns the URLs of the listeners that serve only metrics, health, the version, and the page
    /// for operators.
    pub fn metrics_urls(&self) -> Vec<String> {
        urls(&self.metrics)
    }

    /// Returns a handle to the keys by which this member and its peers authenticate each other.
    /// [`PeerKeys::reload`] reads the key files again.
    pub fn peer_keys(&self) -> PeerKeys {
        self.member.peer_keys.clone()
    }

    /// Returns a receiver that is notified when the leader or the term changes. If the member
    /// already knows a term, the first call of [`LeaderWatch::next`] returns the current status at
    /// once.
    pub fn watch_leader(&self) -> LeaderWatch {
        let mut leader_status = self.member.shared.leader_status.subscribe();
        if *leader_status.borrow() != state::LeaderStatus::default() {
            leader_status.mark_changed();
        }
        let members = self.member.config.members.iter();
        LeaderWatch { leader_status, names: members.map(|it| it.name.clone()).collect() }
    }

    /// Serves clients until `stop` resolves, or until the member fails. After `stop`, a leader
    /// hands over leadership, and calls that are still open end with an error.
    ///
    /// # Errors
    ///
    /// [`ServeError::Failure`] if the log fails. [`ServeError::Refused`] if a peer rejects this
    /// member permanently. [`ServeError::Evicted`] if this member must not participate any more.
    /// [`ServeError::Save`] if the data directory cannot record the eviction.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Server { member, mut log, listeners, metrics, .. } = self;
        let listeners = listeners.into_iter().map(|it| (it, ListenerScope::All));
        let metrics = metrics.into_iter().map(|it| (it, ListenerScope::Metrics));
        let serving = serve_all(listeners.chain(metrics).collect(), &member);
        let ended = tokio::select! {
            ended = &mut log => Some(ended),
            () = stop => None,
        };
        let ended = match ended {
            Some(ended) => {
                drop(serving);
                end_calls(&member).await;
                ended
            }
            None => {
                member.request_shutdown().await;
                // New clients use other members. Until the log ends, this member responds to its
                // open calls, and forwards requests to the new leader.
                drop(serving);
                member.connections.request_close_of_all();
                member.metrics_connections.request_close_of_all();
                let ended = timeout(CLOSE_TIMEOUT, &mut log).await;
                // Clients do not wait for the log, whose disk may hang.
                end_calls(&member).await;
                match ended {
                    Ok(ended) => ended,
                    Err(_) => log.await,
                }
            }
        };
        if let Some(why) = member.shared.eviction.get() {
            if why.is_final() {
                let (registry, reason) = (member.registry.clone(), why.to_string());
                task_result(spawn_blocking(move || registry.record_eviction(&reason)).await)?;
            }
            return Err(why.clone().into());
        }
        task_result(ended).map_err(|failure| named(failure, &member.config.members))
    }
}

/// Ends each open call with an error response, and closes all connections. Waits for the
/// connections for at most [`CLOSE_TIMEOUT`].
async fn end_calls(member: &Member) {
    member.shared.stop_serving();
    tokio::join!(
        member.connections.close_all(CLOSE_TIMEOUT),
        member.metrics_connections.close_all(CLOSE_TIMEOUT),
    );
}

/// Converts the failure of a log. If a peer rejected this member, the error contains the name of
/// that peer in the configuration.
fn named(failure: NodeFailure, members: &[ConfiguredMember]) -> ServeError {
    match failure {
        NodeFailure::Evicted(Eviction { by, reason }) => {
            ServeError::Refused { peer: members[by.index()].name.clone(), reason }
        }
        other => other.into(),
    }
}

/// Returns the result of a finished task. Panics if the task panicked. A cancelled task counts as
/// successful.
fn task_result<E>(ended: Result<Result<(), E>, JoinError>) -> Result<(), E> {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(result) => result,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The task was cancelled, because the runtime is shutting down.
        Err(Err(_)) => Ok(()),
    }
}

/// Serves all listeners until the returned set is dropped.
///
/// This is not an `async fn`, so its tasks are compiled in this crate. The code of an `async fn`
/// would be compiled in the crate that polls it.
fn serve_all(
    listeners: Vec<(BoundListener, ListenerScope)>,
    member: &Arc<Member>,
) -> JoinSet<Infallible> {
    let mut serving = JoinSet::new();
    for ((listener, tls), scope) in listeners {
        serving.spawn(listener::serve(listener, tls, member.clone(), scope));
    }
    serving
}

fn urls(listeners: &[BoundListener]) -> Vec<String> {
    let url = |(listener, tls): &BoundListener| {
        let scheme = if tls.is_some() { "https" } else { "http" };
        listener.local_addr().ok().map(|address| format!("{scheme}://{address}"))
    };
    listeners.iter().filter_map(url).collect()
}

/// Replaces the port 0 in `urls` by the ports that the system chose. `addresses` contains the
/// addresses of the listeners, in the order of `urls`.
fn with_chosen_ports(urls: &[String], addresses: &[SocketAddr]) -> Vec<String> {
    let both = urls.iter().zip(addresses);
    both.map(|(url, address)| match url.strip_suffix(":0") {
        Some(host) => format!("{host}:{}", address.port()),
        None => url.clone(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::Server;
    use crate::config::Config;

    #[tokio::test]
    async fn late_receiver_learns_of_the_current_leader() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut config = Config { data_dir: Some(folder.path().into()), ..Config::default() };
        config.listen_client_urls = "http://127.0.0.1:0".into();
        let server = Server::start(&config).await.expect("a member");
        let mut first = server.watch_leader();
        let mut status = None;
        while status.as_ref().is_none_or(|it: &super::LeaderStatus| it.leader.is_none()) {
            status = timeout(Duration::from_secs(120), first.next()).await.expect("a leader");
        }
        let late = timeout(Duration::from_secs(120), server.watch_leader().next()).await;
        assert_eq!(late.expect("the current status"), status);
    }
}
