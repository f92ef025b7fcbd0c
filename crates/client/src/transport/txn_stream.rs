//! Stream of transactions, which costs less than one call per transaction. Only `tenure serve`
//! supports it.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::uri::PathAndQuery;
use tenure_etcd::frames::{MessageStream, RawCodec};
use tenure_etcd::tenure::Transacted;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::{Code, Request, Status};

use crate::transport::http2::Http2Client;

/// Response to a transaction. `None` if the transaction was applied, but its response is too long
/// for the stream.
pub(crate) type TxnStreamResult = Result<Option<Bytes>, Status>;

/// A stream of transactions to one member. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct TxnStream {
    requests: mpsc::UnboundedSender<Bytes>,
    pending: Arc<PendingTxns>,
}

/// Transactions that have received no response yet, in the order of their requests. The member
/// responds in the same order.
#[derive(Debug, Default)]
struct PendingTxns(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    callers: VecDeque<oneshot::Sender<TxnStreamResult>>,
    closed: Option<Status>,
}

impl TxnStream {
    /// Opens a stream of transactions with the metadata of the request `request_head`. The stream
    /// closes after `idle_timeout` without a response, if no caller waits for one.
    pub(crate) fn open(
        client: Http2Client,
        grpc: Grpc<Http2Client>,
        request_head: Request<()>,
        idle_timeout: Duration,
    ) -> TxnStream {
        let (requests, mut receiver) = mpsc::unbounded_channel();
        let pending: Arc<PendingTxns> = Arc::default();
        let messages = stream::poll_fn(move |context| receiver.poll_recv(context));
        let messages = request_head.map(|()| messages);
        tokio::spawn(pending.clone().run(client, grpc, messages, idle_timeout));
        TxnStream { requests, pending }
    }

    /// Sends a transaction and returns the receiver of its response.
    ///
    /// # Errors
    ///
    /// The reason why the stream is closed.
    pub(crate) fn send(&self, txn: Bytes) -> Result<oneshot::Receiver<TxnStreamResult>, Status> {
        let (caller, response) = oneshot::channel();
        let mut queue = self.pending.lock();
        if let Some(reason) = &queue.closed {
            return Err(reason.clone());
        }
        // If the receiver is gone, the task is about to close the stream and to notify the callers.
        let _ = self.requests.send(txn);
        queue.callers.push_back(caller);
        Ok(response)
    }
}

impl PendingTxns {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(
        self: Arc<Self>,
        client: Http2Client,
        grpc: Grpc<Http2Client>,
        messages: Request<impl Stream<Item = Bytes> + Send + 'static>,
        idle_timeout: Duration,
    ) {
        let ended = self.deliver(&client, grpc, messages, idle_timeout).await;
        let reason = ended.err().unwrap_or_else(|| Status::unavailable("it ended the stream"));
        let mut queue = self.lock();
        for caller in queue.callers.drain(..) {
            // The caller may have been cancelled.
            let _ = caller.send(Err(reason.clone()));
        }
        queue.closed.get_or_insert(reason);
    }

    async fn deliver(
        &self,
        client: &Http2Client,
        mut grpc: Grpc<Http2Client>,
        messages: Request<impl Stream<Item = Bytes> + Send + 'static>,
        idle_timeout: Duration,
    ) -> Result<(), Status> {
        grpc.ready().await.map_err(Status::from_error)?;
        let path = PathAndQuery::from_static("/tenure.Session/Transact");
        let opening = grpc.streaming(messages, path, RawCodec);
        let Some(opened) = self.unless_idle(idle_timeout, opening).await else { return Ok(()) };
        let frames = opened?.into_inner();
        client.mark_tenure_member();
        let mut responses = MessageStream::<Transacted>::new(frames);
        loop {
            let next = self.unless_idle(idle_timeout, responses.message()).await.transpose()?;
            let Some(Transacted { code, message, answer, is_too_long }) = next.flatten() else {
                return Ok(());
            };
            let result = match Code::from(code) {
                Code::Ok => Ok((!is_too_long).then_some(answer)),
                code => Err(Status::new(code, message)),
            };
            let Some(caller) = self.lock().callers.pop_front() else {
                return Err(Status::unavailable("it sent a response without a request"));
            };
            let _ = caller.send(result);
        }
    }

    /// Waits for the future `step`, and returns its result. If no caller waits at the end of an
    /// `idle_timeout`, closes the stream and returns `None`.
    async fn unless_idle<T>(
        &self,
        idle_timeout: Duration,
        step: impl Future<Output = T>,
    ) -> Option<T> {
        let mut step = pin!(step);
        loop {
            match timeout(idle_timeout, &mut step).await {
                Ok(result) => return Some(result),
                Err(_) if self.close_if_idle() => return None,
                Err(_) => {}
            }
        }
    }

    /// Closes the stream if no caller waits. Returns true if it is closed.
    fn close_if_idle(&self) -> bool {
        let mut queue = self.lock();
        // A caller that was cancelled stays in the queue, because the member may still respond to
        // its transaction.
        if queue.callers.iter().all(oneshot::Sender::is_closed) {
            queue.closed = Some(Status::unavailable("the stream was idle"));
        }
        queue.closed.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::{Buf, BytesMut};
    use h2::RecvStream;
    use h2::server::SendResponse;
    use http::Response;
    use prost::Message;
    use tokio::io::{DuplexStream, duplex};
    use tokio::sync::oneshot::error::TryRecvError;
    use tokio::time::sleep;

    use super::*;
    use crate::transport::connection::Connection;
    use crate::transport::endpoint::Endpoint;

    const STEP_TIMEOUT: Duration = Duration::from_secs(120);

    #[derive(Debug, Default)]
    struct Counts {
        streams: AtomicUsize,
        calls: AtomicUsize,
    }

    /// Runs a member for a test. The member responds to every separate call with `call`. If
    /// `has_stream` is true, the member also supports the stream of transactions. It then responds
    /// to each transaction on the stream with the bytes of the transaction. For the transaction
    /// `long`, it reports that the response is too long.
    async fn run_member(stream: DuplexStream, has_stream: bool, counts: Arc<Counts>) {
        let mut requests = h2::server::handshake(stream).await.expect("a handshake");
        while let Some(Ok((request, respond))) = requests.accept().await {
            let is_stream = request.uri().path() == "/tenure.Session/Transact";
            let count = if is_stream { &counts.streams } else { &counts.calls };
            count.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(respond_to(request.into_body(), respond, is_stream, has_stream));
        }
    }

    async fn respond_to(
        mut body: RecvStream,
        mut respond: SendResponse<Bytes>,
        is_stream: bool,
        has_stream: bool,
    ) {
        let status = |code: &str| {
            let code = code.parse().expect("a value");
            http::HeaderMap::from_iter([("grpc-status".parse().expect("a name"), code)])
        };
        if is_stream && !has_stream {
            let mut response = Response::new(());
            *response.headers_mut() = status("12");
            respond.send_response(response, true).expect("the stream is open");
            return;
        }
        let mut response =
            respond.send_response(Response::new(()), false).expect("the stream is open");
        let mut frame = |message: &[u8]| {
            let length = u32::try_from(message.len()).expect("a short message").to_be_bytes();
            response
                .send_data([&[0], &length[..], message].concat().into(), false)
                .expect("the stream is open");
        };
        let mut bytes = BytesMut::new();
        while let Some(data) = body.data().await {
            bytes.extend_from_slice(&data.expect("a handshake"));
            while bytes.len() >= 5 {
                let length = usize::from(bytes[4]);
                let message = bytes.split_to(5 + length).split_off(5).freeze();
                let is_too_long = message.chunk() == b"long";
                let transacted =
                    Transacted { answer: message, is_too_long, ..Transacted::default() };
                if is_stream {
                    frame(&transacted.encode_to_vec());
                }
            }
        }
        if !is_stream {
            frame(b"call");
        }
        response.send_trailers(status("0")).expect("the stream is open");
    }

    async fn connected(has_stream: bool) -> (Connection, Arc<Counts>) {
        let (ours, theirs) = duplex(1 << 16);
        let counts: Arc<Counts> = Arc::default();
        tokio::spawn(run_member(theirs, has_stream, counts.clone()));
        let endpoint = Endpoint::parse("http://member:1").expect("an endpoint");
        let connection = Connection::handshake(&endpoint, Box::new(ours)).await;
        (connection.expect("a member"), counts)
    }

    async fn transact(connection: &Connection, txn: &'static str) -> Bytes {
        let response = connection.transact(txn.into(), STEP_TIMEOUT).await;
        response.expect("a response")
    }

    #[tokio::test]
    async fn member_without_stream_receives_calls() {
        let (connection, counts) = connected(false).await;
        for time in 1..4 {
            assert_eq!(transact(&connection, "a").await, "call");
            assert_eq!(counts.calls.load(Ordering::Relaxed), time);
        }
        assert_eq!(counts.streams.load(Ordering::Relaxed), 1, "the stream is tried once");
    }

    #[tokio::test]
    async fn each_caller_receives_its_own_response() {
        let (connection, counts) = connected(true).await;
        let (one, long, other) = tokio::join!(
            transact(&connection, "one"),
            transact(&connection, "long"),
            transact(&connection, "other"),
        );
        assert_eq!((&one[..], &long[..], &other[..]), (&b"one"[..], &b"call"[..], &b"other"[..]));
        assert_eq!(transact(&connection, "more").await, "more");
        assert_eq!(counts.streams.load(Ordering::Relaxed), 1);
        assert_eq!(
            counts.calls.load(Ordering::Relaxed),
            1,
            "a long response is requested by a call"
        );
    }

    /// Runs a member that accepts connections and requests, and sends no transactions. If `opens`
    /// is true, it sends the headers of the response. Returns once the client has closed the
    /// connection.
    async fn run_silent_member(stream: DuplexStream, opens: bool) {
        let mut requests = h2::server::handshake(stream).await.expect("a handshake");
        let mut pending = Vec::new();
        while let Some(Ok((request, mut respond))) = requests.accept().await {
            let response =
                opens.then(|| respond.send_response(Response::new(()), false).expect("it is open"));
            pending.push((request, respond, response));
        }
    }

    #[tokio::test]
    async fn stream_of_cancelled_callers_is_closed() {
        for opens in [false, true] {
            let (ours, theirs) = duplex(1 << 16);
            let member = tokio::spawn(run_silent_member(theirs, opens));
            let started = Http2Client::handshake(Box::new(ours), STEP_TIMEOUT).await;
            let (client, _) = started.expect("a member");
            let origin = "http://member:1".parse().expect("an origin");
            let grpc = Grpc::with_origin(client.clone(), origin);
            let idle_timeout = Duration::from_millis(50);
            let stream = TxnStream::open(client, grpc, Request::new(()), idle_timeout);
            let mut waiting = stream.send("a".into()).expect("the stream is open");
            drop(stream.send("b".into()));
            sleep(4 * idle_timeout).await;
            assert!(waiting.try_recv().is_err_and(|error| error == TryRecvError::Empty));
            drop((waiting, stream));
            let closed = timeout(STEP_TIMEOUT, member).await;
            closed.expect("the connection is closed").expect("no panic");
        }
    }

    #[tokio::test]
    async fn idle_stream_is_closed() {
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(run_member(theirs, true, Arc::default()));
        let started = Http2Client::handshake(Box::new(ours), STEP_TIMEOUT).await;
        let (client, _) = started.expect("a member");
        let origin = "http://member:1".parse().expect("an origin");
        let grpc = Grpc::with_origin(client.clone(), origin);
        let stream = TxnStream::open(client, grpc, Request::new(()), Duration::from_millis(500));
        let mut responses = 0;
        let closed = async {
            while let Ok(response) = stream.send("a".into()) {
                assert_eq!(response.await.expect("a response").expect("applied"), Some("a".into()));
                responses += 1;
                sleep(Duration::from_millis(1 << responses)).await;
            }
        };
        timeout(STEP_TIMEOUT, closed).await.expect("the idle stream closes");
        assert!(responses > 1);
    }
}
