//! The listener: accepts anybody, believes nobody, and lets no stranger hold up another.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::conduit::Conduit;
use super::context::{Context, tune};
use super::handshake::{self, Caller, HandshakeError};
use super::link::Connection;
use super::refusal::Refusal;
use super::settings::{Listen, MeshError, Trust};
use crate::seldom::Seldom;

/// How long to wait when the system has no resources for another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Binds if need be, and refuses to be reachable by strangers without keys.
pub(crate) fn bind(listen: Listen, trust: &Trust) -> Result<TcpListener, MeshError> {
    let demand_keys = |address: SocketAddr| match trust {
        Trust::Machine if !address.ip().to_canonical().is_loopback() => {
            Err(MeshError::KeysRequired { address })
        }
        _ => Ok(()),
    };
    let listener = match listen {
        Listen::Listener(listener) => {
            demand_keys(listener.local_addr().map_err(MeshError::Socket)?)?;
            listener.set_nonblocking(true).map_err(MeshError::Socket)?;
            listener
        }
        Listen::Address(address) => {
            demand_keys(address)?;
            listen_at(address).map_err(|source| match source.kind() {
                io::ErrorKind::AddrInUse => MeshError::AddressTaken { address },
                _ => MeshError::Listen { address, source },
            })?
        }
    };
    TcpListener::from_std(listener).map_err(MeshError::Socket)
}

/// The standard library sets `SO_REUSEADDR` on Unix, so that a node that comes back gets its
/// port at once.
fn listen_at(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Accepts connections and hands each that proves itself to the link of its peer.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) context: Arc<Context>,
    pub(crate) socket: TcpListener,
    /// Where the links wait, by process; nothing for this one.
    pub(crate) links: Vec<Option<mpsc::Sender<Connection>>>,
    /// What is logged of those who are refused, by reason.
    pub(crate) quiet: Mutex<BTreeMap<Refusal, Seldom>>,
}

/// One handshake in progress.
#[derive(Debug)]
struct Guest {
    task: AbortHandle,
    address: SocketAddr,
    /// Set when the guest must go, or is done: whoever sets it first decides how it ended.
    decided: Arc<AtomicBool>,
}

impl Listener {
    /// Accepts until the task is dropped, and every handshake with it.
    pub(crate) async fn run(self) {
        let listener = Arc::new(self);
        let mut tasks = JoinSet::new();
        let mut guests = VecDeque::new();
        let mut exhausted = Seldom::default();
        loop {
            let (stream, address) = match listener.socket.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    if let Some(more) = exhausted.say() {
                        let me = listener.context.identity.me;
                        tracing::warn!(%me, %error, "cannot accept a connection{more}");
                    }
                    sleep(EXHAUSTED).await;
                    continue;
                }
            };
            while tasks.try_join_next().is_some() {}
            listener.make_place(&mut guests);
            let decided = Arc::new(AtomicBool::new(false));
            let task = tasks.spawn(listener.clone().receive(stream, address, decided.clone()));
            guests.push_back(Guest { task, address, decided });
        }
    }

    /// Sends the oldest guests away if there are too many: a real peer needs a millisecond, so
    /// whoever is oldest in a crowd is most likely part of what makes the crowd.
    fn make_place(&self, guests: &mut VecDeque<Guest>) {
        guests.retain(|guest| !guest.task.is_finished());
        while guests.len() >= self.context.limits.handshakes {
            let Some(guest) = guests.pop_front() else { return };
            if !guest.decided.swap(true, Ordering::AcqRel) {
                guest.task.abort();
                self.note(guest.address, &HandshakeError::Refused(Refusal::CrowdedOut));
            }
        }
    }

    async fn receive(
        self: Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        decided: Arc<AtomicBool>,
    ) {
        let outcome = timeout(self.context.limits.handshake, self.greet(stream)).await;
        if decided.swap(true, Ordering::AcqRel) {
            return;
        }
        let error = match outcome {
            Ok(Ok((conduit, caller))) => {
                let connection = Connection { conduit, boot: caller.boot };
                let link = self.links[caller.process.index()].as_ref();
                // A link that has not taken its last connections yet gets no further one: the
                // peer will dial again.
                let _ = link.expect("only peers are accepted").try_send(connection);
                return;
            }
            Ok(Err(error)) => error,
            Err(_) => HandshakeError::Refused(Refusal::TooSlow),
        };
        self.note(address, &error);
    }

    async fn greet(
        &self,
        stream: TcpStream,
    ) -> Result<(Conduit<TcpStream>, Caller), HandshakeError> {
        tune(&stream, &self.context.limits)?;
        handshake::accept(stream, &self.context).await
    }

    fn note(&self, address: SocketAddr, error: &HandshakeError) {
        let refusal = error.refusal();
        self.context.counters.refuse(refusal);
        let mut quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(more) = quiet.entry(refusal).or_default().say() {
            let me = self.context.identity.me;
            let reason = refusal.name();
            tracing::warn!(%me, %address, reason, %error, "connection refused{more}");
        }
    }
}
