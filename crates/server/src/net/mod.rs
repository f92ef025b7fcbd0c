//! Sockets: listeners, connections, memory limits, TLS, and JSON over HTTP.

pub(crate) mod connections;
pub(crate) mod cors;
pub(crate) mod dashboard;
pub(crate) mod gateway;
pub(crate) mod incomplete_message_budget;
pub(crate) mod json_enums;
pub(crate) mod json_stream;
pub(crate) mod listener;
pub(crate) mod peers;
pub(crate) mod probes;
pub(crate) mod response_budget;
pub(crate) mod shutdown;
#[cfg_attr(not(feature = "tls"), path = "tls_disabled.rs")]
pub(crate) mod tls;
