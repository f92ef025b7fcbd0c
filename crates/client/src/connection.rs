//! One connection to one member of a service: calls of gRPC over HTTP/2.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::Uri;
use http::uri::PathAndQuery;
use prost::Message;
use tenure_etcd::etcdserverpb::{AuthenticateRequest, AuthenticateResponse};
use tenure_etcd::frames::{self, Frames, Messages};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Code, Status, Streaming};

use crate::access::Access;
use crate::calls::{Awaited, Calls, Waiting};
use crate::claim::TXN;
use crate::endpoint::Endpoint;
use crate::txns::{Answer, Txns};
use crate::user::User;
use crate::wire::Wire;

/// How long a member may take to accept a connection, to prove who it is, and to send its first
/// frame.
const CONNECT: Duration = Duration::from_secs(2);

/// How long it may take to look at a password.
const AUTHENTICATED: Duration = Duration::from_secs(5);

/// How often it is looked whether anything has come, to find out who is silent.
const LOOK: Duration = Duration::from_millis(200);

/// After how long a stream is ended on which nothing is asked: a member that has no room lets those
/// go that have nothing under way.
const IDLE: Duration = Duration::from_secs(5);

/// The longest answer: what most who speak gRPC take. In memory it may be a hundred times as long.
const LONGEST_ANSWER: usize = 4 << 20;

/// The answers that will follow.
pub(crate) type Following<'a, M> =
    Pin<Box<dyn Future<Output = Result<Answers<M>, Status>> + Send + 'a>>;

/// The answers to one question, as they come. Whoever drops them is told no more.
#[derive(Debug)]
pub(crate) struct Answers<M> {
    messages: Messages<M>,
    /// As long as more could be asked, the member would not be told that nobody listens.
    _asks: oneshot::Sender<Bytes>,
    _waiting: Waiting,
}

impl<M: Message + Default> Answers<M> {
    /// The next; nothing where no more will come.
    pub(crate) async fn next(&mut self) -> Result<Option<M>, Status> {
        self.messages.message().await
    }
}

/// A stream of responses to one request, which the member ends.
#[derive(Debug)]
pub(crate) struct Download<M> {
    messages: Messages<M>,
    _waiting: Waiting,
}

impl<M: Message + Default> Download<M> {
    /// Returns the next message; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<M>, Status> {
        self.messages.message().await
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    calls: Calls,
    task: JoinHandle<()>,
    origin: Uri,
    is_left: watch::Sender<bool>,
    /// Which says who asks.
    token: Option<MetadataValue<Ascii>>,
    /// For transactions, since the first of them.
    stream: Mutex<Option<Txns>>,
    /// Whether the member knows of no such stream, as etcd.
    is_plain: AtomicBool,
    /// Upper bound on the bytes of one response.
    max_response: usize,
}

impl Connection {
    /// Begins on these bytes, and says who asks, if that is given.
    #[cfg(test)]
    pub(crate) async fn open(
        at: &Endpoint,
        wire: Wire,
        access: &Access,
    ) -> Result<Connection, Status> {
        Connection::begin(at, wire).await?.proven(access).await
    }

    /// Begins on these bytes, as nobody.
    pub(crate) async fn begin(at: &Endpoint, wire: Wire) -> Result<Connection, Status> {
        let begun = Calls::begin(wire, LOOK).await;
        let (calls, task) = begun.map_err(|error| Status::unavailable(error.to_string()))?;
        let (is_left, _) = watch::channel(false);
        let origin = at.origin().clone();
        let (stream, is_plain) = (Mutex::default(), AtomicBool::default());
        let max_response = LONGEST_ANSWER;
        Ok(Connection { calls, task, origin, is_left, token: None, stream, is_plain, max_response })
    }

    /// Says who asks, if that is given.
    pub(crate) async fn proven(mut self, access: &Access) -> Result<Connection, Status> {
        if let Some(user) = &access.user {
            self.token = self.authenticate(user).await?;
        }
        self.max_response = access.max_response.unwrap_or(LONGEST_ANSWER);
        Ok(self)
    }

    /// The token of a user; none, where nobody has to say who they are.
    async fn authenticate(&self, user: &User) -> Result<Option<MetadataValue<Ascii>>, Status> {
        let User { name, password } = user.clone();
        let asked = AuthenticateRequest { name, password };
        let path = "/etcdserverpb.Auth/Authenticate";
        match self.ask(path, frames::written(&asked), AUTHENTICATED).await {
            Ok(answer) => {
                let AuthenticateResponse { token, .. } = frames::read(answer)?;
                let token = token.parse().map_err(|_| Status::unavailable("its token is none"))?;
                Ok(Some(token))
            }
            Err(status) if status.message().contains("authentication is not enabled") => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// A request, by whoever asks.
    fn request<Asked>(&self, asked: Asked) -> tonic::Request<Asked> {
        let mut request = tonic::Request::new(asked);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    /// Whether nothing can be asked on it any more.
    pub(crate) fn is_over(&self) -> bool {
        *self.is_left.borrow() || self.task.is_finished()
    }

    /// Nobody relies on it any more: whoever waits on it is told.
    pub(crate) fn leave(&self) {
        self.is_left.send_replace(true);
    }

    /// Waits until somebody leaves it.
    pub(crate) async fn left(&self) {
        // The sender is as old as this.
        let _ = self.is_left.subscribe().wait_for(|is_left| *is_left).await;
    }

    /// Asks for a transaction: on the stream for them, where the member knows of one.
    pub(crate) async fn transact(&self, asked: Bytes, within: Duration) -> Result<Bytes, Status> {
        let _waiting = self.calls.waits(Awaited::Answer);
        if !self.is_plain.load(Ordering::Relaxed) {
            let late = |_| Status::deadline_exceeded("it did not answer");
            match timeout(within, self.on_stream(&asked)).await.map_err(late)? {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                Err(status) if status.code() == Code::Unimplemented => {
                    self.is_plain.store(true, Ordering::Relaxed);
                }
                Err(status) => return Err(status),
            }
        }
        self.ask(TXN, asked, within).await
    }

    async fn on_stream(&self, asked: &Bytes) -> Answer {
        let answer = {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            match stream.as_ref().and_then(|stream| stream.ask(asked.clone()).ok()) {
                Some(answer) => answer,
                None => stream.insert(self.txns()).ask(asked.clone())?,
            }
        };
        answer.await.unwrap_or_else(|_| Err(Status::unavailable("nobody is asked any more")))
    }

    fn txns(&self) -> Txns {
        Txns::begin(self.calls.clone(), self.grpc(), self.request(()), IDLE)
    }

    /// Has the member show whether it knows of a stream for transactions, if it was not asked yet:
    /// whoever only follows is to know whom as well.
    fn sound(&self) {
        if !self.is_plain.load(Ordering::Relaxed) {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            stream.get_or_insert_with(|| self.txns());
        }
    }

    /// One question, one answer.
    pub(crate) async fn ask(
        &self,
        path: &'static str,
        asked: Bytes,
        within: Duration,
    ) -> Result<Bytes, Status> {
        let _waiting = self.calls.waits(Awaited::Answer);
        let mut request = self.request(asked);
        request.set_timeout(within);
        let mut grpc = self.ready().await?;
        let path = PathAndQuery::from_static(path);
        Ok(grpc.unary(request, path, Frames).await?.into_inner())
    }

    /// One question, on which answers follow for as long as they are not dropped.
    pub(crate) fn follow<M>(&self, path: &'static str, asked: Bytes) -> Following<'_, M>
    where
        M: Message + Default + 'static,
    {
        let (asks, more) = oneshot::channel();
        let more = stream::once(more).filter_map(async |more| more.ok());
        Box::pin(async move {
            let waiting = self.calls.waits(Awaited::News);
            self.sound();
            let frames = self.stream(path, stream::iter([asked]).chain(more)).await?;
            Ok(Answers { messages: Messages::new(frames), _asks: asks, _waiting: waiting })
        })
    }

    /// One question to a service that would take more, and one answer.
    pub(crate) async fn ask_streaming(
        &self,
        path: &'static str,
        asked: Bytes,
    ) -> Result<Bytes, Status> {
        let _waiting = self.calls.waits(Awaited::Answer);
        let mut answers = self.stream(path, stream::iter([asked])).await?;
        answers.message().await?.ok_or_else(|| Status::unavailable("it hung up"))
    }

    /// Sends one request and returns the stream of responses. Unlike [`Self::follow`] it does not
    /// require that the member knows a leader.
    pub(crate) async fn download<M>(
        &self,
        path: &'static str,
        asked: Bytes,
    ) -> Result<Download<M>, Status>
    where
        M: Message + Default + 'static,
    {
        let waiting = self.calls.waits(Awaited::Answer);
        let request = self.request(stream::iter([asked]));
        let mut grpc = self.ready().await?;
        let path = PathAndQuery::from_static(path);
        let frames = grpc.streaming(request, path, Frames).await?.into_inner();
        Ok(Download { messages: Messages::new(frames), _waiting: waiting })
    }

    /// A member that knows no leader is no use here, and says so.
    async fn stream(
        &self,
        path: &'static str,
        asked: impl Stream<Item = Bytes> + Send + 'static,
    ) -> Result<Streaming<Bytes>, Status> {
        let mut request = self.request(asked);
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        let mut grpc = self.ready().await?;
        let path = PathAndQuery::from_static(path);
        Ok(grpc.streaming(request, path, Frames).await?.into_inner())
    }

    async fn ready(&self) -> Result<Grpc<Calls>, Status> {
        let mut grpc = self.grpc();
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        Ok(grpc)
    }

    fn grpc(&self) -> Grpc<Calls> {
        let grpc = Grpc::with_origin(self.calls.clone(), self.origin.clone());
        grpc.max_decoding_message_size(self.max_response)
    }
}

/// Connects to a member, which has to prove who it is and to send its first frame of HTTP/2.
pub(crate) async fn reached(at: &Endpoint, access: &Access) -> Result<Connection, Status> {
    let begun = async {
        let wire = wire(at, access).await.map_err(|error| Status::unavailable(explained(error)))?;
        let connection = Connection::begin(at, wire).await?;
        let wrong = connection.calls.greeted().await.err();
        match wrong {
            None => Ok(connection),
            // A server of TLS may close the connection without a word.
            Some(wrong) if wrong.starts_with("it closed") && !at.is_sealed() => {
                Err(Status::unavailable(wrong + " (does it need https://?)"))
            }
            Some(wrong) => Err(Status::unavailable(wrong)),
        }
    };
    let late = || format!("it does not answer within {} s", CONNECT.as_secs());
    timeout(CONNECT, begun).await.map_err(|_| Status::unavailable(late()))?
}

async fn wire(at: &Endpoint, access: &Access) -> io::Result<Wire> {
    let stream = TcpStream::connect(at.address()).await?;
    let _ = stream.set_nodelay(true);
    match &access.certificates {
        Some(certificates) if at.is_sealed() => certificates.wire(at.host(), stream).await,
        _ => Ok(Box::new(stream)),
    }
}

/// The words for an error of a connection that is being made.
fn explained(error: io::Error) -> String {
    let says = error.to_string();
    match says.contains("InvalidContentType") || says.contains("corrupt message") {
        true => "it does not speak TLS: use http://".to_owned(),
        false => says,
    }
}

#[cfg(test)]
mod tests {
    use tenure_etcd::etcdserverpb::WatchResponse;
    use tokio::time::sleep;

    use super::*;
    use crate::member::member;

    #[tokio::test]
    async fn who_only_follows_knows_a_member_of_tenure_serve() {
        let (_folder, address) = member().await;
        let at = Endpoint::parse(&address).expect("an endpoint");
        let access = Access::default();
        let connection = reached(&at, &access).await.expect("a connection");
        assert!(!connection.calls.knows_it());
        drop(connection.follow::<WatchResponse>("/etcdserverpb.Watch/Watch", Bytes::new()));
        assert!(!connection.calls.knows_it(), "nothing was asked");
        let watch = connection.follow::<WatchResponse>("/etcdserverpb.Watch/Watch", Bytes::new());
        let _answers = watch.await.expect("it listens");
        let known = async {
            while !connection.calls.knows_it() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), known).await.expect("it has shown what it is");
    }
}
