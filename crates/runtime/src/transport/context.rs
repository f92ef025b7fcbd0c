//! What every task of a mesh shares.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::ProcessId;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::backoff::Backoff;
use super::counters::Counters;
use super::expulsion::Expulsion;
use super::handshake::Identity;
use super::peer::Peer;
use super::settings::Limits;
use crate::store::Registry;

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
    /// What is remembered of peers beyond a restart, if anything is.
    pub(crate) registry: Option<Registry>,
}

impl Context {
    pub(crate) fn peer(&self, process: ProcessId) -> Option<&Arc<Peer>> {
        self.peers.get(process.index())?.as_ref()
    }

    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::new(self.limits.redial_min, self.limits.redial_max)
    }
}

/// Small messages leave at once, and a peer whose machine vanished is noticed soon.
pub(crate) fn tune(stream: &TcpStream, limits: &Limits) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = socket2::SockRef::from(stream);
    // The system counts these in whole seconds.
    let silence = limits.unheard.max(Duration::from_secs(1));
    let keepalive = socket2::TcpKeepalive::new().with_time(silence).with_interval(silence);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(limits.unheard))?;
    Ok(())
}
