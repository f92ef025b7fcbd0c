//! What every task of a mesh shares.

use std::sync::Arc;

use tenure_core::ProcessId;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::backoff::Backoff;
use super::counters::Counters;
use super::expulsion::Expulsion;
use super::handshake::Identity;
use super::peer::Peer;
use super::settings::Limits;

/// Fixed for the life of a mesh, but for what counts and notifies inside.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) identity: Identity,
    pub(crate) limits: Limits,
    pub(crate) counters: Counters,
    pub(crate) expulsion: Expulsion,
    /// Told whenever a peer's outbox has room again, or its connection is gone.
    pub(crate) room: Arc<Notify>,
    /// By process; nothing at the place of this one.
    pub(crate) peers: Vec<Option<Arc<Peer>>>,
}

impl Context {
    pub(crate) fn peer(&self, process: ProcessId) -> Option<&Arc<Peer>> {
        self.peers.get(process.index())?.as_ref()
    }

    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::new(self.limits.redial_min, self.limits.redial_max)
    }
}

/// Small messages leave at once, and a peer whose machine vanished is noticed in the end.
pub(crate) fn tune(stream: &TcpStream) -> std::io::Result<()> {
    use std::time::Duration;
    stream.set_nodelay(true)?;
    let socket = socket2::SockRef::from(stream);
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(10))
        .with_interval(Duration::from_secs(5));
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(Duration::from_secs(30)))?;
    Ok(())
}
