//! Bounds the memory of incomplete requests, so that slow clients cannot exhaust it.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Bytes, Frame, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::Status;
use tonic::body::Body;

use crate::net::json_stream::JsonValueScanner;
use crate::rpc::error::RpcError;

/// Upper bound on the buffered bytes of all incomplete messages from clients.
const MAX_BUFFERED_BYTES: usize = 256 << 20;

/// Unit in which bytes are counted. The length of a message is rounded down to whole units. So the
/// budget does not count a message that is shorter than one unit.
const UNIT_BYTES: usize = 4 << 10;

/// Time within which an upload must deliver [`MIN_PROGRESS_BYTES`] while it holds a share of the
/// budget. Otherwise the request fails.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(10);
const MIN_PROGRESS_BYTES: usize = 64 << 10;

/// Budget of memory for the incomplete messages of all clients.
#[derive(Debug)]
pub(crate) struct IncompleteMessageBudget(Arc<Semaphore>);

impl Default for IncompleteMessageBudget {
    fn default() -> Self {
        IncompleteMessageBudget(Arc::new(Semaphore::new(MAX_BUFFERED_BYTES / UNIT_BYTES)))
    }
}

impl IncompleteMessageBudget {
    /// Returns the number of bytes of the budget that incomplete messages use now.
    pub(crate) fn used_bytes(&self) -> usize {
        MAX_BUFFERED_BYTES - self.0.available_permits() * UNIT_BYTES
    }

    /// Wraps the body of a request that contains one message. All bytes of the message count
    /// against the budget until the request ends.
    pub(crate) fn meter_single_message(&self, body: impl RequestBody) -> Body {
        Body::new(MeteredBody::new(body, self.0.clone(), MessageTracker::Whole { received: 0 }))
    }

    /// Wraps the body of a request that contains a sequence of JSON messages. The bytes of a
    /// message count against the budget until the message is complete.
    pub(crate) fn meter_json_messages(&self, body: impl RequestBody) -> Body {
        Body::new(MeteredBody::new(
            body,
            self.0.clone(),
            MessageTracker::Values(JsonValueScanner::default()),
        ))
    }

    /// Wraps the body of a request that contains a sequence of gRPC messages. The bytes of a
    /// message count against the budget until the message is complete.
    pub(crate) fn meter_grpc_messages(&self, body: Incoming) -> Body {
        Body::new(MeteredBody::new(body, self.0.clone(), MessageTracker::default()))
    }
}

pub(crate) trait RequestBody:
    http_body::Body<Data = Bytes, Error: Into<AnyError>> + Send + Unpin + 'static
{
}

type AnyError = Box<dyn Error + Send + Sync>;

impl<B> RequestBody for B where
    B: http_body::Body<Data = Bytes, Error: Into<AnyError>> + Send + Unpin + 'static
{
}

/// Body of a request, with a share of the budget. The share has the size of the bytes that have
/// arrived of an incomplete message.
struct MeteredBody<B> {
    body: B,
    all: Arc<Semaphore>,
    tracker: MessageTracker,
    share: Option<OwnedSemaphorePermit>,
    progress_timeout: Duration,
    deadline: Option<ProgressDeadline>,
}

/// Timer of an upload, and the number of bytes that the upload must deliver before the timer fires.
struct ProgressDeadline {
    timer: Pin<Box<Sleep>>,
    bytes_left: usize,
}

impl<B> MeteredBody<B> {
    fn new(body: B, all: Arc<Semaphore>, tracker: MessageTracker) -> Self {
        MeteredBody {
            body,
            all,
            tracker,
            share: None,
            progress_timeout: PROGRESS_TIMEOUT,
            deadline: None,
        }
    }

    /// Records that `bytes` more bytes of the upload have arrived. Stops the timer if the upload
    /// has delivered enough bytes for the current period, or holds no share of the budget any more.
    fn record_progress(&mut self, bytes: usize) {
        let deadline = self.deadline.take().filter(|_| self.share.is_some());
        self.deadline = deadline.and_then(|ProgressDeadline { timer, bytes_left: left }| {
            let left = left.checked_sub(bytes).filter(|left| *left > 0)?;
            Some(ProgressDeadline { timer, bytes_left: left })
        });
    }

    /// Becomes ready if the timer of the upload fires before the upload has delivered enough bytes.
    /// In this case, also frees the upload's share of the budget. Stays pending while the upload
    /// holds no share. Starts the timer if it does not run.
    fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.share.is_none() {
            return Poll::Pending;
        }
        let progress_timeout = self.progress_timeout;
        let begin = || ProgressDeadline {
            timer: Box::pin(sleep(progress_timeout)),
            bytes_left: MIN_PROGRESS_BYTES,
        };
        ready!(self.deadline.get_or_insert_with(begin).timer.as_mut().poll(context));
        (self.share, self.deadline) = (None, None);
        Poll::Ready(())
    }

    /// Changes the size of this request's share of the budget to `bytes` bytes, rounded down to
    /// whole units. If the budget has too little room, returns false and does not change the share.
    fn resize_share(&mut self, bytes: usize) -> bool {
        let units = bytes / UNIT_BYTES;
        let held = self.share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if units < held {
            let kept = self.share.take().and_then(|mut share| share.split(units));
            self.share = kept.filter(|_| units > 0);
        } else if units > held {
            let more = u32::try_from(units - held).unwrap_or(u32::MAX);
            let Ok(more) = self.all.clone().try_acquire_many_owned(more) else { return false };
            match &mut self.share {
                Some(share) => share.merge(more),
                None => self.share = Some(more),
            }
        }
        true
    }
}

impl<B: RequestBody> http_body::Body for MeteredBody<B> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(Some(Err(error))) => {
                return Poll::Ready(Some(Err(Status::from_error(error.into()))));
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                ready!(self.poll_stalled(context));
                return Poll::Ready(Some(Err(RpcError::REQUEST_STALLED.into())));
            }
        };
        let Some(data) = frame.data_ref() else { return Poll::Ready(Some(Ok(frame))) };
        let incomplete = self.tracker.advance(data);
        let has_room = self.resize_share(incomplete);
        self.record_progress(data.len());
        let frame = if has_room { Ok(frame) } else { Err(RpcError::TOO_MANY_REQUESTS.into()) };
        Poll::Ready(Some(frame))
    }
}

/// Parser that finds the ends of the messages in a request, and counts the bytes of the message
/// that is incomplete.
enum MessageTracker {
    /// The whole request is one message. The message ends when the request ends.
    Whole { received: usize },
    /// Each message is one JSON value. The scanner finds where the value ends.
    Values(JsonValueScanner),
    /// Each message begins with the header of a gRPC frame, which contains the length of the
    /// message.
    Framed { head: [u8; 5], received: usize },
}

impl Default for MessageTracker {
    fn default() -> Self {
        MessageTracker::Framed { head: [0; 5], received: 0 }
    }
}

impl MessageTracker {
    /// Processes the next received bytes of the request. Returns the number of bytes received so
    /// far of the current message; 0 if the last message is complete.
    fn advance(&mut self, mut data: &[u8]) -> usize {
        match self {
            MessageTracker::Whole { received } => {
                *received += data.len();
                *received
            }
            MessageTracker::Values(scanner) => {
                while let Some(end) = scanner.scan_to_value_end(data) {
                    data = &data[end..];
                }
                scanner.incomplete_bytes()
            }
            MessageTracker::Framed { head, received } => {
                while let Some((first, rest)) = data.split_first() {
                    if *received < head.len() {
                        head[*received] = *first;
                        *received += 1;
                        data = rest;
                    }
                    if *received >= head.len() {
                        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
                        let left = head.len() + length as usize - *received;
                        let more = left.min(data.len());
                        *received = if more == left { 0 } else { *received + more };
                        data = &data[more..];
                    }
                }
                *received
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};
    use http_body_util::{BodyExt, StreamBody};

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn complete_messages_do_not_count_across_any_frame_boundaries() {
        let message = [&[0, 0, 0, 1, 4][..], &[7; 260]].concat();
        let empty = [0; 5];
        let all = [&message[..], &empty, &message, &empty[..3]].concat();
        for size in [1, 2, 3, 5, 7, 264, 265, 266, all.len()] {
            let (mut tracker, mut last) = (MessageTracker::default(), 0);
            for chunk in all.chunks(size) {
                last = tracker.advance(chunk);
                assert!(last < message.len(), "{size}");
            }
            assert_eq!(last, 3, "{size}");
        }
        let mut values = MessageTracker::Values(JsonValueScanner::default());
        let incomplete = [&b"{} {\"a\""[..], b":1", b"}{"].map(|data| values.advance(data));
        assert_eq!(incomplete, [4, 6, 1]);
        let mut whole = MessageTracker::Whole { received: 0 };
        assert_eq!((whole.advance(&all), whole.advance(&all)), (all.len(), 2 * all.len()));
    }

    #[test]
    fn share_is_bounded_by_the_budget() {
        let all = Arc::new(Semaphore::new(10));
        let mut body = MeteredBody::new((), all.clone(), MessageTracker::default());
        for (bytes, left) in [
            (UNIT_BYTES - 1, 10),
            (3 * UNIT_BYTES, 7),
            (10 * UNIT_BYTES, 0),
            (UNIT_BYTES, 9),
            (0, 10),
        ] {
            assert!(body.resize_share(bytes));
            assert_eq!(all.available_permits(), left, "{bytes}");
        }
        assert!(!body.resize_share(11 * UNIT_BYTES));
        assert!(body.resize_share(2 * UNIT_BYTES));
        drop(body);
        assert_eq!(all.available_permits(), 10);
    }

    fn stalling_body(all: &Arc<Semaphore>, chunks: &[usize]) -> MeteredBody<Body> {
        let frames = chunks.iter().map(|bytes| Frame::data(Bytes::from(vec![0; *bytes])));
        let frames: Vec<Result<_, Status>> = frames.map(Ok).collect();
        let frames = stream::iter(frames).chain(stream::pending());
        let tracker = MessageTracker::Whole { received: 0 };
        let progress_timeout = Duration::from_millis(20);
        MeteredBody {
            progress_timeout,
            ..MeteredBody::new(Body::new(StreamBody::new(frames)), all.clone(), tracker)
        }
    }

    #[tokio::test]
    async fn stalled_message_is_dropped_and_returns_its_share() {
        let all = Arc::new(Semaphore::new(10));
        let mut body = stalling_body(&all, &[UNIT_BYTES, UNIT_BYTES + 1]);
        for left in [9, 8] {
            assert!(body.frame().await.expect("a frame").is_ok());
            assert_eq!(all.available_permits(), left);
        }
        let last =
            timeout(Duration::from_secs(120), body.frame()).await.expect("a response in time");
        let last = last.expect("an error").map(drop);
        assert_eq!(last.map_err(|it| it.code()), Err(tonic::Code::ResourceExhausted));
        assert_eq!(all.available_permits(), 10);
    }

    #[tokio::test]
    async fn short_or_progressing_message_is_never_dropped() {
        let all = Arc::new(Semaphore::new(100));
        let mut short = stalling_body(&all, &[UNIT_BYTES - 1]);
        assert!(short.frame().await.expect("a frame").is_ok());
        tokio::select! {
            _ = short.frame() => panic!("unexpected frame"),
            () = sleep(Duration::from_millis(100)) => {}
        }
        let mut long = stalling_body(&all, &[UNIT_BYTES; 30]);
        assert!(long.frame().await.expect("a frame").is_ok());
        long.deadline = Some(ProgressDeadline {
            timer: Box::pin(sleep(Duration::ZERO)),
            bytes_left: MIN_PROGRESS_BYTES,
        });
        for _ in 0..MIN_PROGRESS_BYTES / UNIT_BYTES - 1 {
            assert!(long.frame().await.expect("a frame").is_ok());
            assert!(long.deadline.is_some());
        }
        assert!(long.frame().await.expect("a frame").is_ok());
        assert!(long.deadline.is_none());
    }
}
