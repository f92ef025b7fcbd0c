//! Passwords are looked at one at a time: each takes memory and time.

use std::sync::Arc;

use tokio::sync::{Mutex, Semaphore};

use crate::beside::beside;
use crate::refusal::Refusal;
use crate::secrets::Memory;

/// How many may wait for their turn, or have it: as many as are served in some seconds.
const PLACES: usize = 256;

/// The turns of all who have a password looked at.
#[derive(Debug)]
pub(crate) struct Hashing {
    turn: Arc<Mutex<Memory>>,
    places: Arc<Semaphore>,
}

impl Default for Hashing {
    fn default() -> Self {
        Hashing { turn: Arc::default(), places: Arc::new(Semaphore::new(PLACES)) }
    }
}

impl Hashing {
    /// Does some work when it is its turn. A turn ends with its work, though nobody may wait for
    /// that any more.
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| Refusal::TOO_MANY)?;
        let mut turn = self.turn.clone().lock_owned().await;
        beside(move || {
            let _held = place;
            work(&mut turn)
        })
        .await
    }

    /// Waits until so many wait for their turn, besides the one who has it.
    #[cfg(test)]
    pub(crate) async fn until_waiting(&self, many: usize) {
        while self.places.available_permits() > PLACES - 1 - many {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_turn_ends_with_its_work_and_not_with_who_waits_for_it() {
        let hashing = Hashing::default();
        let ((go_on, held), (begins, begun)) = (mpsc::channel::<()>(), oneshot::channel());
        let mut first = Box::pin(hashing.in_turn(move |_| {
            begins.send(()).expect("somebody waits");
            held.recv()
        }));
        assert!((&mut first).now_or_never().is_none());
        begun.await.expect("the work begins");
        drop(first);
        assert!(hashing.turn.try_lock().is_err());
        go_on.send(()).expect("the work goes on");
        assert_eq!(hashing.in_turn(|_| ()).await, Ok(()));
    }

    #[tokio::test]
    async fn who_finds_no_place_is_refused_at_once() {
        let hashing = Hashing::default();
        let (go_on, held) = mpsc::channel::<()>();
        let first = hashing.in_turn(move |_| held.recv().unwrap_or_default()).boxed();
        let others = (1..PLACES).map(|_| hashing.in_turn(|_| ()).boxed());
        let mut all = join_all([first].into_iter().chain(others));
        assert!((&mut all).now_or_never().is_none());
        assert_eq!(hashing.in_turn(|_| ()).now_or_never(), Some(Err(Refusal::TOO_MANY)));
        go_on.send(()).expect("the work goes on");
        assert!(all.await.iter().all(Result::is_ok));
        assert_eq!(hashing.in_turn(|_| ()).await, Ok(()));
    }
}
