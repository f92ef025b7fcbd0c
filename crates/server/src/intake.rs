//! What clients have begun to say and have not ended: as little of it as of what they are told.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Bytes, Frame, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::Status;
use tonic::body::Body;

use crate::json_stream::ValueScanner;
use crate::refusal::Refusal;

/// How many bytes all messages have that are not complete.
const ALL: usize = 256 << 20;

/// How many bytes are counted as one.
const UNIT: usize = 4 << 10;

/// In which time something more has to come of a message that has a share, and how much.
const PATIENCE: Duration = Duration::from_secs(10);
const SOMETHING: usize = 64 << 10;

/// What there is for all messages that are not complete.
#[derive(Debug)]
pub(crate) struct Intake(Arc<Semaphore>);

impl Default for Intake {
    fn default() -> Self {
        Intake(Arc::new(Semaphore::new(ALL / UNIT)))
    }
}

impl Intake {
    /// How many bytes there are of messages that are not complete.
    pub(crate) fn bytes(&self) -> usize {
        ALL - self.0.available_permits() * UNIT
    }

    /// A request that is one message.
    pub(crate) fn whole(&self, body: impl Sent) -> Body {
        Body::new(Begun::new(body, self.0.clone(), Progress::Whole { begun: 0 }))
    }

    /// One of messages as JSON, of which each may be answered before the next has come.
    pub(crate) fn values(&self, body: impl Sent) -> Body {
        Body::new(Begun::new(body, self.0.clone(), Progress::Values(ValueScanner::default())))
    }

    /// One of messages as gRPC frames them.
    pub(crate) fn framed(&self, body: Incoming) -> Body {
        Body::new(Begun::new(body, self.0.clone(), Progress::default()))
    }
}

/// The body of a request.
pub(crate) trait Sent:
    http_body::Body<Data = Bytes, Error: Into<AnyError>> + Send + Unpin + 'static
{
}

type AnyError = Box<dyn Error + Send + Sync>;

impl<B> Sent for B where
    B: http_body::Body<Data = Bytes, Error: Into<AnyError>> + Send + Unpin + 'static
{
}

/// A request of which not all has come.
struct Begun<B> {
    body: B,
    all: Arc<Semaphore>,
    progress: Progress,
    share: Option<OwnedSemaphorePermit>,
    patience: Duration,
    awaited: Option<Awaited>,
}

/// What has to come of a message that has a share.
struct Awaited {
    by: Pin<Box<Sleep>>,
    bytes: usize,
}

impl<B> Begun<B> {
    fn new(body: B, all: Arc<Semaphore>, progress: Progress) -> Self {
        Begun { body, all, progress, share: None, patience: PATIENCE, awaited: None }
    }

    /// So much has come.
    fn came(&mut self, bytes: usize) {
        let awaited = self.awaited.take().filter(|_| self.share.is_some());
        self.awaited = awaited.and_then(|Awaited { by, bytes: left }| {
            let left = left.checked_sub(bytes).filter(|left| *left > 0)?;
            Some(Awaited { by, bytes: left })
        });
    }

    /// Waits for more. Says whether it was waited for long enough, by which the share is free.
    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.share.is_none() {
            return Poll::Pending;
        }
        let patience = self.patience;
        let begin = || Awaited { by: Box::pin(sleep(patience)), bytes: SOMETHING };
        ready!(self.awaited.get_or_insert_with(begin).by.as_mut().poll(context));
        (self.share, self.awaited) = (None, None);
        Poll::Ready(())
    }

    /// Has the share be that of so many bytes; whether there is as much.
    fn hold(&mut self, bytes: usize) -> bool {
        let units = bytes / UNIT;
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

impl<B> http_body::Body for Begun<B>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
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
                ready!(self.poll_patience(context));
                return Poll::Ready(Some(Err(Refusal::NOT_ENDED.into())));
            }
        };
        let Some(data) = frame.data_ref() else { return Poll::Ready(Some(Ok(frame))) };
        let begun = self.progress.follow(data);
        let has_room = self.hold(begun);
        self.came(data.len());
        let told = if has_room { Ok(frame) } else { Err(Refusal::TOO_MANY.into()) };
        Poll::Ready(Some(told))
    }
}

/// How much of a message has come.
enum Progress {
    /// Of one that ends with the request.
    Whole { begun: usize },
    /// Of one that ends where a JSON value does.
    Values(ValueScanner),
    /// Of one of which it is known how long it is, when its head is complete.
    Framed { head: [u8; 5], begun: usize },
}

impl Default for Progress {
    fn default() -> Self {
        Progress::Framed { head: [0; 5], begun: 0 }
    }
}

impl Progress {
    /// More has come. Says how many bytes there are of what is not complete.
    fn follow(&mut self, mut data: &[u8]) -> usize {
        match self {
            Progress::Whole { begun } => {
                *begun += data.len();
                *begun
            }
            Progress::Values(scanner) => {
                while let Some(end) = scanner.end(data) {
                    data = &data[end..];
                }
                scanner.begun()
            }
            Progress::Framed { head, begun } => {
                while let Some((first, rest)) = data.split_first() {
                    if *begun < head.len() {
                        head[*begun] = *first;
                        *begun += 1;
                        data = rest;
                    }
                    if *begun >= head.len() {
                        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
                        let left = head.len() + length as usize - *begun;
                        let more = left.min(data.len());
                        *begun = if more == left { 0 } else { *begun + more };
                        data = &data[more..];
                    }
                }
                *begun
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
    fn what_is_complete_counts_no_longer_however_it_is_cut_into_pieces() {
        let message = [&[0, 0, 0, 1, 4][..], &[7; 260]].concat();
        let empty = [0; 5];
        let all = [&message[..], &empty, &message, &empty[..3]].concat();
        for size in [1, 2, 3, 5, 7, 264, 265, 266, all.len()] {
            let (mut progress, mut last) = (Progress::default(), 0);
            for piece in all.chunks(size) {
                last = progress.follow(piece);
                assert!(last < message.len(), "{size}");
            }
            assert_eq!(last, 3, "{size}");
        }
        let mut values = Progress::Values(ValueScanner::default());
        let begun = [&b"{} {\"a\""[..], b":1", b"}{"].map(|data| values.follow(data));
        assert_eq!(begun, [4, 6, 1]);
        let mut whole = Progress::Whole { begun: 0 };
        assert_eq!((whole.follow(&all), whole.follow(&all)), (all.len(), 2 * all.len()));
    }

    #[test]
    fn a_share_is_what_is_needed_and_no_more_than_there_is() {
        let all = Arc::new(Semaphore::new(10));
        let mut begun = Begun::new((), all.clone(), Progress::default());
        for (bytes, left) in [(UNIT - 1, 10), (3 * UNIT, 7), (10 * UNIT, 0), (UNIT, 9), (0, 10)] {
            assert!(begun.hold(bytes));
            assert_eq!(all.available_permits(), left, "{bytes}");
        }
        assert!(!begun.hold(11 * UNIT));
        assert!(begun.hold(2 * UNIT));
        drop(begun);
        assert_eq!(all.available_permits(), 10);
    }

    /// A message of which these pieces come, and then nothing.
    fn begun(all: &Arc<Semaphore>, pieces: &[usize]) -> Begun<Body> {
        let frames = pieces.iter().map(|bytes| Frame::data(Bytes::from(vec![0; *bytes])));
        let frames: Vec<Result<_, Status>> = frames.map(Ok).collect();
        let frames = stream::iter(frames).chain(stream::pending());
        let progress = Progress::Whole { begun: 0 };
        let patience = Duration::from_millis(20);
        Begun { patience, ..Begun::new(Body::new(StreamBody::new(frames)), all.clone(), progress) }
    }

    #[tokio::test]
    async fn a_message_that_does_not_go_on_is_dropped_and_gives_back_its_share() {
        let all = Arc::new(Semaphore::new(10));
        let mut body = begun(&all, &[UNIT, UNIT + 1]);
        for left in [9, 8] {
            assert!(body.frame().await.expect("a frame").is_ok());
            assert_eq!(all.available_permits(), left);
        }
        let told = timeout(Duration::from_secs(20), body.frame()).await.expect("it is told");
        let told = told.expect("a word").map(drop);
        assert_eq!(told.map_err(|it| it.code()), Err(tonic::Code::ResourceExhausted));
        assert_eq!(all.available_permits(), 10);
    }

    #[tokio::test]
    async fn what_is_short_may_take_as_long_as_it_takes_and_so_may_what_goes_on() {
        let all = Arc::new(Semaphore::new(100));
        let mut short = begun(&all, &[UNIT - 1]);
        assert!(short.frame().await.expect("a frame").is_ok());
        tokio::select! {
            _ = short.frame() => panic!("nothing more comes"),
            () = sleep(Duration::from_millis(100)) => {}
        }
        let mut long = begun(&all, &[UNIT; 30]);
        assert!(long.frame().await.expect("a frame").is_ok());
        long.awaited = Some(Awaited { by: Box::pin(sleep(Duration::ZERO)), bytes: SOMETHING });
        for _ in 0..SOMETHING / UNIT - 1 {
            assert!(long.frame().await.expect("a frame").is_ok());
            assert!(long.awaited.is_some());
        }
        assert!(long.frame().await.expect("a frame").is_ok());
        assert!(long.awaited.is_none());
    }
}
