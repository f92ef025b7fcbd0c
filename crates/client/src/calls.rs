//! Calls over HTTP/2, of which the head and what there is to say at once leave together.
//!
//! The client of `hyper` sends a head before it has room for a body, so that each call took two
//! writes, and woke the member twice.

use std::future::{Future, poll_fn};
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
use tonic::body::Body;

use crate::wire::{Heard, Received, Wire};

/// How much of one answer, and of all together, may come before anybody has taken it.
const WINDOWS: (u32, u32) = (2 << 20, 5 << 20);

/// What somebody waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Awaited {
    /// An answer, which is to come soon.
    Answer,
    /// Whatever happens.
    News,
}

impl Awaited {
    /// How many looks find that nothing has come before it is asked whether anybody is there, by a
    /// ping: fewer of a member of `tenure serve`. Etcd ends the connection of whoever sends several
    /// that are not 5 s apart, while it says nothing itself.
    const fn looks(self, is_ours: bool) -> u32 {
        match (self, is_ours) {
            (Awaited::Answer, true) => 2,
            (Awaited::News, true) => 3,
            (Awaited::Answer, false) => 5,
            (Awaited::News, false) => 26,
        }
    }
}

/// What calls are sent by.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    send: SendRequest<Bytes>,
    known: Arc<Known>,
}

/// What those who call know.
#[derive(Debug, Default)]
struct Known {
    /// How many wait for an answer, and for news.
    waiting: [AtomicUsize; 2],
    /// Whether it is a member of `tenure serve` for sure.
    is_ours: AtomicBool,
    received: Arc<Received>,
    /// Why the connection is closed, once it is.
    closed: watch::Sender<Option<String>>,
}

/// Somebody waits, as long as they have this.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Known>, Awaited);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting[self.1 as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

impl Calls {
    /// Begins on a connection, which ends with the task: when nobody has this or an answer any
    /// more, or when somebody waits and nothing comes for some looks, which are so far apart, nor
    /// when that is asked for.
    pub(crate) async fn begin(
        wire: Wire,
        look: Duration,
    ) -> Result<(Calls, JoinHandle<()>), h2::Error> {
        let mut builder = Builder::new();
        builder.enable_push(false);
        builder.initial_window_size(WINDOWS.0).initial_connection_window_size(WINDOWS.1);
        let (wire, received) = Heard::of(wire);
        let (send, mut connection) = builder.handshake(wire).await?;
        let pings = connection.ping_pong().expect("nobody has taken it before");
        let known = Arc::new(Known { received, ..Known::default() });
        let silence = Silence { known: known.clone(), before: 0, looks: 0 };
        let shared = known.clone();
        let task = tokio::spawn(async move {
            let reason = tokio::select! {
                // Whoever waits for an answer is told why there is none.
                ended = connection => ended.err().map(|error| error.to_string()),
                () = silence.falls(pings, look) => Some("it does not answer".to_owned()),
            };
            shared.closed.send_replace(Some(reason.unwrap_or_default()));
        });
        Ok((Calls { send, known }, task))
    }

    /// Waits until the peer has sent its first frame, which a server of HTTP/2 does without being
    /// asked: a port whose process is stopped accepts connections and sends nothing.
    ///
    /// # Errors
    ///
    /// The reason in words, if the peer speaks another protocol or closes the connection.
    pub(crate) async fn greeted(&self) -> Result<(), String> {
        let mut closed = self.known.closed.subscribe();
        tokio::select! {
            biased;
            first = self.known.received.first() => match protocol_error(first) {
                Some(wrong) => Err(wrong.to_owned()),
                None => Ok(()),
            },
            reason = closed.wait_for(Option::is_some) => {
                let reason = reason.ok().and_then(|reason| reason.clone()).unwrap_or_default();
                Err(match reason.is_empty() {
                    true => "it closed the connection".to_owned(),
                    false => format!("it closed the connection: {reason}"),
                })
            }
        }
    }

    /// Somebody waits from now on.
    pub(crate) fn waits(&self, what: Awaited) -> Waiting {
        self.known.waiting[what as usize].fetch_add(1, Ordering::Relaxed);
        Waiting(self.known.clone(), what)
    }

    /// It is a member of `tenure serve`.
    pub(crate) fn is_ours(&self) {
        self.known.is_ours.store(true, Ordering::Relaxed);
    }

    /// Whether it is one for sure.
    #[cfg(test)]
    pub(crate) fn knows_it(&self) -> bool {
        self.known.is_ours.load(Ordering::Relaxed)
    }
}

/// What is wrong with the first bytes of a peer, if they are no frame of HTTP/2.
fn protocol_error(first: &[u8]) -> Option<&'static str> {
    match first {
        // An alert, as a server of TLS answers what is no TLS.
        [0x15, 0x03, ..] => Some("it speaks TLS: use https://"),
        [b'H', b'T', b'T', b'P', ..] => {
            Some("it speaks HTTP/1 only, not gRPC: use the client URL of a member")
        }
        // A frame begins with its length, of 3 bytes, and its type; the first is SETTINGS.
        [_, _, _, 4, ..] => None,
        [_, _, _, _, ..] => Some("it does not speak HTTP/2: use the client URL of a member"),
        _ => None,
    }
}

/// Whether anything comes. What counts are looks and not time: a process that was stopped, or that
/// did something else, has not looked.
struct Silence {
    known: Arc<Known>,
    /// How often it had at the last look.
    before: usize,
    /// How many looks have found nothing new.
    looks: u32,
}

impl Silence {
    /// Asks whether anybody is there, whenever nothing has come for some looks, until nothing comes
    /// again. An answer to that may have much before it, so all that comes counts.
    async fn falls(mut self, mut pings: PingPong, look: Duration) {
        loop {
            sleep(look).await;
            if !self.lasts(None) {
                continue;
            }
            self.looks = 0;
            let mut answer = pin!(pings.ping(Ping::opaque()));
            loop {
                match timeout(look, &mut answer).await {
                    Ok(Ok(_)) => break,
                    Err(_) if !self.lasts(Some(Awaited::Answer)) => {}
                    Ok(Err(_)) | Err(_) => return,
                }
            }
        }
    }

    /// Looks; whether there was nothing for too many looks of somebody who waits, for what they
    /// want or for this.
    fn lasts(&mut self, what: Option<Awaited>) -> bool {
        let heard = self.known.received.reads.load(Ordering::Relaxed);
        let waits = |of: &Awaited| self.known.waiting[*of as usize].load(Ordering::Relaxed) > 0;
        let awaited = [Awaited::Answer, Awaited::News].into_iter().find(waits);
        let is_news = std::mem::replace(&mut self.before, heard) != heard;
        self.looks = if is_news || awaited.is_none() { 0 } else { self.looks + 1 };
        let is_ours = self.known.is_ours.load(Ordering::Relaxed);
        awaited.is_some_and(|awaited| self.looks >= what.unwrap_or(awaited).looks(is_ours))
    }
}

impl tower_service::Service<Request<Body>> for Calls {
    type Response = Response<Answer>;
    type Error = h2::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, h2::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        self.send.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut send = self.send.clone();
        Box::pin(async move {
            let (head, mut body) = request.into_parts();
            let mut now = Vec::new();
            let has_ended =
                poll_fn(|context| Poll::Ready(take(&mut body, &mut now, context))).await;
            let head = Request::from_parts(head, ());
            let (answer, mut stream) = send.send_request(head, now.is_empty() && has_ended)?;
            let last = now.len();
            for (place, data) in (1..).zip(now) {
                stream.send_data(data, place == last && has_ended)?;
            }
            if !has_ended {
                tokio::spawn(go_on(body, stream));
            }
            Ok(answer.await?.map(Answer))
        })
    }
}

/// Takes what a body has by now; says whether that is all.
fn take(body: &mut Body, now: &mut Vec<Bytes>, context: &mut Context<'_>) -> bool {
    loop {
        match Pin::new(&mut *body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => now.extend(frame.into_data().ok()),
            // What is asked is encoded already, which does not fail.
            Poll::Ready(Some(Err(_)) | None) => return true,
            Poll::Pending => return false,
        }
    }
}

/// Sends the rest of a body, as long as the member takes it.
async fn go_on(mut body: Body, mut stream: SendStream<Bytes>) {
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

/// What is answered, as it comes.
#[derive(Debug)]
pub(crate) struct Answer(RecvStream);

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        match ready!(self.0.poll_data(context)) {
            Some(Ok(data)) => {
                // It fails only where more is given back than was taken.
                let _ = self.0.flow_control().release_capacity(data.len());
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            // Whoever has answered need not hear the rest of what it was asked.
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
    use tenure_etcd::frames::Frames;
    use tokio::io::{
        AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
    };
    use tonic::client::Grpc;

    use super::*;

    /// Writes down what is written, each time.
    struct Noted(DuplexStream, Arc<Mutex<Vec<Vec<u8>>>>);

    impl AsyncRead for Noted {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(context, into)
        }
    }

    impl AsyncWrite for Noted {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.1.lock().expect("nobody panics").push(bytes.to_vec());
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

    /// The types of the frames of some bytes.
    fn types(mut bytes: &[u8]) -> Vec<u8> {
        let mut types = Vec::new();
        while let [a, b, c, kind, rest @ ..] = bytes {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            types.push(*kind);
            bytes = rest.get(5 + length..).unwrap_or_default();
        }
        types
    }

    /// Says the same to everybody.
    async fn answer(wire: DuplexStream) {
        let mut calls = h2::server::handshake(wire).await.expect("a client");
        while let Some(Ok((asked, mut respond))) = calls.accept().await {
            tokio::spawn(async move {
                let mut body = asked.into_body();
                while let Some(Ok(_)) = body.data().await {}
                let mut said = respond.send_response(Response::new(()), false).expect("room");
                said.send_data(Bytes::from_static(b"\0\0\0\0\x02ok"), false).expect("room");
                let trailers = [("grpc-status", "0")].map(|(name, value)| {
                    (name.parse().expect("a name"), value.parse().expect("a value"))
                });
                said.send_trailers(trailers.into_iter().collect()).expect("room");
            });
        }
    }

    #[tokio::test]
    async fn a_question_leaves_in_one_write_with_its_head() {
        let (ours, theirs) = duplex(1 << 16);
        let written = Arc::new(Mutex::new(Vec::new()));
        let wire = Box::new(Noted(ours, written.clone()));
        tokio::spawn(answer(theirs));
        let (calls, task) = Calls::begin(wire, Duration::from_secs(60)).await.expect("a member");
        let mut grpc = Grpc::with_origin(calls, "http://a".parse().expect("an origin"));
        for question in ["are you there?", "how long?", "for whom?"] {
            written.lock().expect("nobody panics").clear();
            grpc.ready().await.expect("it is ready");
            let asked = tonic::Request::new(Bytes::from_static(question.as_bytes()));
            let path = PathAndQuery::from_static("/a/b");
            let told = grpc.unary(asked, path, Frames).await.expect("an answer");
            assert_eq!(told.into_inner(), "ok");
            let written = written.lock().expect("nobody panics");
            let kinds: Vec<Vec<u8>> = written.iter().map(|bytes| types(bytes)).collect();
            let (head, data) = (1, 0);
            // What comes before the first says how the connection is to be.
            let is_one = |kinds: &Vec<u8>| kinds.ends_with(&[head, data]);
            assert_eq!(kinds.iter().filter(|it| is_one(it)).count(), 1, "{kinds:?}");
            assert!(kinds.iter().all(|it| is_one(it) || !it.contains(&head)), "{kinds:?}");
        }
        drop(grpc);
        task.await.expect("it ends when nobody asks any more");
    }

    /// Who answers no ping, as much comes before the answer.
    #[tokio::test]
    async fn who_says_something_is_not_silent() {
        let (ours, mut theirs) = duplex(1 << 16);
        let look = Duration::from_millis(100);
        let (calls, task) = Calls::begin(Box::new(ours), look).await.expect("a member");
        let _waiting = calls.waits(Awaited::Answer);
        // "My settings are the usual ones."
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        for _ in 0..60 {
            theirs.write_all(&settings).await.expect("it reads");
            sleep(look / 5).await;
        }
        assert!(!task.is_finished());
        timeout(Duration::from_secs(20), task).await.expect("it is silent").expect("no panic");
    }

    #[tokio::test]
    async fn who_is_silent_is_left_as_soon_as_it_is_awaited() {
        let (look, mut wires) = (Duration::from_millis(100), Vec::new());
        let mut begin = async || {
            let (ours, theirs) = duplex(1 << 16);
            wires.push(theirs);
            let begun = Calls::begin(Box::new(ours), look).await.expect("a member");
            begun.0.is_ours();
            begun
        };
        let ((one, asked), (other, followed)) = (begin().await, begin().await);
        let (idle, unawaited) = begin().await;
        drop(idle.waits(Awaited::Answer));
        let _waiting = (one.waits(Awaited::Answer), other.waits(Awaited::News));
        let soon = Duration::from_secs(20);
        timeout(soon, asked).await.expect("it is silent").expect("no panic");
        timeout(soon, followed).await.expect("it is silent").expect("no panic");
        sleep(6 * look).await;
        assert!(!unawaited.is_finished(), "nobody waits");
        let _waiting = idle.waits(Awaited::Answer);
        timeout(soon, unawaited).await.expect("it is silent").expect("no panic");
    }

    /// Etcd takes one in five seconds, and may be whoever has not shown that it is another.
    #[tokio::test]
    async fn who_may_be_etcd_is_sent_few_pings() {
        let (ours, mut theirs) = duplex(1 << 16);
        let look = Duration::from_millis(20);
        let (calls, _task) = Calls::begin(Box::new(ours), look).await.expect("a member");
        let mut written = BytesMut::new();
        let mut pings = async |looks: u32| {
            sleep(looks * look).await;
            while let Ok(Ok(1..)) = timeout(look / 4, theirs.read_buf(&mut written)).await {}
            // Behind the words by which each connection begins.
            let frames = written.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            types(frames.expect("a beginning")).iter().filter(|kind| **kind == 6).count()
        };
        assert_eq!(pings(30).await, 0, "nobody waits");
        // What nobody waited for does not count.
        let _waiting = calls.waits(Awaited::News);
        assert_eq!(pings(10).await, 0);
        calls.is_ours();
        assert_eq!(pings(10).await, 1, "which nobody answers");
    }
}
