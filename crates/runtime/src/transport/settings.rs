//! Settings of a mesh, and errors that prevent its start.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::ProcessId;
use thiserror::Error;

use super::frame::{DEFAULT_MAX_BODY_BYTES, MAX_DATA_OVERHEAD_BYTES};
use super::handshake::MAX_CLUSTER_NAME_BYTES;
use super::keys::ReplaceableKeys;
use super::peer::SESSION_LIMIT;
use crate::names::ProcessNames;

/// Settings of a [`Mesh`](super::Mesh), which connects one process with its peers.
#[derive(Debug)]
pub struct MeshSettings {
    /// Name of the cluster. Nodes of different clusters refuse to connect with each other.
    pub cluster: String,
    /// Process of this node.
    pub me: ProcessId,
    /// Session number of this boot. It is higher than those of all earlier boots.
    /// [`StableStorage`](crate::StableStorage) provides it.
    pub session: u64,
    /// Address or socket of the listener.
    pub listen: Listen,
    /// Addresses of all processes, including this process, as `host:port`, in the order of the
    /// process ids. Host names are resolved for each connection attempt. The number of addresses is
    /// the number of processes in the group.
    pub addresses: Vec<String>,
    /// Names by which log messages refer to the processes.
    pub names: ProcessNames,
    /// Authentication of peers.
    pub authentication: PeerAuthentication,
    /// Size limits and timeouts.
    pub limits: MeshLimits,
}

impl MeshSettings {
    /// Returns settings for a group whose processes run on one machine. They contain no
    /// authentication, the default limits, and no process names.
    pub fn on_loopback(
        cluster: impl Into<String>,
        me: ProcessId,
        session: u64,
        addresses: Vec<String>,
        listen: Listen,
    ) -> MeshSettings {
        MeshSettings {
            cluster: cluster.into(),
            me,
            session,
            listen,
            addresses,
            names: ProcessNames::default(),
            authentication: PeerAuthentication::LoopbackOnly,
            limits: MeshLimits::default(),
        }
    }
}

/// Method by which peers are authenticated. It must be the same on all nodes of a cluster.
#[derive(Clone, Debug)]
pub enum PeerAuthentication {
    /// Each peer must prove that it owns a key that the group lists for this peer. Connections are
    /// encrypted, so no third party can read, modify, repeat or omit messages.
    Keys(ReplaceableKeys),
    /// Connections are not authenticated and not encrypted. The node may listen only at a loopback
    /// address.
    LoopbackOnly,
    /// Connections are not authenticated and not encrypted. Every host on the network is trusted.
    Unauthenticated,
}

/// Listener of a mesh.
#[derive(Debug)]
pub enum Listen {
    /// Binds this address. With port 0 the operating system chooses a port.
    Address(SocketAddr),
    /// Uses a socket that is already bound and in the listening state.
    Listener(std::net::TcpListener),
}

/// Sizes and timeouts of a mesh. The defaults suit a small cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshLimits {
    /// Maximum size of a frame body, in bytes. It must be the same on all nodes. Default: 1 MiB.
    pub max_body_bytes: usize,
    /// Maximum number of messages to one peer that wait or are not acknowledged. Urgent heartbeats
    /// may exceed it. Default: 65,536.
    pub max_queued_messages: usize,
    /// Maximum total size of the messages to one peer that wait or are not acknowledged, in bytes.
    /// One eighth is reserved for messages of at most 4 KiB. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// Maximum number of received messages that wait in the [`Inbox`](super::Inbox). Default:
    /// 1024.
    pub max_incoming_messages: usize,
    /// Maximum number of concurrent handshakes. If this number is exceeded, the oldest handshake is
    /// aborted. Default: 64.
    pub max_handshakes: usize,
    /// Time limit for a connection attempt with its handshake, after the host name was resolved.
    /// Also the time limit for the handshake of an incoming connection. Default: 3 s.
    pub handshake_timeout: Duration,
    /// Time limit for establishing the TCP connection to a peer. Default: 400 ms.
    pub connect_timeout: Duration,
    /// Upper bound on the round-trip time that the protocol assumes. A peer with a longer round
    /// trip causes one warning in the log. Default: unlimited.
    pub max_round_trip: Duration,
    /// Time limit for TCP acknowledgements by the host of a peer, on Linux. After that time the
    /// connection is closed and dialed again, so a recovered network is noticed soon.
    ///
    /// On all systems, this value is also the interval of TCP keepalive probes. The interval is at
    /// least 1 s, even if this value is smaller. Default: 1 s.
    pub silence_timeout: Duration,
    /// Maximum time that an acknowledgement waits for an outgoing message that can carry it.
    /// Default: 20 ms.
    pub acknowledge_delay: Duration,
    /// Longest time for which a queue that is more than half full blocks the user requests of this
    /// node. Default: 1 s.
    pub half_full_timeout: Duration,
    /// Upper bound on the pause before the second of several successive connection attempts. The
    /// first attempt has no pause. The bound doubles after each attempt. The pause is random, and
    /// at least half of the bound. Default: 10 ms.
    pub min_redial_pause: Duration,
    /// Maximum pause between connection attempts. After a connection that lasted at least this
    /// long, the pauses begin anew. Default: 200 ms.
    pub max_redial_pause: Duration,
}

impl Default for MeshLimits {
    fn default() -> Self {
        MeshLimits {
            max_body_bytes: DEFAULT_MAX_BODY_BYTES,
            max_queued_messages: 65_536,
            max_queued_bytes: 16 << 20,
            max_incoming_messages: 1024,
            max_handshakes: 64,
            handshake_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_millis(400),
            max_round_trip: Duration::MAX,
            silence_timeout: Duration::from_secs(1),
            acknowledge_delay: Duration::from_millis(20),
            half_full_timeout: Duration::from_secs(1),
            min_redial_pause: Duration::from_millis(10),
            max_redial_pause: Duration::from_millis(200),
        }
    }
}

impl MeshLimits {
    /// Returns the maximum size of a payload that fits a frame, in bytes.
    pub fn max_payload_bytes(&self) -> usize {
        self.max_body_bytes.saturating_sub(MAX_DATA_OVERHEAD_BYTES)
    }
}

/// Reason why a mesh did not start. After a failed start, no task runs and no port is in use.
#[derive(Debug, Error)]
pub enum MeshStartError {
    /// Another program listens at the address.
    #[error(
        "the address {address} is already in use; stop the program that uses it or choose another \
         port"
    )]
    AddressTaken {
        /// Requested address.
        address: SocketAddr,
    },
    /// The mesh cannot listen at the address, for another reason than
    /// [`MeshStartError::AddressTaken`].
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Requested address.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The listening socket cannot be used.
    #[error("the listening socket cannot be used: {0}")]
    Socket(#[source] io::Error),
    /// Other hosts could reach this node and impersonate a peer, because there are no keys.
    #[error(
        "the address {address} is reachable from other machines, but there are no keys that \
         authenticate the peers"
    )]
    KeysRequired {
        /// Address that is not a loopback address.
        address: SocketAddr,
    },
    /// The keys belong to a group of a different size.
    #[error("there are keys for {keys} processes, but addresses for {size}")]
    KeyCountMismatch {
        /// Number of processes that have keys.
        keys: usize,
        /// Number of addresses, which is the number of processes in the group.
        size: usize,
    },
    /// The operating system provides no entropy.
    #[error("the operating system provides no entropy: {0}")]
    Entropy(#[source] io::Error),
    /// The cluster name is empty or too long.
    #[error("invalid cluster name of {length} bytes: expected 1 to {MAX_CLUSTER_NAME_BYTES} bytes")]
    ClusterName {
        /// Length of the name, in bytes.
        length: usize,
    },
    /// The group does not contain this process.
    #[error("{me} is not one of the {size} processes with an address")]
    NotInGroup {
        /// Process of this node.
        me: ProcessId,
        /// Number of addresses, which is the number of processes in the group.
        size: usize,
    },
    /// The session number is out of range.
    #[error("invalid session {session}: expected a number from 1 to 2^40 - 1")]
    InvalidSession {
        /// Session number in the settings.
        session: u64,
    },
    /// A limit is too small.
    #[error("the limit {name} must be at least {least}")]
    LimitTooSmall {
        /// Name of the field of [`MeshLimits`].
        name: &'static str,
        /// Minimum value of the field.
        least: usize,
    },
}

impl MeshSettings {
    /// Validates all settings that can be checked without a socket.
    pub(crate) fn validate(&self) -> Result<(), MeshStartError> {
        let length = self.cluster.len();
        if length == 0 || length > MAX_CLUSTER_NAME_BYTES {
            return Err(MeshStartError::ClusterName { length });
        }
        let size = self.addresses.len();
        if self.me.index() >= size {
            return Err(MeshStartError::NotInGroup { me: self.me, size });
        }
        if !(1..SESSION_LIMIT).contains(&self.session) {
            return Err(MeshStartError::InvalidSession { session: self.session });
        }
        if let PeerAuthentication::Keys(reloadable_keys) = &self.authentication
            && reloadable_keys.keys().group_size() != size
        {
            return Err(MeshStartError::KeyCountMismatch {
                keys: reloadable_keys.keys().group_size(),
                size,
            });
        }
        let limits = &self.limits;
        // Seven eighths of the queue have room for the largest message.
        let least_queue_bytes = limits.max_body_bytes.div_ceil(7).saturating_mul(8);
        for (name, limit, least) in [
            ("max_body_bytes", limits.max_body_bytes, 1024),
            ("max_queued_messages", limits.max_queued_messages, 2),
            ("max_queued_bytes", limits.max_queued_bytes, least_queue_bytes),
            ("max_incoming_messages", limits.max_incoming_messages, 1),
            ("max_handshakes", limits.max_handshakes, 1),
        ] {
            if limit < least {
                return Err(MeshStartError::LimitTooSmall { name, least });
            }
        }
        Ok(())
    }
}
