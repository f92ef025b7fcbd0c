//! A single member for the tests of this crate.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use prost::Message;
use tempfile::TempDir;
use tenure_etcd::frames::{MessageStream, RawCodec, encode};
use tenure_store::{ApplyOutcome, Command, Principal};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::{Status, Streaming};

use crate::auth::caller::Caller;
use crate::config::Config;
use crate::member::{LogTask, Member};
use crate::rpc::router;

/// Time limit of each wait in a test. It is long, because the machine may be busy.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Single member of a cluster. The log of this member ends when the tokio runtime of the test ends.
pub(crate) struct TestMember {
    pub(crate) member: Arc<Member>,
    _log: LogTask,
    _folder: TempDir,
}

impl TestMember {
    pub(crate) fn start() -> TestMember {
        TestMember::start_with(Config::default())
    }

    /// Starts a member with a configuration. The member uses a new data directory.
    pub(crate) fn start_with(config: Config) -> TestMember {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let data_dir: Option<PathBuf> = Some(folder.path().join("data"));
        let config = Config { data_dir, ..config };
        let validated = config.validate().expect("a valid configuration");
        let (member, log) = Member::start(&config, validated).expect("a member");
        TestMember { member, _log: log, _folder: folder }
    }

    pub(crate) async fn execute(&self, command: Command) -> ApplyOutcome {
        let caller = Caller::new(self.member.clone(), Principal::Anonymous);
        let outcome = caller.propose(command).await.expect("an outcome");
        assert!(outcome.result.is_ok(), "{outcome:?}");
        outcome
    }

    pub(crate) async fn call<R: Message + Default>(&self, path: &str) -> TestCall<R> {
        let (requests, frames) = mpsc::channel(16);
        let mut request = Request::new(Body::new(StreamBody::new(ReceiverStream::new(frames))));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = path.parse().expect("a path");
        let content_type = header::HeaderValue::from_static("application/grpc");
        request.headers_mut().insert(header::CONTENT_TYPE, content_type);
        let response = tokio::spawn(router::serve_grpc_call(self.member.clone(), request));
        TestCall { requests: Some(requests), response: Some(response), messages: None }
    }
}

pub(crate) struct TestCall<R> {
    requests: Option<mpsc::Sender<Result<Frame<Bytes>, Status>>>,
    response: Option<tokio::task::JoinHandle<http::Response<Body>>>,
    messages: Option<MessageStream<R>>,
}

impl<R: Message + Default> TestCall<R> {
    pub(crate) async fn send(&self, request: &impl Message) {
        let message = encode(request);
        let length = u32::try_from(message.len()).expect("a short message");
        let frame = [&[0], &length.to_be_bytes()[..], &message].concat();
        let requests = self.requests.as_ref().expect("an open stream of requests");
        requests.send(Ok(Frame::data(frame.into()))).await.expect("an open call");
    }

    pub(crate) fn end_requests(&mut self) {
        self.requests = None;
    }

    pub(crate) async fn next_response(&mut self) -> Result<Option<R>, Status> {
        if let Some(response) = self.response.take() {
            let response = timeout(TIME_LIMIT, response).await.expect("a response in time");
            let (head, body) = response.expect("a response").into_parts();
            if let Some(status) = Status::from_header_map(&head.headers)
                && status.code() != tonic::Code::Ok
            {
                return Err(status);
            }
            let frames = Streaming::new_response(RawCodec, body, head.status, None, None);
            self.messages = Some(MessageStream::new(frames));
        }
        let next = self.messages.as_mut().expect("an open stream of responses").message();
        timeout(TIME_LIMIT, next).await.expect("a response in time")
    }
}
