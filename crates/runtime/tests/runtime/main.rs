//! Real sockets and real files: the transport, the store, and nodes and applications on top.

mod applications;
mod node;
mod store;
mod transport;
