//! Reliable, ordered messages between the sessions of the processes of a group, over TCP.
//!
//! [`Mesh::start`] returns two halves: the [`Mesh`] sends and the [`Inbox`] receives. Each message
//! from one session of a process to one session of a peer arrives exactly once and in order, over
//! as many connections as necessary. When one of the two sessions ends, the undelivered messages
//! between them are dropped. They never reach a later session.
//!
//! There is **one connection per pair of processes**, dialed by the process with the higher id.
//! With a single connection, a response also carries the acknowledgement of its request. Since the
//! process with the higher id dials, a recovering leader (by default the highest process) reaches
//! all peers immediately. A broken connection is dialed again. A new authenticated connection
//! replaces the old one, so a half-open connection does not block the peer.
//!
//! `docs/wire.md` describes the encoding, the limits, and the guarantees of the keys.

mod backoff;
#[cfg(feature = "keys")]
mod cipher;
mod connection_state;
mod context;
mod counters;
mod dialer;
mod eviction;
pub mod frame;
mod framed_stream;
mod handshake;
mod inbox;
#[cfg(not(feature = "keys"))]
mod keyless;
#[cfg(feature = "keys")]
mod keys;
mod link;
mod listener;
mod mesh;
mod outbox;
mod peer;
mod rejection_reason;
mod reliable_session;
mod settings;

pub use counters::MeshCounts;
pub use eviction::Eviction;
pub use handshake::MAX_CLUSTER_NAME_BYTES;
pub use inbox::{Inbox, MeshEvent};
#[cfg(not(feature = "keys"))]
use keyless::{cipher, keys};
pub use keys::ReplaceableKeys;
#[cfg(feature = "keys")]
pub use keys::{GroupPublicKeys, KeysError, NodeKeys, PrivateKey, PublicKey};
pub use mesh::{Mesh, MeshStatus, SendError};
pub use peer::PeerStatus;
pub(crate) use peer::SESSION_LIMIT;
pub use rejection_reason::RejectionReason;
pub use settings::{Listen, MeshLimits, MeshSettings, MeshStartError, PeerAuthentication};
