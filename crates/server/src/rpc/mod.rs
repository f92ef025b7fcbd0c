//! gRPC services, one module each, and the code that they share.

pub(crate) mod auth;
pub(crate) mod cluster;
pub(crate) mod convert;
pub(crate) mod election;
pub(crate) mod error;
pub(crate) mod health;
pub(crate) mod kv;
pub(crate) mod lease;
pub(crate) mod lock;
pub(crate) mod maintenance;
pub(crate) mod observe;
pub(crate) mod quota;
pub(crate) mod router;
pub(crate) mod session;
pub(crate) mod watch;
