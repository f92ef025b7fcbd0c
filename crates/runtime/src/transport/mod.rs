//! Messages between the processes of a group, over TCP: reliable, ordered, told apart by session.
//!
//! [`Mesh::start`] gives two halves: the [`Mesh`] sends, the [`Inbox`] receives. Between one
//! session of this process and one session of a peer every message arrives exactly once and in
//! order, over as many connections as it takes; when either session ends, what was under way
//! between them ends too and never reaches a successor.
//!
//! There is **one connection per pair of processes**, dialed by the process with the higher id.
//! One connection lets an answer carry the acknowledgement of what it answers, and leaves no
//! question which of two to use; that the higher id dials lets a returning leader (by default
//! the highest) reach everybody at once. A connection that breaks is dialed again; a new one
//! that proves itself replaces an old one, so a half-dead connection blocks nobody.
//!
//! `docs/wire.md` describes the bytes, the limits, what keys protect and what they do not.

mod backoff;
mod conduit;
mod context;
mod conversation;
mod counters;
mod dialer;
mod expulsion;
pub mod frame;
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
mod refusal;
#[cfg(feature = "keys")]
mod seal;
mod settings;
mod wire;

pub use counters::Counts;
pub use expulsion::Expelled;
pub use inbox::{Inbox, Incoming};
#[cfg(not(feature = "keys"))]
use keyless::{keys, seal};
pub use keys::Keyring;
#[cfg(feature = "keys")]
pub use keys::{GroupKeys, Keys, KeysError, PrivateKey, PublicKey};
pub use mesh::{Mesh, SendError, View};
pub use peer::PeerStatus;
pub(crate) use peer::SESSIONS;
pub use refusal::Refusal;
pub use settings::{Limits, Listen, MeshError, Settings, Trust};
