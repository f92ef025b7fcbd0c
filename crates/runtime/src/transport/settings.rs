//! What a mesh is told when it starts, and why it may not start.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::ProcessId;
use thiserror::Error;

use super::frame::{DATA_OVERHEAD, DEFAULT_LONGEST_BODY};
use super::handshake::LONGEST_CLUSTER_NAME;
use super::keys::Keyring;
use super::peer::SESSIONS;

/// Everything a [`Mesh`](super::Mesh) needs to know to connect one process with its peers.
#[derive(Debug)]
pub struct Settings {
    /// The name of the cluster: nodes of different clusters refuse each other.
    pub cluster: String,
    /// The process this node drives.
    pub me: ProcessId,
    /// This boot of the process, greater than every earlier one: [`Store`](crate::Store) counts.
    pub session: u64,
    /// Where to be found.
    pub listen: Listen,
    /// The address of every process, `host:port`, in order of their ids, this one included. Names
    /// are resolved anew for every attempt. The length is the size of the group.
    pub addresses: Vec<String>,
    /// Whom to take for a peer.
    pub trust: Trust,
    /// How much is held and how long is waited.
    pub limits: Limits,
}

/// Whom a mesh takes for a peer. The same on all nodes of a cluster.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Whoever proves a key that is listed for it. Everything else is sealed: nobody on the way
    /// can read it, change it, repeat it or leave it out.
    Keys(Keyring),
    /// Whoever connects, which nobody can from beyond this machine: such addresses are refused.
    Machine,
    /// Whoever connects, from wherever it comes, and whoever is on the way.
    Anybody,
}

/// Where a mesh accepts connections.
#[derive(Debug)]
pub enum Listen {
    /// At this address, to be bound; port 0 lets the system choose.
    Address(SocketAddr),
    /// On a socket that is already bound and listens.
    Listener(std::net::TcpListener),
}

/// How much a mesh holds and how long it waits. All have defaults that fit a small cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest accepted body of a frame, in bytes; the same on all nodes. Default 1 MiB.
    pub longest_body: usize,
    /// The most messages kept for one peer until it acknowledges them. Default 65 536.
    pub queue_frames: usize,
    /// The most bytes of messages kept for one peer. Default 16 MiB.
    pub queue_bytes: usize,
    /// The most received messages waiting for the consumer. Default 1024.
    pub incoming_frames: usize,
    /// The most connections in the middle of a handshake; the oldest makes place. Default 64.
    pub handshakes: usize,
    /// How long a connection and its handshake may take. Default 3 s.
    pub handshake: Duration,
    /// How long a peer's machine may take to answer at all when it is dialed. Default 400 ms.
    pub connect: Duration,
    /// How long there and back is taken into account by what runs over the mesh: the log says once
    /// of each peer that is dialed if its machine takes longer. Default: however long it takes.
    pub round_trip: Duration,
    /// How long a peer's machine may leave unconfirmed what was written to it, on Linux: the
    /// connection is given up then, and dialed anew, so that a network that comes back is not
    /// found out as late as TCP finds it. Everywhere it is how long a silent machine is left
    /// alone; at least a second of it counts. Default 1 s.
    pub unheard: Duration,
    /// How long a received message may stay unacknowledged for want of an answer. Default 20 ms.
    pub acknowledge_after: Duration,
    /// How long a peer whose queue is half full holds up the local user. Default 1 s.
    pub patience: Duration,
    /// The pause before the first new attempt to reach a peer; it doubles. Default 10 ms.
    pub redial_min: Duration,
    /// The longest pause between attempts to reach a peer. Default 200 ms.
    pub redial_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            longest_body: DEFAULT_LONGEST_BODY,
            queue_frames: 65_536,
            queue_bytes: 16 << 20,
            incoming_frames: 1024,
            handshakes: 64,
            handshake: Duration::from_secs(3),
            connect: Duration::from_millis(400),
            round_trip: Duration::MAX,
            unheard: Duration::from_secs(1),
            acknowledge_after: Duration::from_millis(20),
            patience: Duration::from_secs(1),
            redial_min: Duration::from_millis(10),
            redial_max: Duration::from_millis(200),
        }
    }
}

impl Limits {
    /// The longest payload that fits a frame, in bytes.
    pub fn longest_payload(&self) -> usize {
        self.longest_body.saturating_sub(DATA_OVERHEAD)
    }
}

/// Why a mesh did not start; nothing is left behind.
#[derive(Debug, Error)]
pub enum MeshError {
    /// Somebody else listens at the address.
    #[error("the address {address} is already taken; stop what uses it or choose another port")]
    AddressTaken {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The address cannot be listened at for another reason.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The already bound socket is of no use.
    #[error("the listening socket cannot be used: {0}")]
    Socket(#[source] io::Error),
    /// Anybody could reach this node and pretend to be a peer.
    #[error(
        "{address} can be reached from other machines, and there are no keys by which to know the \
         peers"
    )]
    KeysRequired {
        /// The address that is not loopback.
        address: SocketAddr,
    },
    /// The keys are those of a group of another size.
    #[error("there are keys for {keys} processes, and {size} processes with an address")]
    KeysOfAnother {
        /// How many processes have keys.
        keys: usize,
        /// The number of addresses.
        size: usize,
    },
    /// The system gave no random numbers.
    #[error("the operating system gives no random numbers: {0}")]
    Entropy(#[source] io::Error),
    /// The name of the cluster is empty or too long.
    #[error("a cluster's name has 1 to {LONGEST_CLUSTER_NAME} bytes, not {length}")]
    ClusterName {
        /// The length of the name, in bytes.
        length: usize,
    },
    /// The group does not contain this process.
    #[error("{me} is not one of the {size} processes with an address")]
    NotInGroup {
        /// The process this node was to drive.
        me: ProcessId,
        /// The number of addresses.
        size: usize,
    },
    /// Sessions count from 1, and nobody boots that often.
    #[error("session {session} does not exist: sessions count from 1, and end below 2^40")]
    NoSession {
        /// What was asked for.
        session: u64,
    },
    /// A limit is zero or absurd.
    #[error("the limit {name} must be at least {least}")]
    LimitTooSmall {
        /// The field of [`Limits`].
        name: &'static str,
        /// Its least useful value.
        least: usize,
    },
}

impl Settings {
    /// Everything that can be wrong before a socket is touched.
    pub(crate) fn validate(&self) -> Result<(), MeshError> {
        let length = self.cluster.len();
        if length == 0 || length > LONGEST_CLUSTER_NAME {
            return Err(MeshError::ClusterName { length });
        }
        let size = self.addresses.len();
        if self.me.index() >= size {
            return Err(MeshError::NotInGroup { me: self.me, size });
        }
        if !(1..SESSIONS).contains(&self.session) {
            return Err(MeshError::NoSession { session: self.session });
        }
        if let Trust::Keys(keyring) = &self.trust
            && keyring.keys().size() != size
        {
            return Err(MeshError::KeysOfAnother { keys: keyring.keys().size(), size });
        }
        let limits = &self.limits;
        for (name, limit, least) in [
            ("longest_body", limits.longest_body, 1024),
            ("queue_frames", limits.queue_frames, 2),
            ("queue_bytes", limits.queue_bytes, limits.longest_body),
            ("incoming_frames", limits.incoming_frames, 1),
            ("handshakes", limits.handshakes, 1),
        ] {
            if limit < least {
                return Err(MeshError::LimitTooSmall { name, least });
            }
        }
        Ok(())
    }
}
