//! A member as a whole: its log, its store, and the ports for clients.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use tenure_runtime::Failure;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::config::{Config, Place};
use crate::listener::{self, PARTING, Scope};
use crate::member::{Member, ServeError};
use crate::state;
use crate::tls::Tls;

/// A port, and what seals what is said there.
type Listening = (TcpListener, Option<Arc<Tls>>);

async fn bound(places: &[Place], tls: Option<&Arc<Tls>>) -> Result<Vec<Listening>, ServeError> {
    let mut listeners = Vec::new();
    for Place { address, is_sealed } in places {
        let tls = tls.filter(|_| *is_sealed).cloned();
        listeners.push((listener::bind(*address).await?, tls));
    }
    Ok(listeners)
}

/// A member that has started.
#[derive(Debug)]
pub struct Server {
    member: Arc<Member>,
    log: JoinHandle<Result<(), Failure>>,
    listeners: Vec<Listening>,
    /// Those at which only metrics and health are served.
    metrics: Vec<Listening>,
    addresses: Vec<SocketAddr>,
}

/// Who leads, as a member knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The leader's name; nothing where nobody leads.
    pub leader: Option<String>,
    /// The latest term.
    pub term: u64,
}

/// Who leads, whenever that changes.
#[derive(Debug)]
pub struct Standings {
    standing: watch::Receiver<state::Standing>,
    names: Vec<String>,
}

impl Standings {
    /// Waits for the next change; nothing comes any more when the member has ended.
    pub async fn next(&mut self) -> Option<Standing> {
        self.standing.changed().await.ok()?;
        let state::Standing { leader, term } = *self.standing.borrow_and_update();
        Some(Standing { leader: leader.map(|leader| self.names[leader].clone()), term })
    }
}

impl Server {
    /// Opens what the member stands on, and listens. Clients are served by [`Server::run`].
    ///
    /// # Errors
    ///
    /// [`ServeError`]; nothing is left running.
    pub async fn start(config: &Config) -> Result<Server, ServeError> {
        let mut plan = config.plan()?;
        let tls = plan.certificates.as_ref().map(Tls::read).transpose()?.map(Arc::new);
        let listeners = bound(&plan.clients, tls.as_ref()).await?;
        let metrics = bound(&plan.metrics, tls.as_ref()).await?;
        let addresses = listeners.iter().filter_map(|(it, _)| it.local_addr().ok());
        let addresses: Vec<SocketAddr> = addresses.collect();
        if config.advertise_client_urls.is_none() {
            plan.client_urls = chosen(&plan.client_urls, &addresses);
        }
        let (member, log) = Member::start(config, plan)?;
        Ok(Server { member, log, listeners, metrics, addresses })
    }

    /// Where clients are served, with the ports that the system chose if it did.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The same as URLs.
    pub fn urls(&self) -> Vec<String> {
        let sealed = self.listeners.iter().map(|(_, tls)| tls.is_some());
        let scheme = |is_sealed| if is_sealed { "https" } else { "http" };
        let both = sealed.zip(&self.addresses);
        both.map(|(is_sealed, address)| format!("{}://{address}", scheme(is_sealed))).collect()
    }

    /// Who leads, as soon as it is known, and whenever that changes.
    pub fn standings(&self) -> Standings {
        let standing = self.member.shared.standing.subscribe();
        let members = self.member.plan.members.iter();
        Standings { standing, names: members.map(|it| it.name.clone()).collect() }
    }

    /// Serves clients until `stop`, or until the member cannot go on. It leaves in good order: who
    /// leads hands over first.
    ///
    /// # Errors
    ///
    /// [`ServeError::Failure`] if the log cannot go on, [`ServeError::Evicted`] if this member must
    /// not take part any more.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Server { member, mut log, listeners, metrics, .. } = self;
        let listeners = listeners.into_iter().map(|it| (it, Scope::All));
        let metrics = metrics.into_iter().map(|it| (it, Scope::Metrics));
        let serving = serve(listeners.chain(metrics).collect(), &member);
        let ended = tokio::select! {
            ended = &mut log => Some(ended),
            () = stop => None,
        };
        let ended = match ended {
            Some(ended) => {
                // Each call is answered before the process ends.
                member.shared.stop_serving();
                drop(serving);
                member.visits.end();
                member.visits.left(PARTING).await;
                ended
            }
            None => {
                member.leave().await;
                // Clients go to other members while this one does what it was asked, and passes on
                // what another leads by then.
                drop(serving);
                member.visits.end();
                log.await
            }
        };
        if let Some(why) = member.shared.eviction.get() {
            if why.is_final() {
                member.registry.evict(&why.to_string())?;
            }
            return Err(why.clone().into());
        }
        match ended {
            Ok(ended) => Ok(ended?),
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Cancelled: the runtime is going away.
                Err(_) => Ok(()),
            },
        }
    }
}

/// Serves at all ports until what is returned is dropped. It is a function of its own, so that all
/// of it is compiled here: what an `async fn` awaits is compiled where that is polled.
fn serve(listeners: Vec<(Listening, Scope)>, member: &Arc<Member>) -> JoinSet<Infallible> {
    let mut serving = JoinSet::new();
    for ((listener, tls), scope) in listeners {
        serving.spawn(listener::serve(listener, tls, member.clone(), scope));
    }
    serving
}

/// URLs with the ports that the system chose, where it was to choose one.
fn chosen(urls: &[String], addresses: &[SocketAddr]) -> Vec<String> {
    let both = urls.iter().zip(addresses);
    both.map(|(url, address)| match url.strip_suffix(":0") {
        Some(host) => format!("{host}:{}", address.port()),
        None => url.clone(),
    })
    .collect()
}
