//! HTTP/2 client that sends the headers and the first DATA frame of a request in one write.
//!
//! The client of `hyper` is not used, because it sends the headers before it polls the body. Each
//! call would take two writes, and would wake the member twice.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Ping, PingPong, Reason, RecvStream, SendStream};
use http::{Request, Response};
use http_body::{Body as _, Frame};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tonic::Status;
use tonic::body::Body;

use crate::byte_stream::{ByteStream, ReadStats, ReadTrackingStream};

/// Flow-control window of one response, in bytes.
const STREAM_WINDOW: u32 = 2 << 20;

/// Flow-control window of all responses together, in bytes.
const CONNECTION_WINDOW: u32 = 5 << 20;

/// Error of a call, which `tonic` converts into a status.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Beginning of the error text if the peer closes the connection before its first frame.
pub(crate) const PEER_CLOSED_MESSAGE: &str = "it closed the connection";

/// Kind of message that a caller waits for. It determines how soon a silent peer is detected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExpectedMessage {
    /// A response, which should arrive soon.
    Response,
    /// A message of a stream of responses, such as an event of a watch. The next message may arrive
    /// at any time, or never.
    Event,
}

impl ExpectedMessage {
    /// Returns the number of consecutive checks without received bytes after which the client sends
    /// a ping.
    ///
    /// The number is lower for members of `tenure serve` than for etcd. While an etcd member sends
    /// no data, it accepts only one ping in 5 s. If it receives several more frequent pings, it
    /// closes the connection.
    const fn max_silent_checks(self, is_tenure: bool) -> u32 {
        match (self, is_tenure) {
            (ExpectedMessage::Response, true) => 2,
            (ExpectedMessage::Event, true) => 3,
            (ExpectedMessage::Response, false) => 5,
            (ExpectedMessage::Event, false) => 26,
        }
    }
}

/// Client side of an HTTP/2 connection. Clones use the same connection.
#[derive(Clone, Debug)]
pub(crate) struct Http2Client {
    sender: SendRequest<Bytes>,
    state: Arc<ConnectionState>,
}

#[derive(Debug, Default)]
struct ConnectionState {
    /// Number of waiting callers, indexed by [`ExpectedMessage`].
    pending: [AtomicUsize; 2],
    /// True once the peer is known to be a server that `tenure serve` started.
    is_tenure: AtomicBool,
    received: Arc<ReadStats>,
    /// Reason why the connection is closed; `None` while the connection is open. The text is empty
    /// if the connection ended without an error.
    closed: watch::Sender<Option<String>>,
}

/// Guard that marks a caller as waiting for a message, until the guard is dropped.
#[derive(Debug)]
pub(crate) struct WaitingCallerGuard(Arc<ConnectionState>, ExpectedMessage);

impl Drop for WaitingCallerGuard {
    fn drop(&mut self) {
        self.0.pending[self.1 as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

impl Http2Client {
    /// Starts HTTP/2 on a byte stream. Returns the client and the task that drives the connection.
    ///
    /// The task ends when all clones of the client and all responses are dropped. The task also
    /// ends if a caller waits while the peer is silent, and the peer does not respond to a ping.
    pub(crate) async fn handshake(
        stream: ByteStream,
        probe_interval: Duration,
    ) -> Result<(Http2Client, JoinHandle<()>), h2::Error> {
        let mut builder = Builder::new();
        builder.enable_push(false);
        builder.initial_window_size(STREAM_WINDOW);
        builder.initial_connection_window_size(CONNECTION_WINDOW);
        let (stream, received) = ReadTrackingStream::new(stream);
        let (sender, mut connection) = builder.handshake(stream).await?;
        let pings = connection.ping_pong().expect("it is taken once");
        let state = Arc::new(ConnectionState { received, ..ConnectionState::default() });
        let probe = LivenessProbe { state: state.clone(), reads_before: 0, silent_checks: 0 };
        let shared = state.clone();
        let task = tokio::spawn(async move {
            let reason = tokio::select! {
                // Callers that wait for a response receive this error from `h2`.
                ended = connection => ended.err().map(|error| error.to_string()),
                () = probe.run(pings, probe_interval) => Some("it does not respond".to_owned()),
            };
            shared.closed.send_replace(Some(reason.unwrap_or_default()));
        });
        Ok((Http2Client { sender, state }, task))
    }

    /// Waits for the first frame of the peer, which an HTTP/2 server sends without a request. If
    /// the server process is suspended, its operating system accepts the connection, but no frame
    /// arrives.
    ///
    /// # Errors
    ///
    /// The reason as text, if the peer speaks another protocol or closes the connection.
    pub(crate) async fn wait_for_first_frame(&self) -> Result<(), String> {
        let mut closed = self.state.closed.subscribe();
        tokio::select! {
            biased;
            first = self.state.received.wait_for_first_bytes() => match protocol_error(first) {
                Some(error) => Err(error.to_owned()),
                None => Ok(()),
            },
            reason = closed.wait_for(Option::is_some) => {
                let reason = reason.ok().and_then(|reason| reason.clone()).unwrap_or_default();
                Err(match reason.is_empty() {
                    true => PEER_CLOSED_MESSAGE.to_owned(),
                    false => format!("{PEER_CLOSED_MESSAGE}: {reason}"),
                })
            }
        }
    }

    pub(crate) fn track_waiting_caller(&self, expected: ExpectedMessage) -> WaitingCallerGuard {
        self.state.pending[expected as usize].fetch_add(1, Ordering::Relaxed);
        WaitingCallerGuard(self.state.clone(), expected)
    }

    pub(crate) fn mark_tenure_member(&self) {
        self.state.is_tenure.store(true, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn is_tenure_member(&self) -> bool {
        self.state.is_tenure.load(Ordering::Relaxed)
    }
}

/// Checks whether the first bytes of a peer can be a frame of HTTP/2. Returns an error message if
/// they cannot.
fn protocol_error(first: &[u8]) -> Option<&'static str> {
    match first {
        // An alert, by which a TLS server rejects bytes that are not TLS.
        [0x15, 0x03, ..] => Some("it speaks TLS: use https://"),
        [b'H', b'T', b'T', b'P', ..] => {
            Some("it speaks HTTP/1 only, not gRPC: use the client URL of a member")
        }
        // A frame begins with its length in 3 bytes, and its type in 1 byte. The first frame is
        // SETTINGS, with type 4.
        [_, _, _, 4, ..] => None,
        [_, _, _, _, ..] => Some("it does not speak HTTP/2: use the client URL of a member"),
        _ => None,
    }
}

/// Detector of a silent peer. It counts consecutive checks that find no new bytes. It does not
/// measure the time since the last byte, because the client itself may have been suspended or busy
/// in that time.
struct LivenessProbe {
    state: Arc<ConnectionState>,
    reads_before: usize,
    silent_checks: u32,
}

impl LivenessProbe {
    /// Sends a ping whenever the peer was silent for too long. Returns if the peer stays silent.
    ///
    /// After a ping, any received byte shows that the peer is alive. The response to the ping
    /// itself may be queued behind much data.
    async fn run(mut self, mut pings: PingPong, interval: Duration) {
        loop {
            sleep(interval).await;
            if !self.is_silent(None) {
                continue;
            }
            self.silent_checks = 0;
            let mut pong = pin!(pings.ping(Ping::opaque()));
            loop {
                match timeout(interval, &mut pong).await {
                    Ok(Ok(_)) => break,
                    Err(_) if !self.is_silent(Some(ExpectedMessage::Response)) => {}
                    Ok(Err(_)) | Err(_) => return,
                }
            }
        }
    }

    /// Checks whether bytes have been read since the last check. Returns true if a caller waits and
    /// too many consecutive checks found no new bytes.
    ///
    /// The limit depends on `expected` or, if this is `None`, on the message that the caller waits
    /// for.
    fn is_silent(&mut self, expected: Option<ExpectedMessage>) -> bool {
        let reads = self.state.received.reads.load(Ordering::Relaxed);
        let is_pending =
            |kind: &ExpectedMessage| self.state.pending[*kind as usize].load(Ordering::Relaxed) > 0;
        let pending =
            [ExpectedMessage::Response, ExpectedMessage::Event].into_iter().find(is_pending);
        let has_read = std::mem::replace(&mut self.reads_before, reads) != reads;
        self.silent_checks = if has_read || pending.is_none() { 0 } else { self.silent_checks + 1 };
        let is_tenure = self.state.is_tenure.load(Ordering::Relaxed);
        pending.is_some_and(|pending| {
            self.silent_checks >= expected.unwrap_or(pending).max_silent_checks(is_tenure)
        })
    }
}

impl tower_service::Service<Request<Body>> for Http2Client {
    type Response = Response<ResponseBody>;
    /// Either an [`h2::Error`], or a [`Status`] for a response that is not a gRPC response.
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.sender.poll_ready(context).map_err(BoxError::from)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut sender = self.sender.clone();
        Box::pin(async move {
            let (head, mut body) = request.into_parts();
            let mut ready = Vec::new();
            let has_ended =
                poll_fn(|context| Poll::Ready(take_ready(&mut body, &mut ready, context))).await;
            let head = Request::from_parts(head, ());
            let (response, mut stream) =
                sender.send_request(head, ready.is_empty() && has_ended)?;
            let count = ready.len();
            for (number, data) in (1..).zip(ready) {
                // A member may reject a call and close its stream before it has read the message.
                // The response contains the status.
                if stream.send_data(data, number == count && has_ended).is_err() {
                    break;
                }
            }
            if !has_ended {
                tokio::spawn(send_rest(body, stream));
            }
            let response = response.await?;
            check_http_status(&response)?;
            Ok(response.map(ResponseBody))
        })
    }
}

/// Returns an error if the HTTP status of a response shows that the peer does not serve gRPC. The
/// status code of the error is `Unavailable`, so that the client tries another endpoint.
fn check_http_status<T>(response: &Response<T>) -> Result<(), Status> {
    let status = response.status();
    if status.is_success() || response.headers().contains_key(Status::GRPC_STATUS) {
        return Ok(());
    }
    Err(Status::unavailable(match status.is_server_error() {
        // For example, a proxy that cannot reach the member responds with a server error.
        true => format!("it responds with HTTP status {status} instead of gRPC"),
        false => {
            format!("it serves no etcd API (HTTP status {status}): use the client URL of a member")
        }
    }))
}

/// Moves frames from `body` to the end of `ready`, until `body` would have to wait. Returns true if
/// the body has ended.
fn take_ready(body: &mut Body, ready: &mut Vec<Bytes>, context: &mut Context<'_>) -> bool {
    loop {
        match Pin::new(&mut *body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => ready.extend(frame.into_data().ok()),
            // All messages of the body are encoded already, so the body returns no error.
            Poll::Ready(Some(Err(_)) | None) => return true,
            Poll::Pending => return false,
        }
    }
}

async fn send_rest(mut body: Body, mut stream: SendStream<Bytes>) {
    loop {
        let frame = tokio::select! {
            frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)) => frame,
            _ = poll_fn(|context| stream.poll_reset(context)) => return,
        };
        let (data, is_last) = match frame {
            Some(Ok(frame)) => (frame.into_data().unwrap_or_default(), false),
            Some(Err(_)) | None => (Bytes::new(), true),
        };
        if stream.send_data(data, is_last).is_err() || is_last {
            return;
        }
    }
}

#[derive(Debug)]
pub(crate) struct ResponseBody(RecvStream);

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        match ready!(self.0.poll_data(context)) {
            Some(Ok(data)) => {
                // The call fails only if more capacity is released than was received.
                let _ = self.0.flow_control().release_capacity(data.len());
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            // A server that has responded may reset the stream before it has read the request.
            Some(Err(error)) if error.reason() == Some(Reason::NO_ERROR) => {}
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => {}
        }
        let trailers = ready!(self.0.poll_trailers(context));
        Poll::Ready(trailers.transpose().map(|trailers| trailers.map(Frame::trailers)))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use bytes::BytesMut;
    use http::uri::PathAndQuery;
    use tenure_etcd::frames::RawCodec;
    use tokio::io::{
        AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, WriteHalf, duplex, join, split,
    };
    use tonic::client::Grpc;

    use super::*;

    struct RecordedWrites(WriteHalf<DuplexStream>, Arc<Mutex<Vec<Vec<u8>>>>);

    impl AsyncWrite for RecordedWrites {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.1.lock().expect("not poisoned").push(bytes.to_vec());
            Pin::new(&mut self.0).poll_write(context, bytes)
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(context)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(context)
        }
    }

    fn types(mut bytes: &[u8]) -> Vec<u8> {
        let mut types = Vec::new();
        while let [a, b, c, kind, rest @ ..] = bytes {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            types.push(*kind);
            bytes = rest.get(5 + length..).unwrap_or_default();
        }
        types
    }

    async fn serve_ok(stream: DuplexStream) {
        let mut requests = h2::server::handshake(stream).await.expect("a handshake");
        while let Some(Ok((request, mut respond))) = requests.accept().await {
            tokio::spawn(async move {
                let mut body = request.into_body();
                while let Some(Ok(_)) = body.data().await {}
                let mut response =
                    respond.send_response(Response::new(()), false).expect("the stream is open");
                response
                    .send_data(Bytes::from_static(b"\0\0\0\0\x02ok"), false)
                    .expect("the stream is open");
                let trailers = [("grpc-status", "0")].map(|(name, value)| {
                    (name.parse().expect("a name"), value.parse().expect("a value"))
                });
                response.send_trailers(trailers.into_iter().collect()).expect("the stream is open");
            });
        }
    }

    #[tokio::test]
    async fn request_is_sent_in_one_write_with_its_headers() {
        let (ours, theirs) = duplex(1 << 16);
        let written = Arc::new(Mutex::new(Vec::new()));
        let (reader, writer) = split(ours);
        let stream = Box::new(join(reader, RecordedWrites(writer, written.clone())));
        tokio::spawn(serve_ok(theirs));
        let (client, task) =
            Http2Client::handshake(stream, Duration::from_secs(60)).await.expect("a member");
        let mut grpc = Grpc::with_origin(client, "http://a".parse().expect("an origin"));
        for message in ["first", "second", "third"] {
            written.lock().expect("not poisoned").clear();
            grpc.ready().await.expect("it is ready");
            let request = tonic::Request::new(Bytes::from_static(message.as_bytes()));
            let path = PathAndQuery::from_static("/a/b");
            let response = grpc.unary(request, path, RawCodec).await.expect("an answer");
            assert_eq!(response.into_inner(), "ok");
            let written = written.lock().expect("not poisoned");
            let kinds: Vec<Vec<u8>> = written.iter().map(|bytes| types(bytes)).collect();
            let (head, data) = (1, 0);
            // The first write also holds the preface and SETTINGS.
            let is_one = |kinds: &Vec<u8>| kinds.ends_with(&[head, data]);
            assert_eq!(kinds.iter().filter(|it| is_one(it)).count(), 1, "{kinds:?}");
            assert!(kinds.iter().all(|it| is_one(it) || !it.contains(&head)), "{kinds:?}");
        }
        drop(grpc);
        task.await.expect("it ends when all clients are dropped");
    }

    /// The peer sends bytes continuously, but does not respond to the ping. For example, the
    /// response may be queued behind much data. The connection must stay open until the peer stops
    /// sending.
    #[tokio::test]
    async fn peer_that_sends_bytes_is_alive() {
        let (ours, mut theirs) = duplex(1 << 16);
        let interval = Duration::from_millis(100);
        let (client, task) =
            Http2Client::handshake(Box::new(ours), interval).await.expect("a member");
        let _pending = client.track_waiting_caller(ExpectedMessage::Response);
        // An empty SETTINGS frame.
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        for _ in 0..60 {
            theirs.write_all(&settings).await.expect("the peer reads");
            sleep(interval / 5).await;
        }
        assert!(!task.is_finished());
        timeout(Duration::from_secs(120), task)
            .await
            .expect("the silence is detected")
            .expect("no panic");
    }

    #[tokio::test]
    async fn silent_peer_is_detected_while_a_caller_waits() {
        let (interval, mut streams) = (Duration::from_millis(100), Vec::new());
        let mut start = async || {
            let (ours, theirs) = duplex(1 << 16);
            streams.push(theirs);
            let started = Http2Client::handshake(Box::new(ours), interval).await.expect("a member");
            started.0.mark_tenure_member();
            started
        };
        let ((one, one_task), (other, other_task)) = (start().await, start().await);
        let (idle, idle_task) = start().await;
        drop(idle.track_waiting_caller(ExpectedMessage::Response));
        let _pending = (
            one.track_waiting_caller(ExpectedMessage::Response),
            other.track_waiting_caller(ExpectedMessage::Event),
        );
        let soon = Duration::from_secs(120);
        timeout(soon, one_task).await.expect("the silence is detected").expect("no panic");
        timeout(soon, other_task).await.expect("the silence is detected").expect("no panic");
        sleep(6 * interval).await;
        assert!(!idle_task.is_finished(), "no caller waits");
        let _pending = idle.track_waiting_caller(ExpectedMessage::Response);
        timeout(soon, idle_task).await.expect("the silence is detected").expect("no panic");
    }

    /// A peer of unknown kind receives no ping within ten intervals. The peer may be etcd, which
    /// accepts only one ping in five seconds. A member of `tenure serve` receives a ping.
    #[tokio::test]
    async fn peer_that_may_be_etcd_receives_few_pings() {
        let (ours, mut theirs) = duplex(1 << 16);
        let interval = Duration::from_millis(20);
        let (client, _task) =
            Http2Client::handshake(Box::new(ours), interval).await.expect("a member");
        let mut written = BytesMut::new();
        let mut pings = async |checks: u32| {
            sleep(checks * interval).await;
            while let Ok(Ok(1..)) = timeout(interval / 4, theirs.read_buf(&mut written)).await {}
            // The frames follow the connection preface.
            let frames = written.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            types(frames.expect("a beginning")).iter().filter(|kind| **kind == 6).count()
        };
        assert_eq!(pings(30).await, 0, "no caller waits");
        // The client counts silent checks only while a caller waits.
        let _pending = client.track_waiting_caller(ExpectedMessage::Event);
        assert_eq!(pings(10).await, 0);
        client.mark_tenure_member();
        let pinged = async { while pings(10).await == 0 {} };
        timeout(Duration::from_secs(120), pinged).await.expect("a ping");
        assert_eq!(pings(10).await, 1, "one ping without a response");
    }
}
