//! The services, each as functions: what they are asked, and what they answer.

pub(crate) mod auth;
pub(crate) mod cluster;
pub(crate) mod election;
pub(crate) mod health;
pub(crate) mod kv;
pub(crate) mod lease;
pub(crate) mod lock;
pub(crate) mod maintenance;
pub(crate) mod observe;
pub(crate) mod session;
pub(crate) mod watch;
