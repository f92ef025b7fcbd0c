//! Real sockets and real files: the transport, the store, and nodes and applications on top.

mod absurd;
mod applications;
mod away;
mod node;
mod store;
mod transport;
