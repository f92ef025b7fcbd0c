//! One connection to one member of a service: gRPC calls over HTTP/2.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt, stream};
use http::Uri;
use http::uri::PathAndQuery;
use prost::Message;
use tenure_etcd::etcdserverpb::{AuthenticateRequest, AuthenticateResponse};
use tenure_etcd::frames::{self, MessageStream, RawCodec};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Code, Status, Streaming};

use crate::byte_stream::ByteStream;
use crate::options::ConnectOptions;
use crate::tls::Certificates;
use crate::transport::endpoint::Endpoint;
use crate::transport::http2::{
    ExpectedMessage, Http2Client, PEER_CLOSED_MESSAGE, WaitingCallerGuard,
};
use crate::transport::retry::no_response_status;
use crate::transport::txn_stream::{TxnStream, TxnStreamResult};
use crate::user::User;

const TXN_PATH: &str = "/etcdserverpb.KV/Txn";

/// Time within which a member must accept a connection, complete the TLS handshake, and send its
/// first frame. After this time, the attempt to connect fails.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Time within which a member must verify a password. After this time, the attempt to connect
/// fails.
pub(crate) const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(5);

/// Parts of the messages with which a member rejects the token of a request: the token has expired,
/// users or roles have changed since it was issued, or authentication was enabled after the client
/// had connected.
const REJECTED_TOKEN_MESSAGES: [&str; 3] =
    ["invalid auth token", "revision of auth store is old", "user name is empty"];

/// Time in milliseconds after which the kernel closes a connection whose data the peer does not
/// acknowledge. Without this limit, the kernel would repeat the packets of an abandoned request for
/// a quarter of an hour, and the member would execute the request after a partition.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_DATA_TIMEOUT: u32 = 10_000;

/// Interval at which the client checks whether it has received bytes from the member.
const PROBE_INTERVAL: Duration = Duration::from_millis(200);

/// Time without a transaction after which the client closes the stream for transactions. While the
/// stream is open, the member cannot close the connection, even if the member has reached its limit
/// of connections.
const TXN_STREAM_IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Upper bound on the size of a response, in bytes. Most gRPC clients have the same default. The
/// decoded response may take a hundred times as much memory.
const MAX_RESPONSE_BYTES: usize = 4 << 20;

pub(crate) type SubscribeFuture<'a, M> = BoxFuture<'a, Result<ResponseStream<M>, Status>>;

/// A stream of responses to one request. Dropping the stream cancels the call.
#[derive(Debug)]
pub(crate) struct ResponseStream<M> {
    messages: MessageStream<M>,
    /// Sender that keeps the client's half of a watch stream open. The client sends no request
    /// through it. When the client cancels the watch, the sender is dropped, the half ends, and the
    /// member notices the end. `None` for calls in which the client sends only one request.
    _requests: Option<oneshot::Sender<Bytes>>,
    _pending: WaitingCallerGuard,
}

impl<M: Message + Default> ResponseStream<M> {
    pub(crate) async fn next(&mut self) -> Result<Option<M>, Status> {
        self.messages.message().await
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    client: Http2Client,
    task: JoinHandle<()>,
    origin: Uri,
    is_abandoned: watch::Sender<bool>,
    /// Authentication token that is sent with each request; `None` without a user.
    token: Option<MetadataValue<Ascii>>,
    /// True if the client has a user, even if the service required no authentication when the
    /// client connected.
    has_user: bool,
    txn_stream: Mutex<Option<TxnStream>>,
    /// True if the member has no stream of transactions. This is the case for etcd.
    has_no_txn_stream: AtomicBool,
    /// Upper bound on the size of a response, in bytes.
    max_response: usize,
}

impl Connection {
    /// Starts HTTP/2 on a byte stream, without authentication.
    pub(crate) async fn handshake(
        endpoint: &Endpoint,
        stream: ByteStream,
    ) -> Result<Connection, Status> {
        let handshake = Http2Client::handshake(stream, PROBE_INTERVAL).await;
        let (client, task) = handshake.map_err(|error| Status::unavailable(error.to_string()))?;
        let (is_abandoned, _) = watch::channel(false);
        Ok(Connection {
            client,
            task,
            origin: endpoint.origin().clone(),
            is_abandoned,
            token: None,
            has_user: false,
            txn_stream: Mutex::default(),
            has_no_txn_stream: AtomicBool::default(),
            max_response: MAX_RESPONSE_BYTES,
        })
    }

    /// Authenticates the user if the options contain a user, within [`AUTHENTICATION_TIMEOUT`].
    /// Sets the maximum size of a response, and returns the connection.
    pub(crate) async fn into_authenticated(
        mut self,
        options: &ConnectOptions,
    ) -> Result<Connection, Status> {
        if let Some(user) = &options.user {
            self.token = self.authenticate(user).await?;
            self.has_user = true;
        }
        self.max_response = options.max_response.unwrap_or(MAX_RESPONSE_BYTES);
        Ok(self)
    }

    /// Returns the token of a user; `None` if the service does not require authentication.
    async fn authenticate(&self, user: &User) -> Result<Option<MetadataValue<Ascii>>, Status> {
        let User { name, password } = user.clone();
        let request = frames::encode(&AuthenticateRequest { name, password });
        let path = "/etcdserverpb.Auth/Authenticate";
        match self.unary(path, request, AUTHENTICATION_TIMEOUT).await {
            Ok(response) => {
                let AuthenticateResponse { token, .. } = frames::decode(response)?;
                let token = token.parse();
                Ok(Some(token.map_err(|_| Status::unavailable("it sent an invalid token"))?))
            }
            Err(status) if status.message().contains("authentication is not enabled") => Ok(None),
            Err(status) => Err(status),
        }
    }

    fn request<M>(&self, message: M) -> tonic::Request<M> {
        let mut request = tonic::Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    /// Returns true if a member rejected the token of this connection with `message`. A new
    /// connection requests a new token.
    pub(crate) fn has_rejected_token(&self, message: &str) -> bool {
        self.has_user && REJECTED_TOKEN_MESSAGES.iter().any(|reason| message.contains(reason))
    }

    /// Changes the code of a rejection of the token to [`Code::Unauthenticated`]. etcd rejects some
    /// tokens with the code `InvalidArgument`. Returns any other status unchanged.
    pub(crate) fn with_code_of_rejected_token(&self, status: Status) -> Status {
        match status.code() == Code::InvalidArgument && self.has_rejected_token(status.message()) {
            true => Status::unauthenticated(status.message()),
            false => status,
        }
    }

    /// Returns the address of the endpoint, as `host:port`.
    pub(crate) fn address(&self) -> &str {
        self.origin.authority().map_or("", |authority| authority.as_str())
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.is_abandoned.borrow() || self.task.is_finished()
    }

    /// Abandons the connection and notifies all tasks that use it.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.send_replace(true);
    }

    pub(crate) async fn wait_until_abandoned(&self) {
        // `self` owns the sender, so this cannot fail.
        let _ = self.is_abandoned.subscribe().wait_for(|is_abandoned| *is_abandoned).await;
    }

    /// Sends a transaction, and returns its response. Uses the stream of transactions if the member
    /// has one. If the response is too long for this stream, sends the transaction again as a
    /// separate call, so the transaction must be idempotent.
    pub(crate) async fn transact(&self, txn: Bytes, within: Duration) -> Result<Bytes, Status> {
        let _pending = self.client.track_waiting_caller(ExpectedMessage::Response);
        if !self.has_no_txn_stream.load(Ordering::Relaxed) {
            let transacted = timeout(within, self.transact_on_stream(&txn)).await;
            match transacted.map_err(|_| no_response_status())? {
                Ok(Some(response)) => return Ok(response),
                Ok(None) => {}
                Err(status) if status.code() == Code::Unimplemented => {
                    self.has_no_txn_stream.store(true, Ordering::Relaxed);
                }
                Err(status) => return Err(self.with_code_of_rejected_token(status)),
            }
        }
        self.unary(TXN_PATH, txn, within).await
    }

    async fn transact_on_stream(&self, txn: &Bytes) -> TxnStreamResult {
        let response = {
            let mut stream = self.txn_stream.lock().unwrap_or_else(PoisonError::into_inner);
            match stream.as_ref().and_then(|stream| stream.send(txn.clone()).ok()) {
                Some(response) => response,
                None => stream.insert(self.open_txn_stream()).send(txn.clone())?,
            }
        };
        response.await.unwrap_or_else(|_| Err(Status::unavailable("the stream was closed")))
    }

    fn open_txn_stream(&self) -> TxnStream {
        TxnStream::open(self.client.clone(), self.grpc(), self.request(()), TXN_STREAM_IDLE_TIMEOUT)
    }

    /// Finds out whether the peer is a member of `tenure serve` or of etcd. To this end, opens the
    /// stream of transactions if it is not open. A member of `tenure serve` accepts this stream,
    /// and a member of etcd rejects it.
    fn detect_member_kind(&self) {
        if !self.has_no_txn_stream.load(Ordering::Relaxed) {
            let mut stream = self.txn_stream.lock().unwrap_or_else(PoisonError::into_inner);
            stream.get_or_insert_with(|| self.open_txn_stream());
        }
    }

    /// Sends one request and returns the response. Fails with [`Code::DeadlineExceeded`] if the
    /// response does not arrive within the time `within`.
    pub(crate) async fn unary(
        &self,
        path: &'static str,
        message: Bytes,
        within: Duration,
    ) -> Result<Bytes, Status> {
        let _pending = self.client.track_waiting_caller(ExpectedMessage::Response);
        let mut request = self.request(message);
        // Tells the member the time limit. The client enforces the limit too, because a suspended
        // member cannot.
        request.set_timeout(within);
        let call = async {
            let mut grpc = self.ready().await?;
            let path = PathAndQuery::from_static(path);
            Ok(grpc.unary(request, path, RawCodec).await?.into_inner())
        };
        let response = timeout(within, call).await.unwrap_or_else(|_| Err(no_response_status()));
        response.map_err(|status| self.with_code_of_rejected_token(status))
    }

    /// Sends requests on one stream, and returns the stream of responses. Dropping the stream
    /// cancels the call.
    pub(crate) fn subscribe<M: Message + Default + 'static>(
        &self,
        path: &'static str,
        messages: Vec<Bytes>,
    ) -> SubscribeFuture<'_, M> {
        let (requests, more) = oneshot::channel();
        let more = stream::once(more).filter_map(async |more| more.ok());
        Box::pin(async move {
            let pending = self.client.track_waiting_caller(ExpectedMessage::Event);
            self.detect_member_kind();
            let frames = self.stream(path, stream::iter(messages).chain(more)).await?;
            Ok(ResponseStream {
                messages: MessageStream::new(frames),
                _requests: Some(requests),
                _pending: pending,
            })
        })
    }

    /// Sends one request to a streaming method, and returns only the first response.
    pub(crate) async fn request_first_response(
        &self,
        path: &'static str,
        message: Bytes,
    ) -> Result<Bytes, Status> {
        let _pending = self.client.track_waiting_caller(ExpectedMessage::Response);
        let mut responses = self.stream(path, stream::iter([message])).await?;
        let response = responses.message().await;
        let response = response.map_err(|status| self.with_code_of_rejected_token(status))?;
        response.ok_or_else(|| Status::unavailable("it closed the stream"))
    }

    /// Sends one request and returns the stream of responses. A member that knows no leader may
    /// respond to this call, but rejects [`Self::subscribe`].
    pub(crate) async fn server_streaming<M: Message + Default + 'static>(
        &self,
        path: &'static str,
        message: Bytes,
    ) -> Result<ResponseStream<M>, Status> {
        let pending = self.client.track_waiting_caller(ExpectedMessage::Response);
        let frames = self.streaming(path, self.request(stream::iter([message]))).await?;
        Ok(ResponseStream {
            messages: MessageStream::new(frames),
            _requests: None,
            _pending: pending,
        })
    }

    /// Starts a streaming call. A member that knows no leader rejects the call.
    async fn stream(
        &self,
        path: &'static str,
        messages: impl Stream<Item = Bytes> + Send + 'static,
    ) -> Result<Streaming<Bytes>, Status> {
        let mut request = self.request(messages);
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        self.streaming(path, request).await
    }

    async fn streaming(
        &self,
        path: &'static str,
        request: tonic::Request<impl Stream<Item = Bytes> + Send + 'static>,
    ) -> Result<Streaming<Bytes>, Status> {
        let mut grpc = self.ready().await?;
        let path = PathAndQuery::from_static(path);
        let responses = grpc.streaming(request, path, RawCodec).await;
        let responses = responses.map_err(|status| self.with_code_of_rejected_token(status))?;
        Ok(responses.into_inner())
    }

    async fn ready(&self) -> Result<Grpc<Http2Client>, Status> {
        let mut grpc = self.grpc();
        grpc.ready().await.map_err(Status::from_error)?;
        Ok(grpc)
    }

    fn grpc(&self) -> Grpc<Http2Client> {
        let grpc = Grpc::with_origin(self.client.clone(), self.origin.clone());
        grpc.max_decoding_message_size(self.max_response)
    }
}

/// Connects to a member: TCP, TLS if the endpoint uses it, and the first frame of HTTP/2. Does not
/// authenticate the user.
pub(crate) async fn connect_without_authentication(
    endpoint: &Endpoint,
    options: &ConnectOptions,
) -> Result<Connection, Status> {
    let connecting = async {
        let stream = byte_stream(endpoint, options).await;
        let stream = stream.map_err(|error| Status::unavailable(describe(error)))?;
        let closed = |error| Status::unavailable(with_remedy(error, endpoint, options));
        let connection = Connection::handshake(endpoint, stream).await.map_err(|status| {
            // The member has closed the connection before the client has sent anything.
            closed(format!("{PEER_CLOSED_MESSAGE}: {}", status.message()))
        })?;
        let first_frame = connection.client.wait_for_first_frame().await;
        first_frame.map(|()| connection).map_err(closed)
    };
    let late = || format!("it does not respond within {} s", CONNECT_TIMEOUT.as_secs());
    timeout(CONNECT_TIMEOUT, connecting).await.map_err(|_| Status::unavailable(late()))?
}

async fn byte_stream(endpoint: &Endpoint, options: &ConnectOptions) -> io::Result<ByteStream> {
    let stream = tcp_stream(endpoint).await?;
    match &options.certificates {
        Some(certificates) if endpoint.is_tls() => {
            certificates.connect(endpoint.host(), stream).await
        }
        _ => Ok(Box::new(stream)),
    }
}

async fn tcp_stream(endpoint: &Endpoint) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(endpoint.address()).await?;
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED_DATA_TIMEOUT);
    Ok(stream)
}

/// Adds the probable remedy to the error text, if the member closed the connection before its first
/// frame. Returns the text.
fn with_remedy(error: String, endpoint: &Endpoint, options: &ConnectOptions) -> String {
    let has_client_certificate =
        options.certificates.as_ref().is_some_and(Certificates::has_client_certificate);
    let remedy = match endpoint.is_tls() {
        _ if !error.starts_with(PEER_CLOSED_MESSAGE) => "",
        // A server that requires TLS may close the connection without a TLS alert.
        false => " (does it need https://?)",
        // In TLS 1.3, a client learns only after the handshake that the server requires a
        // certificate.
        true if !has_client_certificate => " (does it require a client certificate?)",
        true => "",
    };
    error + remedy
}

fn describe(error: io::Error) -> String {
    let text = error.to_string();
    match () {
        () if text.contains("InvalidContentType") || text.contains("corrupt message") => {
            "it does not speak TLS: use http://".to_owned()
        }
        () if text.contains("UnknownIssuer") => {
            text + " (is its authority among the CA certificates?)"
        }
        () => text,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tenure_etcd::etcdserverpb::WatchResponse;
    use tokio::time::sleep;

    use super::*;
    use crate::test_member::start_member;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn sockets_limit_the_age_of_unacknowledged_data() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let endpoint = Endpoint::parse(&address).expect("an endpoint");
        let stream = tcp_stream(&endpoint).await.expect("a connection");
        let timeout = rustix::net::sockopt::tcp_user_timeout(&stream).expect("an option");
        assert_eq!(timeout, UNACKNOWLEDGED_DATA_TIMEOUT);
        assert!(stream.nodelay().expect("an option"));
    }

    #[tokio::test]
    async fn watching_detects_a_member_of_tenure_serve() {
        let (_folder, address) = start_member().await;
        let endpoint = Endpoint::parse(&address).expect("an endpoint");
        let options = ConnectOptions::default();
        let connection =
            connect_without_authentication(&endpoint, &options).await.expect("a connection");
        assert!(!connection.client.is_tenure_member());
        drop(
            connection.subscribe::<WatchResponse>("/etcdserverpb.Watch/Watch", vec![Bytes::new()]),
        );
        assert!(!connection.client.is_tenure_member(), "no request was sent");
        // A member refuses watches until it has elected itself.
        let started = Instant::now();
        let _responses = loop {
            assert!(started.elapsed() < Duration::from_secs(120), "the watch is refused");
            let watch = connection
                .subscribe::<WatchResponse>("/etcdserverpb.Watch/Watch", vec![Bytes::new()]);
            match watch.await {
                Ok(responses) => break responses,
                Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status}"),
            }
            sleep(Duration::from_millis(5)).await;
        };
        let detected = async {
            while !connection.client.is_tenure_member() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(120), detected).await.expect("the member kind is detected");
    }
}
