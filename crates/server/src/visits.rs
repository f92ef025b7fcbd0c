//! Who is connected, and who has to go when others come.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Bytes, Frame, SizeHint};
use rustix::process::{Resource, getrlimit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;
use tonic::Status;
use tonic::body::Body;
use tracing::warn;

/// How many connections there are at most.
const CONNECTIONS: usize = 20_000;

/// How many descriptors clients leave for the other members and for files, or half of all where
/// that is less.
const KEPT: usize = 256;

/// After how long without a place it is seen whether somebody else could go.
const OFTEN: Duration = Duration::from_millis(100);

/// What became of those who connected.
#[derive(Debug)]
pub(crate) struct Visits {
    places: Arc<Semaphore>,
    /// How many places there are in all.
    most: usize,
    /// Who has nothing under way, since the longest first.
    idle: Arc<Mutex<Idle>>,
    /// Whose certificate was wrong or missing, or who spoke no TLS where that is needed.
    pub(crate) refused: AtomicU64,
    /// Who said what no client says.
    pub(crate) broken: AtomicU64,
    /// When the last of them was told of in the log.
    told: Mutex<Option<Instant>>,
    /// Everybody has to go.
    is_over: watch::Sender<bool>,
}

/// Who has nothing under way, by when that began.
#[derive(Debug, Default)]
struct Idle {
    turn: u64,
    by_turn: BTreeMap<u64, Arc<Notify>>,
}

impl Visits {
    pub(crate) fn new() -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = most_connections(usize::try_from(descriptors).unwrap_or(usize::MAX));
        let places = Arc::new(Semaphore::new(most));
        let (refused, broken) = (AtomicU64::new(0), AtomicU64::new(0));
        let (idle, told, is_over) = (Arc::default(), Mutex::default(), watch::Sender::default());
        Visits { places, most, idle, refused, broken, told, is_over }
    }

    /// Everybody has to go, and is to ask nothing more here; what was asked is answered.
    pub(crate) fn end(&self) {
        self.is_over.send_replace(true);
    }

    /// Waits until everybody has to go.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut is_over = self.is_over.subscribe();
        // Whoever could say so is as old as the member.
        async move { drop(is_over.wait_for(|is_over| *is_over).await) }
    }

    /// Waits until no client is connected, for so long at most.
    pub(crate) async fn left(&self, most: Duration) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        let _ = timeout(most, self.places.acquire_many(all)).await;
    }

    /// How many are connected.
    pub(crate) fn now(&self) -> usize {
        self.most - self.places.available_permits()
    }

    /// A place for one more. Where there is none, whoever has had nothing under way for the longest
    /// has to go; where everybody has, it is waited for.
    pub(crate) async fn place(&self) -> OwnedSemaphorePermit {
        loop {
            let place = self.places.clone();
            if let Ok(place) = place.clone().try_acquire_owned() {
                return place;
            }
            if let Some((_, leave)) = locked(&self.idle).by_turn.pop_first() {
                leave.notify_one();
            }
            if let Ok(place) = timeout(OFTEN, place.acquire_owned()).await {
                return place.expect("nobody closes it");
            }
        }
    }

    /// Somebody has connected.
    pub(crate) fn arrived(&self) -> Arc<Visit> {
        let (idle, leave) = (self.idle.clone(), Arc::default());
        let is_over = self.is_over.subscribe();
        let visit = Visit { idle, leave, is_over, under_way: Mutex::default() };
        visit.rest(&mut locked(&visit.under_way));
        Arc::new(visit)
    }

    /// Somebody was refused: the log says so, once in a second.
    pub(crate) fn note(&self, count: &AtomicU64, who: SocketAddr, why: &dyn Display) {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut told = locked(&self.told);
        if told.is_none_or(|told| told.elapsed() >= Duration::from_secs(1)) {
            *told = Some(Instant::now());
            warn!("{who} was refused, number {number} of its sort: {why}");
        }
    }
}

/// How many connections there may be where a process has so many descriptors.
fn most_connections(descriptors: usize) -> usize {
    descriptors.saturating_sub(KEPT).max(descriptors / 2).min(CONNECTIONS)
}

fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One who is connected.
#[derive(Debug)]
pub(crate) struct Visit {
    idle: Arc<Mutex<Idle>>,
    leave: Arc<Notify>,
    is_over: watch::Receiver<bool>,
    under_way: Mutex<UnderWay>,
}

/// How many calls it has under way; where there are none, since which turn.
#[derive(Debug, Default)]
struct UnderWay {
    calls: usize,
    since: u64,
}

impl Visit {
    /// Waits until it has to go.
    pub(crate) async fn leaves(&self) {
        let mut is_over = self.is_over.clone();
        tokio::select! {
            () = self.leave.notified() => {}
            _ = is_over.wait_for(|is_over| *is_over) => {}
        }
    }

    /// It asks something.
    pub(crate) fn asks(self: &Arc<Self>) -> Call {
        let mut under_way = locked(&self.under_way);
        if under_way.calls == 0 {
            locked(&self.idle).by_turn.remove(&under_way.since);
        }
        under_way.calls += 1;
        Call(self.clone())
    }

    /// It has nothing under way from now on.
    fn rest(&self, under_way: &mut UnderWay) {
        let mut idle = locked(&self.idle);
        idle.turn += 1;
        under_way.since = idle.turn;
        let turn = idle.turn;
        idle.by_turn.insert(turn, self.leave.clone());
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let since = locked(&self.under_way).since;
        locked(&self.idle).by_turn.remove(&since);
    }
}

/// What somebody has asked, until all of the answer was taken.
#[derive(Debug)]
pub(crate) struct Call(Arc<Visit>);

impl Drop for Call {
    fn drop(&mut self) {
        let mut under_way = locked(&self.0.under_way);
        under_way.calls -= 1;
        if under_way.calls == 0 {
            self.0.rest(&mut under_way);
        }
    }
}

impl Call {
    /// Has the answer keep it.
    pub(crate) fn answered_by(self, body: Body) -> Body {
        Body::new(Answered { body, _call: self })
    }
}

struct Answered {
    body: Body,
    _call: Call,
}

impl http_body::Body for Answered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_leave_descriptors_for_the_other_members() {
        let left = [64, 256, 1024, 1 << 20].map(|all| all - most_connections(all));
        assert_eq!(left, [32, 128, KEPT, (1 << 20) - CONNECTIONS]);
    }

    #[tokio::test]
    async fn at_the_end_everybody_has_to_go_and_so_has_who_still_comes() {
        let visits = Visits::new();
        let (idle, busy) = (visits.arrived(), visits.arrived());
        let call = busy.asks();
        visits.end();
        for visit in [idle, busy, visits.arrived()] {
            timeout(Duration::from_secs(20), visit.leaves()).await.expect("it has to go");
        }
        drop(call);
    }

    #[tokio::test]
    async fn where_there_is_no_place_who_has_asked_nothing_for_the_longest_has_to_go() {
        let visits = Visits { places: Arc::new(Semaphore::new(3)), most: 3, ..Visits::new() };
        let mut places = Vec::new();
        for _ in 0..3 {
            places.push(visits.place().await);
        }
        let [busy, old, young] = [visits.arrived(), visits.arrived(), visits.arrived()];
        let call = busy.asks();
        let told = |visit: Arc<Visit>| async move {
            timeout(Duration::from_millis(1), visit.leaves()).await.is_ok()
        };
        let next = async {
            old.leaves().await;
            assert!(!told(young.clone()).await && !told(busy.clone()).await);
            places.pop();
        };
        let (place, ()) = tokio::join!(visits.place(), next);
        places.push(place);
        // Whoever has asked is idle later than who has not.
        drop(call);
        let next = async {
            young.leaves().await;
            assert!(!told(busy.clone()).await);
            places.pop();
        };
        drop(tokio::join!(visits.place(), next));
        drop((old, young, busy));
        assert!(locked(&visits.idle).by_turn.is_empty());
    }
}
