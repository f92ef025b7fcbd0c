//! State that all tasks of a mesh share.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::ProcessId;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::counters::MeshCounters;
use super::eviction::EvictionState;
use super::handshake::NodeIdentity;
use super::peer::Peer;
use super::settings::MeshLimits;
use crate::names::{ProcessName, ProcessNames};
use crate::store::MembershipRecord;

/// Shared state of a mesh. The identity, the limits, the names and the set of peers are constant.
/// The other parts change while the mesh runs.
#[derive(Debug)]
pub(crate) struct MeshContext {
    pub(crate) identity: NodeIdentity,
    pub(crate) limits: MeshLimits,
    pub(crate) counters: MeshCounters,
    pub(crate) eviction: EvictionState,
    /// Notified when the outbox of any peer has room again, and when the connection to any peer is
    /// lost.
    pub(crate) room: Arc<Notify>,
    /// For each process, by index: its state as a peer; `None` for this process.
    pub(crate) peers: Vec<Option<Arc<Peer>>>,
    /// Membership record, which keeps the members and their boots across a restart. `None` if the
    /// mesh has none.
    pub(crate) registry: Option<MembershipRecord>,
    pub(crate) names: ProcessNames,
}

impl MeshContext {
    pub(crate) fn peer(&self, process: ProcessId) -> Option<&Arc<Peer>> {
        self.peers.get(process.index())?.as_ref()
    }

    pub(crate) fn own_name(&self) -> ProcessName<'_> {
        self.names.name(self.identity.me)
    }
}

/// Disables delays for small messages, and enables the detection of unreachable hosts.
pub(crate) fn set_socket_options(stream: &TcpStream, limits: &MeshLimits) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = socket2::SockRef::from(stream);
    // The operating system uses whole seconds here.
    let silence = limits.silence_timeout.max(Duration::from_secs(1));
    let keepalive = socket2::TcpKeepalive::new().with_time(silence).with_interval(silence);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(limits.silence_timeout))?;
    Ok(())
}
