//! Listener that accepts and authenticates connections. Unauthenticated clients can use only
//! bounded resources.

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

use super::context::{MeshContext, set_socket_options};
use super::framed_stream::FramedStream;
use super::handshake::{self, HandshakeError, RemoteProcess};
use super::link::PeerConnection;
use super::rejection_reason::RejectionReason;
use super::settings::{Listen, MeshStartError, PeerAuthentication};
use crate::log_throttle::{LogThrottle, SuppressedLineCount};

/// Pause after a connection could not be accepted, for instance because no file descriptor was
/// free.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Binds the socket if it is not bound yet. If `authentication` is
/// [`PeerAuthentication::LoopbackOnly`], rejects every address outside the loopback interface.
pub(crate) fn bind_listener(
    listen: Listen,
    authentication: &PeerAuthentication,
) -> Result<TcpListener, MeshStartError> {
    let require_keys = |address: SocketAddr| match authentication {
        PeerAuthentication::LoopbackOnly if !address.ip().to_canonical().is_loopback() => {
            Err(MeshStartError::KeysRequired { address })
        }
        _ => Ok(()),
    };
    let listener = match listen {
        Listen::Listener(listener) => {
            require_keys(listener.local_addr().map_err(MeshStartError::Socket)?)?;
            listener.set_nonblocking(true).map_err(MeshStartError::Socket)?;
            listener
        }
        Listen::Address(address) => {
            require_keys(address)?;
            listen_at(address).map_err(|source| match source.kind() {
                io::ErrorKind::AddrInUse => MeshStartError::AddressTaken { address },
                _ => MeshStartError::Listen { address, source },
            })?
        }
    };
    TcpListener::from_std(listener).map_err(MeshStartError::Socket)
}

/// Binds a socket. The standard library sets `SO_REUSEADDR` on Unix, so a restarted node can use
/// its port immediately.
fn listen_at(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[derive(Debug)]
pub(crate) struct PeerListener {
    pub(crate) context: Arc<MeshContext>,
    pub(crate) socket: TcpListener,
    /// For each process, by index: the channel to its link. `None` for this process.
    pub(crate) links: Vec<Option<mpsc::Sender<PeerConnection>>>,
    pub(crate) rejection_logs: Mutex<BTreeMap<RejectionReason, LogThrottle>>,
}

#[derive(Debug)]
struct PendingHandshake {
    task: AbortHandle,
    address: SocketAddr,
    /// True once the outcome of the handshake is final: the handshake has ended, or the listener
    /// aborts it.
    is_decided: Arc<AtomicBool>,
}

impl PeerListener {
    /// Accepts connections until the task is dropped. Dropping the task aborts all handshakes.
    pub(crate) async fn run(self) {
        let listener = Arc::new(self);
        let mut tasks = JoinSet::new();
        let mut pending = VecDeque::new();
        let mut exhausted = LogThrottle::default();
        loop {
            let (stream, address) = match listener.socket.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    if let Some(SuppressedLineCount(suppressed)) = exhausted.admit() {
                        let me = listener.context.own_name();
                        tracing::warn!(%me, %error, suppressed, "cannot accept a connection");
                    }
                    sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            while tasks.try_join_next().is_some() {}
            listener.drop_oldest_handshakes(&mut pending);
            let is_decided = Arc::new(AtomicBool::new(false));
            let task =
                tasks.spawn(listener.clone().run_handshake(stream, address, is_decided.clone()));
            pending.push_back(PendingHandshake { task, address, is_decided });
        }
    }

    /// Aborts the oldest handshakes if there are too many. A handshake with a real peer takes about
    /// a millisecond, so the oldest handshake is most likely part of a flood.
    fn drop_oldest_handshakes(&self, pending: &mut VecDeque<PendingHandshake>) {
        pending.retain(|entry| !entry.task.is_finished());
        while pending.len() >= self.context.limits.max_handshakes {
            let Some(entry) = pending.pop_front() else { return };
            if !entry.is_decided.swap(true, Ordering::AcqRel) {
                entry.task.abort();
                self.record_rejection(
                    entry.address,
                    &HandshakeError::Refused(RejectionReason::CrowdedOut),
                );
            }
        }
    }

    async fn run_handshake(
        self: Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        is_decided: Arc<AtomicBool>,
    ) {
        let outcome =
            timeout(self.context.limits.handshake_timeout, self.accept_handshake(stream)).await;
        if is_decided.swap(true, Ordering::AcqRel) {
            return;
        }
        let error = match outcome {
            Ok(Ok((stream, remote))) => {
                let connection = PeerConnection { stream, boot: remote.boot };
                let link = self.links[remote.process.index()].as_ref();
                // A link with a full queue drops the connection, and the peer dials again.
                let _ = link.expect("only peers are accepted").try_send(connection);
                return;
            }
            Ok(Err(error)) => error,
            Err(_) => HandshakeError::Refused(RejectionReason::TooSlow),
        };
        self.record_rejection(address, &error);
    }

    async fn accept_handshake(
        &self,
        stream: TcpStream,
    ) -> Result<(FramedStream<TcpStream>, RemoteProcess), HandshakeError> {
        set_socket_options(&stream, &self.context.limits)?;
        handshake::accept(stream, &self.context).await
    }

    fn record_rejection(&self, address: SocketAddr, error: &HandshakeError) {
        let reason = error.rejection_reason();
        self.context.counters.count_rejection(reason);
        let mut rejection_logs = self.rejection_logs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(SuppressedLineCount(suppressed)) =
            rejection_logs.entry(reason).or_default().admit()
        {
            let me = self.context.own_name();
            let reason = reason.name();
            tracing::warn!(%me, %address, reason, %error, suppressed, "connection refused");
        }
    }
}
