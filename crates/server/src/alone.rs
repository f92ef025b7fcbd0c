//! A member that is alone, as tests in this crate call it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use prost::Message;
use tempfile::TempDir;
use tenure_etcd::frames::{Frames, Messages, written};
use tenure_store::{Asker, Command, Outcome};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::{Status, Streaming};

use crate::caller::Caller;
use crate::config::Config;
use crate::member::{Log, Member};
use crate::router;

/// A member that is alone. Its log ends with the runtime that it was started in.
pub(crate) struct Alone {
    pub(crate) member: Arc<Member>,
    _log: Log,
    _folder: TempDir,
}

impl Alone {
    pub(crate) fn start() -> Alone {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir: Option<PathBuf> = Some(folder.path().join("data"));
        let config = Config { data_dir, ..Config::default() };
        let plan = config.plan().expect("it can be");
        let (member, log) = Member::start(&config, plan).expect("a member");
        Alone { member, _log: log, _folder: folder }
    }

    /// Has a command done.
    pub(crate) async fn does(&self, command: Command) -> Outcome {
        let caller = Caller::new(self.member.clone(), Asker::Anybody);
        let outcome = caller.propose(command).await.expect("it is done");
        assert!(outcome.answer.is_ok(), "{outcome:?}");
        outcome
    }

    /// Begins a call.
    pub(crate) async fn call<A: Message + Default>(&self, path: &str) -> Call<A> {
        let (asks, frames) = mpsc::channel(16);
        let mut request = Request::new(Body::new(StreamBody::new(ReceiverStream::new(frames))));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = path.parse().expect("a path");
        let kind = header::HeaderValue::from_static("application/grpc");
        request.headers_mut().insert(header::CONTENT_TYPE, kind);
        let answer = tokio::spawn(router::call(self.member.clone(), request));
        Call { asks: Some(asks), answer: Some(answer), told: None }
    }
}

/// A call: what is asked of it, and what it answers.
pub(crate) struct Call<A> {
    asks: Option<mpsc::Sender<Result<Frame<Bytes>, Status>>>,
    answer: Option<tokio::task::JoinHandle<http::Response<Body>>>,
    told: Option<Messages<A>>,
}

impl<A: Message + Default> Call<A> {
    /// Asks one more thing.
    pub(crate) async fn ask(&self, asked: &impl Message) {
        let message = written(asked);
        let length = u32::try_from(message.len()).expect("it is short");
        let frame = [&[0], &length.to_be_bytes()[..], &message].concat();
        let asks = self.asks.as_ref().expect("it has not ended");
        asks.send(Ok(Frame::data(frame.into()))).await.expect("it reads");
    }

    /// Asks nothing more.
    pub(crate) fn end(&mut self) {
        self.asks = None;
    }

    /// The next answer, or why there is none; nothing at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<A>, Status> {
        if let Some(answer) = self.answer.take() {
            let answer = timeout(Duration::from_secs(20), answer).await.expect("it says something");
            let (head, body) = answer.expect("it is served").into_parts();
            if let Some(status) = Status::from_header_map(&head.headers)
                && status.code() != tonic::Code::Ok
            {
                return Err(status);
            }
            let frames = Streaming::new_response(Frames, body, head.status, None, None);
            self.told = Some(Messages::new(frames));
        }
        let next = self.told.as_mut().expect("it is there by now").message();
        timeout(Duration::from_secs(20), next).await.expect("it says something")
    }
}
