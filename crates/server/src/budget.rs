//! What answers take until clients have them.
//!
//! A large answer has a share of what there is for all of them. It is handed over in pieces, as the
//! client takes them; of one who takes nothing for a while the rest is dropped.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Response;
use hyper::body::{Bytes, Frame};
use prost::Message;
use tenure_etcd::frames;
use tenure_store::{Deleted, Done, Found, KeyValue, Reply, Written};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;
use tonic::body::Body;

use crate::beside::beside;
use crate::refusal::Refusal;

/// How many bytes of keys and values one answer has at most.
const LONGEST: usize = 64 << 20;

/// How many all answers have that were not taken yet.
const ALL: usize = 256 << 20;

/// What is not counted, as whoever asks takes as much.
const SMALL: usize = 64 << 10;

/// How many bytes are counted as one.
const UNIT: usize = 1 << 10;

/// How many bytes a client is given at a time.
const PIECE: usize = 64 << 10;

/// How long one waits for a share.
const PATIENCE: Duration = Duration::from_secs(5);

/// For how long a client may take nothing of a large answer.
const STALLED: Duration = Duration::from_secs(10);

/// What there is for all answers.
#[derive(Debug)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    /// How many answers were dropped since nobody took them.
    dropped: Arc<AtomicU64>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { units: Arc::new(Semaphore::new(ALL / UNIT)), dropped: Arc::default() }
    }
}

/// What one answer has of it, as long as this is kept.
#[derive(Clone, Debug)]
struct Share {
    _units: Arc<OwnedSemaphorePermit>,
    dropped: Arc<AtomicU64>,
}

impl Budget {
    /// An answer of so many bytes, which is made when there is room for it.
    pub(crate) async fn answer<T: Message>(
        &self,
        bytes: usize,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> Result<tonic::Response<Bytes>, Refusal> {
        if bytes <= SMALL {
            return Ok(tonic::Response::new(frames::written(&make())));
        }
        if bytes > LONGEST {
            return Err(Refusal::ANSWER_TOO_LARGE);
        }
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let units = self.units.clone().acquire_many_owned(units);
        let units = tokio::time::timeout(PATIENCE, units).await.map_err(|_| Refusal::TOO_MANY)?;
        let units = Arc::new(units.map_err(|_| Refusal::STOPPED)?);
        let made = beside(move || frames::written(&make())).await?;
        let mut response = tonic::Response::new(made);
        let share = Share { _units: units, dropped: self.dropped.clone() };
        response.extensions_mut().insert(share);
        Ok(response)
    }

    /// How many bytes were not taken yet.
    pub(crate) fn bytes(&self) -> usize {
        ALL - self.units.available_permits() * UNIT
    }

    /// How many answers were dropped since nobody took them.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Has an answer that has a share keep it until it is taken, or dropped.
pub(crate) fn hold(mut response: Response<Body>) -> Response<Body> {
    let Some(share) = response.extensions_mut().remove::<Share>() else { return response };
    response.map(|body| {
        let rest = Rest { body, piece: Bytes::new(), taken: 0, share };
        let rest = Arc::new(Mutex::new(Some(rest)));
        tokio::spawn(drop_if_stalled(Arc::downgrade(&rest)));
        Body::new(Held(rest))
    })
}

/// What of an answer was not taken yet.
struct Rest {
    body: Body,
    piece: Bytes,
    /// How many pieces were taken.
    taken: u64,
    share: Share,
}

/// An answer that can be dropped while somebody else has it.
struct Held(Arc<Mutex<Option<Rest>>>);

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(rest) = held.as_mut() else {
            return Poll::Ready(Some(Err(Refusal::NOT_TAKEN.into())));
        };
        rest.taken += 1;
        if rest.piece.is_empty() {
            match ready!(Pin::new(&mut rest.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => rest.piece = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
        let piece = rest.piece.split_to(rest.piece.len().min(PIECE));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

async fn drop_if_stalled(rest: Weak<Mutex<Option<Rest>>>) {
    let mut seen = None;
    loop {
        tokio::time::sleep(STALLED).await;
        let Some(rest) = rest.upgrade() else { return };
        let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = rest.as_ref().map(|rest| rest.taken);
        if taken == seen
            && let Some(Rest { share, .. }) = rest.take()
        {
            let number = share.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!("an answer was dropped that nobody took, number {number}");
            return;
        }
        seen = taken;
    }
}

/// How many bytes of keys and values an answer has.
pub(crate) trait Weighed {
    fn weight(&self) -> usize;
}

/// What a key takes beside its bytes.
const OVERHEAD: usize = 64;

fn all(kvs: &[Arc<KeyValue>]) -> usize {
    kvs.iter().map(|kv| OVERHEAD + kv.weight()).sum()
}

impl Weighed for Found {
    fn weight(&self) -> usize {
        all(&self.kvs)
    }
}

impl Weighed for Written {
    fn weight(&self) -> usize {
        self.prev.as_ref().map_or(0, |kv| kv.weight())
    }
}

impl Weighed for Deleted {
    fn weight(&self) -> usize {
        all(&self.prev)
    }
}

impl Weighed for Done {
    fn weight(&self) -> usize {
        let weight = |reply: &Reply| match reply {
            Reply::Range(it) => it.weight(),
            Reply::Put(it) => it.weight(),
            Reply::Delete(it) => it.weight(),
            Reply::Txn(it) => it.weight(),
        };
        self.replies.iter().map(weight).sum()
    }
}
