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

use crate::beside::{Turns, beside};
use crate::refusal::Refusal;

/// How many bytes of keys and values one answer has at most.
const LONGEST: usize = 64 << 20;

/// How many all answers have that were not taken yet.
const ALL: usize = 256 << 20;

/// How many are counted at most of an answer that is as long as it is.
const MOST: usize = ALL / 2;

/// What is not counted, as whoever asks takes as much.
pub(crate) const SMALL: usize = 64 << 10;

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
    /// Who makes text of a large answer, which takes as much again: one at a time.
    pub(crate) texts: Turns,
    /// How many answers were dropped since nobody took them.
    dropped: Arc<AtomicU64>,
}

impl Default for Budget {
    fn default() -> Self {
        let (units, texts) = (Arc::new(Semaphore::new(ALL / UNIT)), Turns::of(1));
        Budget { units, texts, dropped: Arc::default() }
    }
}

/// What one answer has of it, as long as this is kept.
#[derive(Clone, Debug)]
pub(crate) struct Share {
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
        let units = self.units(bytes).await?;
        let made = beside(move || frames::written(&make())).await?;
        Ok(self.shared(made, units))
    }

    /// An answer of as many bytes as it has, which is made when there is room for the most that
    /// are counted.
    pub(crate) async fn answer_whole<T>(
        &self,
        make: impl AsyncFnOnce() -> Result<(usize, T), Refusal>,
    ) -> Result<tonic::Response<T>, Refusal> {
        let mut units = self.units(MOST).await?;
        let (bytes, made) = make().await?;
        let counted = units.split(bytes.div_ceil(UNIT)).unwrap_or(units);
        Ok(self.shared(made, counted))
    }

    async fn units(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let units = self.units.clone().acquire_many_owned(units);
        let units = tokio::time::timeout(PATIENCE, units).await.map_err(|_| Refusal::TOO_MANY)?;
        units.map_err(|_| Refusal::STOPPED)
    }

    fn shared<T>(&self, made: T, units: OwnedSemaphorePermit) -> tonic::Response<T> {
        let mut response = tonic::Response::new(made);
        let share = Share { _units: Arc::new(units), dropped: self.dropped.clone() };
        response.extensions_mut().insert(share);
        response
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
pub(crate) fn hold(response: Response<Body>) -> Response<Body> {
    // It stays where it was: what is made of this answer may keep it further.
    let Some(share) = response.extensions().get::<Share>().cloned() else { return response };
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

#[cfg(test)]
mod tests {
    use http::Request;
    use http_body_util::BodyExt;
    use tenure_etcd::etcdserverpb as rpc;
    use tenure_store::{Command, Put};

    use super::*;
    use crate::alone::Alone;
    use crate::gateway;

    const LARGE: usize = 1 << 20;

    async fn with_a_megabyte() -> Alone {
        let alone = Alone::start();
        let put = Put { key: "a".into(), value: vec![0; LARGE].into(), ..Put::default() };
        alone.does(Command::Put(put)).await;
        alone
    }

    #[tokio::test]
    async fn a_large_answer_has_its_share_as_json_as_well_until_it_is_taken() {
        let alone = with_a_megabyte().await;
        let ask = async || {
            let body = Body::new(http_body_util::Full::from(r#"{"key":"YQ=="}"#));
            let request = Request::post("/v3/kv/range").body(body).expect("a request");
            gateway::answer(alone.member.clone(), request).await
        };
        let held = ask().await;
        assert!(alone.member.budget.bytes() >= LARGE);
        drop(held);
        assert_eq!(alone.member.budget.bytes(), 0);
        let taken = ask().await;
        let length = taken.headers().get("content-length").cloned().expect("how long it is");
        let text = taken.into_body().collect().await.expect("all of it").to_bytes();
        assert!(text.len() > LARGE * 4 / 3);
        assert_eq!(length.to_str().ok(), Some(text.len().to_string().as_str()));
        assert_eq!(alone.member.budget.bytes(), 0);
    }

    #[tokio::test]
    async fn a_backup_has_a_share_of_its_length_until_it_is_taken() {
        let alone = with_a_megabyte().await;
        let mut call = alone.call("/etcdserverpb.Maintenance/Snapshot").await;
        call.ask(&rpc::SnapshotRequest::default()).await;
        call.end();
        let first: rpc::SnapshotResponse = call.next().await.expect("an answer").expect("a piece");
        let counted = alone.member.budget.bytes();
        assert!((LARGE..2 * LARGE + (1 << 20)).contains(&counted), "{counted}");
        let (mut left, mut last) = (first.remaining_bytes, first);
        while let Some(piece) = call.next().await.expect("an answer") {
            left -= piece.blob.len() as u64;
            last = piece;
        }
        assert_eq!((left, last.remaining_bytes), (0, 0));
        drop(call);
        assert_eq!(alone.member.budget.bytes(), 0);
    }
}
