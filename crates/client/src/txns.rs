//! Transactions on one stream, in turn: each costs less than a call. For members of `tenure serve`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::uri::PathAndQuery;
use tenure_etcd::frames::{Frames, Messages};
use tenure_etcd::tenure::Transacted;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::{Code, Request, Status};

use crate::calls::Calls;

/// What is answered; nothing where it is done and the answer is too long.
pub(crate) type Answer = Result<Option<Bytes>, Status>;

/// A stream of transactions to one member. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Txns {
    asks: mpsc::UnboundedSender<Bytes>,
    waiting: Arc<Waiting>,
}

/// Who waits, in the order in which they have asked, which is that of the answers.
#[derive(Debug, Default)]
struct Waiting(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    askers: VecDeque<oneshot::Sender<Answer>>,
    /// Why nothing can be asked any more.
    over: Option<Status>,
}

impl Txns {
    /// Begins on a connection, with what goes ahead of all that is asked. It ends when nothing was
    /// asked for so long.
    pub(crate) fn begin(
        calls: Calls,
        grpc: Grpc<Calls>,
        head: Request<()>,
        idle: Duration,
    ) -> Txns {
        let (asks, mut asked) = mpsc::unbounded_channel();
        let waiting: Arc<Waiting> = Arc::default();
        let asked = stream::poll_fn(move |context| asked.poll_recv(context));
        tokio::spawn(waiting.clone().serve(calls, grpc, head.map(|()| asked), idle));
        Txns { asks, waiting }
    }

    /// Asks, and says where the answer will come; or why nothing can be asked any more.
    pub(crate) fn ask(&self, asked: Bytes) -> Result<oneshot::Receiver<Answer>, Status> {
        let (asker, answer) = oneshot::channel();
        let mut queue = self.waiting.queue();
        if let Some(why) = &queue.over {
            return Err(why.clone());
        }
        // Where nobody hears it, it is over soon, which whoever waits is told.
        let _ = self.asks.send(asked);
        queue.askers.push_back(asker);
        Ok(answer)
    }
}

impl Waiting {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(
        self: Arc<Self>,
        calls: Calls,
        grpc: Grpc<Calls>,
        asked: Request<impl Stream<Item = Bytes> + Send + 'static>,
        idle: Duration,
    ) {
        let ended = self.answer(&calls, grpc, asked, idle).await;
        let why = ended.err().unwrap_or_else(|| Status::unavailable("it ended the stream"));
        let mut queue = self.queue();
        for asker in queue.askers.drain(..) {
            // Whoever has gone away does not want to know.
            let _ = asker.send(Err(why.clone()));
        }
        queue.over.get_or_insert(why);
    }

    /// Hands each answer to whoever has asked.
    async fn answer(
        &self,
        calls: &Calls,
        mut grpc: Grpc<Calls>,
        asked: Request<impl Stream<Item = Bytes> + Send + 'static>,
        idle: Duration,
    ) -> Result<(), Status> {
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        let path = PathAndQuery::from_static("/tenure.Session/Transact");
        let frames = grpc.streaming(asked, path, Frames).await?.into_inner();
        calls.is_ours();
        let mut answers = Messages::<Transacted>::new(frames);
        loop {
            let next = match timeout(idle, answers.message()).await {
                Ok(next) => next?,
                Err(_) if self.is_left() => return Ok(()),
                Err(_) => continue,
            };
            let Some(Transacted { code, message, answer, is_too_long }) = next else {
                return Ok(());
            };
            let said = match Code::from(code) {
                Code::Ok => Ok((!is_too_long).then_some(answer)),
                code => Err(Status::new(code, message)),
            };
            let Some(asker) = self.queue().askers.pop_front() else {
                return Err(Status::unavailable("it answers what nobody has asked"));
            };
            let _ = asker.send(said);
        }
    }

    /// Whether nobody waits, and then nobody will.
    fn is_left(&self) -> bool {
        let mut queue = self.queue();
        if queue.askers.is_empty() {
            queue.over = Some(Status::unavailable("nothing was asked"));
        }
        queue.over.is_some()
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
    use tokio::time::sleep;

    use super::*;
    use crate::access::Access;
    use crate::connection::Connection;
    use crate::endpoint::Endpoint;

    /// Long enough for anything that is to happen.
    const SOON: Duration = Duration::from_secs(20);

    /// How many calls of each kind a member was asked.
    #[derive(Debug, Default)]
    struct Asked {
        streams: AtomicUsize,
        calls: AtomicUsize,
    }

    /// A member, which may know of the stream; calls are answered with `call`, and on the stream
    /// each is told what it asked, but for `long`.
    async fn member(wire: DuplexStream, knows: bool, asked: Arc<Asked>) {
        let mut calls = h2::server::handshake(wire).await.expect("a client");
        while let Some(Ok((request, respond))) = calls.accept().await {
            let is_stream = request.uri().path() == "/tenure.Session/Transact";
            let count = if is_stream { &asked.streams } else { &asked.calls };
            count.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(answer(request.into_body(), respond, is_stream, knows));
        }
    }

    async fn answer(
        mut body: RecvStream,
        mut respond: SendResponse<Bytes>,
        is_stream: bool,
        knows: bool,
    ) {
        let status = |code: &str| {
            let code = code.parse().expect("a value");
            http::HeaderMap::from_iter([("grpc-status".parse().expect("a name"), code)])
        };
        if is_stream && !knows {
            let mut response = Response::new(());
            *response.headers_mut() = status("12");
            respond.send_response(response, true).expect("room");
            return;
        }
        let mut told = respond.send_response(Response::new(()), false).expect("room");
        let mut frame = |message: &[u8]| {
            let length = u32::try_from(message.len()).expect("it is short").to_be_bytes();
            told.send_data([&[0], &length[..], message].concat().into(), false).expect("room");
        };
        let mut bytes = BytesMut::new();
        while let Some(data) = body.data().await {
            bytes.extend_from_slice(&data.expect("a client"));
            while bytes.len() >= 5 {
                let length = usize::from(bytes[4]);
                let message = bytes.split_to(5 + length).split_off(5).freeze();
                let is_too_long = message.chunk() == b"long";
                let told = Transacted { answer: message, is_too_long, ..Transacted::default() };
                if is_stream {
                    frame(&told.encode_to_vec());
                }
            }
        }
        if !is_stream {
            frame(b"call");
        }
        told.send_trailers(status("0")).expect("room");
    }

    async fn connected(knows: bool) -> (Connection, Arc<Asked>) {
        let (ours, theirs) = duplex(1 << 16);
        let asked: Arc<Asked> = Arc::default();
        tokio::spawn(member(theirs, knows, asked.clone()));
        let at = Endpoint::parse("http://member:1").expect("an endpoint");
        let opened = Connection::open(&at, Box::new(ours), &Access::default()).await;
        (opened.expect("a member"), asked)
    }

    async fn transact(connection: &Connection, asked: &'static str) -> Bytes {
        let answer = connection.transact(asked.into(), SOON).await;
        answer.expect("an answer")
    }

    #[tokio::test]
    async fn a_member_that_knows_of_no_stream_is_asked_by_calls() {
        let (connection, asked) = connected(false).await;
        for time in 1..4 {
            assert_eq!(transact(&connection, "a").await, "call");
            assert_eq!(asked.calls.load(Ordering::Relaxed), time);
        }
        assert_eq!(asked.streams.load(Ordering::Relaxed), 1, "it is not asked for again");
    }

    #[tokio::test]
    async fn everybody_is_told_what_they_asked_on_one_stream() {
        let (connection, asked) = connected(true).await;
        let (one, long, other) = tokio::join!(
            transact(&connection, "one"),
            transact(&connection, "long"),
            transact(&connection, "other"),
        );
        assert_eq!((&one[..], &long[..], &other[..]), (&b"one"[..], &b"call"[..], &b"other"[..]));
        assert_eq!(transact(&connection, "more").await, "more");
        assert_eq!(asked.streams.load(Ordering::Relaxed), 1);
        assert_eq!(asked.calls.load(Ordering::Relaxed), 1, "what is too long is asked again");
    }

    #[tokio::test]
    async fn a_stream_on_which_nothing_is_asked_ends() {
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(member(theirs, true, Arc::default()));
        let begun = Calls::begin(Box::new(ours), SOON).await;
        let (calls, _) = begun.expect("a member");
        let origin = "http://member:1".parse().expect("an origin");
        let grpc = Grpc::with_origin(calls.clone(), origin);
        let stream = Txns::begin(calls, grpc, Request::new(()), Duration::from_millis(20));
        let mut answered = 0;
        let over = async {
            while let Ok(answer) = stream.ask("a".into()) {
                assert_eq!(answer.await.expect("an answer").expect("it"), Some("a".into()));
                answered += 1;
                sleep(Duration::from_millis(answered)).await;
            }
        };
        timeout(SOON, over).await.expect("it ends when there is time enough");
        assert!(answered > 1);
    }
}
