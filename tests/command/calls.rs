//! A service that lies in gRPC: a command that waits for a lock ends in time with a sentence, and
//! does not grow with what it is told.

use std::convert::Infallible;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use futures_util::stream::{self, BoxStream, StreamExt};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::response_op::Response as Done;
use tenure_etcd::mvccpb::{Event, KeyValue};
use tenure_etcd::tenure::Transacted;

use crate::shell::said;

/// What is answered to a call.
#[derive(Clone)]
pub(crate) enum Told {
    /// Nothing, ever.
    Nothing,
    /// One message.
    Message(Vec<u8>),
    /// These bytes again and again.
    Endless(Vec<u8>),
    /// No message: a code and a sentence.
    Refusal(&'static str, &'static str),
    /// What no gRPC is.
    Page(StatusCode),
}

/// A message as gRPC frames it.
pub(crate) fn framed(message: &impl Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    let length = u32::try_from(bytes.len()).expect("a short message");
    [&[0], &length.to_be_bytes()[..], &bytes].concat()
}

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

fn answer(told: Told) -> Response<Body> {
    let data = |bytes: Vec<u8>| Ok(Frame::data(Bytes::from(bytes)));
    let mut response = Response::builder().header("content-type", "application/grpc");
    let body = match told {
        Told::Nothing => stream::pending().boxed(),
        Told::Message(bytes) => {
            let end = HeaderMap::from_iter([(
                "grpc-status".parse().expect("a name"),
                HeaderValue::from_static("0"),
            )]);
            stream::iter([data(bytes), Ok(Frame::trailers(end))]).boxed()
        }
        Told::Endless(bytes) => {
            stream::repeat(Bytes::from(bytes)).map(|it| Ok(Frame::data(it))).boxed()
        }
        Told::Refusal(code, words) => {
            response = response.header("grpc-status", code).header("grpc-message", words);
            stream::empty().boxed()
        }
        Told::Page(status) => {
            response = Response::builder().status(status).header("content-type", "text/html");
            stream::repeat(Bytes::from_static(&[b'a'; 1 << 14]))
                .map(|it| Ok(Frame::data(it)))
                .boxed()
        }
    };
    response.body(StreamBody::new(body)).expect("an answer")
}

/// Where somebody answers every call as this says, by its path.
pub(crate) fn liar(lie: impl Fn(&str) -> Told + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    listener.set_nonblocking(true).expect("a socket");
    let lie = Arc::new(lie);
    thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().expect("a runtime").block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let lie = lie.clone();
                let served = service_fn(move |request: Request<Incoming>| {
                    let told = lie(request.uri().path());
                    async move {
                        // The request is kept: a stream that nobody reads is ended.
                        let answer = answer(told);
                        std::mem::forget(request);
                        Ok::<_, Infallible>(answer)
                    }
                });
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(TokioIo::new(stream), served));
            }
        });
    });
    address.to_string()
}

/// Where somebody says these bytes, and then those for ever.
pub(crate) fn babbler(begin: &'static [u8], again: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || babble(&mut stream, begin, &again.repeat(1000)));
        }
    });
    address.to_string()
}

/// Until nobody listens any more; who has nothing to say keeps the connection.
fn babble(stream: &mut TcpStream, begin: &[u8], again: &[u8]) {
    let mut heard = stream.try_clone().expect("a socket");
    let hearing = thread::spawn(move || std::io::copy(&mut heard, &mut std::io::sink()));
    let mut said = stream.write_all(begin);
    while said.is_ok() && !again.is_empty() {
        said = stream.write_all(again);
    }
    let _ = hearing.join();
}

/// The command, within a room of memory, and killed if it hangs.
fn confined(line: &str) -> Output {
    let script = "ulimit -v 2000000; exec timeout -s KILL 60 \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_tenure")]).args(line.split_whitespace());
    command.output().expect("the command starts")
}

fn granted(id: i64, ttl: i64) -> Told {
    let granted = rpc::LeaseGrantResponse { id, ttl, ..Default::default() };
    Told::Message(framed(&granted))
}

/// What a transaction says: these keys are there, since this revision.
fn there(keys: &[&str], revision: i64) -> rpc::TxnResponse {
    let kv = |key: &&str| KeyValue {
        key: key.as_bytes().to_vec(),
        create_revision: revision,
        mod_revision: revision,
        version: 1,
        ..Default::default()
    };
    let range = rpc::RangeResponse { kvs: keys.iter().map(kv).collect(), ..Default::default() };
    let response = Some(Done::ResponseRange(range));
    rpc::TxnResponse {
        succeeded: true,
        responses: vec![rpc::ResponseOp { response }],
        ..Default::default()
    }
}

/// The longest message that is read, of the shortest parts that there can be.
fn parts(tag: u8) -> Vec<u8> {
    let parts = [tag, 0].repeat((4 << 20) / 2);
    let length = u32::try_from(parts.len()).expect("a short message");
    [&[0], &length.to_be_bytes()[..], &parts].concat()
}

/// The stream of transactions, of which etcd knows nothing.
const STREAM: &str = "/tenure.Session/Transact";

pub(crate) const UNKNOWN: Told = Told::Refusal("12", "unknown service");

/// Says so to whoever asks for a lease, and this otherwise.
fn granting(id: i64, ttl: i64, told: Told) -> String {
    liar(move |path| match path {
        "/etcdserverpb.Lease/LeaseGrant" => granted(id, ttl),
        STREAM => UNKNOWN,
        _ => told.clone(),
    })
}

/// Grants a lease, says this on the stream of transactions, and nothing else.
fn streaming(told: Told) -> String {
    liar(move |path| match path {
        "/etcdserverpb.Lease/LeaseGrant" => granted(7, 10),
        STREAM => told.clone(),
        _ => Told::Nothing,
    })
}

/// What is said on that stream, and what is made of it.
fn lies_of_streams() -> Vec<(String, &'static str)> {
    let done = |keys: &[&str]| there(keys, 1).encode_to_vec().into();
    let told = |told: Transacted| framed(&told);
    let others = told(Transacted { answer: done(&["b"]), ..Default::default() });
    let held = told(Transacted { answer: done(&["a/7", "a/3"]), ..Default::default() });
    let long = told(Transacted { is_too_long: true, ..Default::default() });
    let words = Transacted { code: 99, message: "\u{1b}[2J\u{202e}".into(), ..Default::default() };
    vec![
        (streaming(Told::Endless(others)), "its key was deleted"),
        (streaming(Told::Endless(held)), "it is another's"),
        (streaming(Told::Endless(long)), "it is another's"),
        (streaming(Told::Endless(told(words))), "refused: \\u{1b}[2J\\u{202e};"),
        (streaming(Told::Message(parts(0x1a))), "was not acquired"),
        (streaming(Told::Message(parts(0x0a))), "refused: failed to decode"),
        (streaming(Told::Refusal("0", "")), "it is another's"),
        (streaming(Told::Nothing), "it is another's"),
    ]
}

/// What is said, and what is made of it.
fn lies() -> Vec<(String, &'static str)> {
    let whole = |told: Told| liar(move |_| told.clone());
    let grant = framed(&rpc::LeaseGrantResponse { id: 7, ttl: 10, ..Default::default() });
    let huge = [&[0, 0xff, 0xff, 0xff, 0xff][..], &[0; 1 << 14]].concat();
    let behind = move |path: &str| match path {
        "/etcdserverpb.Lease/LeaseGrant" => granted(7, 10),
        "/etcdserverpb.KV/Txn" => Told::Message(framed(&there(&["a/7", "a/3"], 5))),
        STREAM => UNKNOWN,
        _ => Told::Endless(parts(0x5a)),
    };
    vec![
        (whole(Told::Nothing), "no answer from"),
        (whole(Told::Endless(grant)), "no answer from"),
        (whole(Told::Endless(huge)), "message length too large"),
        (whole(Told::Refusal("2", "%1b[2J%e2%80%ae")), "refused: \\u{1b}[2J\\u{202e};"),
        (whole(Told::Refusal("0", "")), "Missing response message"),
        (whole(Told::Refusal("x", "")), "refused"),
        (whole(Told::Page(StatusCode::OK)), "protocol error"),
        (whole(Told::Page(StatusCode::INTERNAL_SERVER_ERROR)), "protocol error"),
        (granting(7, 10, Told::Endless(framed(&there(&["b"], 1)))), "it is another's"),
        (granting(7, 10, Told::Message(parts(0x1a))), "was not acquired"),
        (liar(behind), "it is another's"),
    ]
}

#[test]
fn whoever_lies_in_calls_is_left_with_a_sentence() {
    let lies = [lies(), lies_of_streams()].concat();
    thread::scope(|scope| {
        for (address, told) in &lies {
            scope.spawn(move || {
                // A lie that is found out ends the command; otherwise its timeout does, which may
                // be before the lie was told where the machine is loaded.
                let (timeout, told) = match *told {
                    "no answer from" | "it is another's" => ("1s", "was not acquired"),
                    told => ("40s", told),
                };
                let line = format!("lock --timeout {timeout} --endpoints {address} a -- true");
                said(&confined(&line), 120, told);
            });
        }
    });
}

/// Whoever serves a lock may grant it to everybody; more than that it cannot do.
#[test]
fn numbers_that_no_service_has_end_nobody() {
    let all = [(7, i64::MAX, i64::MAX), (i64::MIN, -1, i64::MIN), (7, 1 << 40, 1)];
    thread::scope(|scope| {
        for (id, ttl, revision) in all {
            let key = format!("a/{id:x}");
            let kv = KeyValue { key: b"x".to_vec(), mod_revision: i64::MAX, ..Default::default() };
            let event = Event { kv: Some(kv), ..Default::default() };
            let watch =
                rpc::WatchResponse { events: vec![event], watch_id: -1, ..Default::default() };
            let address = liar(move |path| match path {
                "/etcdserverpb.Lease/LeaseGrant" => granted(id, ttl),
                "/etcdserverpb.KV/Txn" => Told::Message(framed(&there(&[&key], revision))),
                "/etcdserverpb.Watch/Watch" => Told::Endless(framed(&watch)),
                STREAM => UNKNOWN,
                _ => Told::Nothing,
            });
            scope.spawn(move || {
                let line = format!("lock --timeout 9s --endpoints {address} a -- sleep 0.2");
                let ended = confined(&line);
                let error = String::from_utf8_lossy(&ended.stderr);
                // A lease of a second, as is made of none, may be over before the command is.
                let statuses = if ttl < 2 { [Some(0), Some(121)] } else { [Some(0); 2] };
                assert!(statuses.contains(&ended.status.code()), "{id} {ttl}: {error}");
            });
        }
    });
}

#[test]
fn whoever_speaks_no_grpc_is_left_with_a_sentence() {
    const BEGIN: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    const HEAD: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0x88];
    const MORE: &[u8] = &[0, 0, 1, 9, 0, 0, 0, 0, 1, 0x88];
    let all = [
        babbler(b"", b""),
        babbler(b"", &[0; 99]),
        babbler(b"", BEGIN),
        babbler(BEGIN, PING),
        babbler(HEAD, MORE),
        babbler(b"HTTP/1.1 200 OK\r\n\r\n", b"a"),
    ];
    thread::scope(|scope| {
        for address in &all {
            scope.spawn(move || {
                let ended = confined(&format!("lock --timeout 1s --endpoints {address} a -- true"));
                let error = String::from_utf8_lossy(&ended.stderr);
                assert_eq!(ended.status.code(), Some(120), "{error}");
                assert!(error.contains(&format!("no answer from {address}")), "{error}");
            });
        }
    });
}
