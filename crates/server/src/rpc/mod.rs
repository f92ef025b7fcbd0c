//! gRPC services, one module each, and the code that they share.

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

pub(crate) mod auth;
pub(crate) mod cluster;
pub(crate) mod convert;
pub(crate) mod descriptors;
pub(crate) mod election;
pub(crate) mod error;
pub(crate) mod fragments;
pub(crate) mod health;
pub(crate) mod kv;
pub(crate) mod lease;
pub(crate) mod lock;
pub(crate) mod maintenance;
pub(crate) mod observe;
pub(crate) mod quota;
pub(crate) mod router;
pub(crate) mod scan;
pub(crate) mod session;
pub(crate) mod watch;

/// Maximum number of prepared responses in the buffer of a stream. With the bound 1, a response is
/// prepared only after the connection has taken the previous response.
const RESPONSE_BUFFER: usize = 1;

/// Sender of the responses of a stream.
pub(crate) type ResponseSender<T> = mpsc::Sender<Result<T, Status>>;

/// Starts a task that sends the responses of a stream, and returns the stream of these responses.
/// The task is cancelled when the client closes the stream.
pub(crate) fn spawn_response_stream<T, F>(
    task: impl FnOnce(ResponseSender<T>) -> F + Send + 'static,
) -> ReceiverStream<Result<T, Status>>
where
    T: Send + 'static,
    F: Future + Send + 'static,
{
    let (responses, receiver) = mpsc::channel(RESPONSE_BUFFER);
    tokio::spawn(async move {
        let closed = responses.clone();
        tokio::select! {
            () = closed.closed() => {}
            _ = task(responses) => {}
        }
    });
    ReceiverStream::new(receiver)
}
