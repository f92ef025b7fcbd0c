//! Connections to the members of a service, and requests over them.

use std::time::Duration;

pub(crate) mod channel;
pub(crate) mod connection;
pub(crate) mod endpoint;
mod failures;
mod http2;
mod leader_search;
pub(crate) mod retry;
mod txn_stream;

/// Time within which a request must succeed. The time covers all attempts at all members.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that a client waits for the response of one member. After that, the client sends the
/// request to another member.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// Time for which a client waits for one endpoint to accept the connection. After that, the client
/// also tries the next endpoint, in parallel.
pub(crate) const NEXT_ENDPOINT_DELAY: Duration = Duration::from_millis(250);
