//! Keys that are given up. They are deleted however long that takes, unless their session ends,
//! which deletes them as well.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::claim::TXN;
use crate::client::PATIENCE;
use crate::error::ClientError;
use crate::keeper::Standing;
use crate::line::Line;
use crate::session::Session;
use crate::txn;

/// How long after a key was deleted it is deleted again, if it was asked for more than once.
const SWEEPS: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(12)];

/// How many keys whoever queues deletes on the way: etcd takes 128 operations at once.
const MOST: usize = 16;

/// The keys of a session that are given up and that nobody has begun to delete. Each has a task of
/// its own that does so, unless who queues next was faster: a program that goes from lock to lock
/// asks once for each.
#[derive(Debug, Default)]
pub(crate) struct Left(Mutex<Vec<Leaving>>);

impl Left {
    /// Has a key deleted, soon and however long that takes.
    pub(crate) fn add(self: &Arc<Self>, leaving: Leaving, runtime: &Handle) {
        let key = leaving.key.clone();
        self.all().push(leaving);
        let (left, handle) = (self.clone(), runtime.clone());
        runtime.spawn(async move {
            // Behind whatever the task that gave it up does next.
            let is_it = |it: &mut Leaving| it.key == key;
            let found = left.all().extract_if(.., is_it).next();
            if let Some(leaving) = found {
                leaving.go_on(false, &handle);
            }
        });
    }

    /// Some of them, which are deleted by whoever takes them.
    pub(crate) fn take(&self) -> Vec<Leaving> {
        let mut all = self.all();
        let few = all.len().min(MOST);
        all.drain(..few).collect()
    }

    fn all(&self) -> MutexGuard<'_, Vec<Leaving>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key that is given up. Nothing of the session is held, which may be closed meanwhile.
#[derive(Debug)]
pub(crate) struct Leaving {
    line: Arc<Line>,
    standing: watch::Receiver<Standing>,
    key: Vec<u8>,
    /// By which fence a lock was held by it; 0 if none was.
    fence: u64,
    /// Whether a member may put it once more: who was asked first may have been stopped, and does
    /// what it was asked when it goes on.
    is_doubtful: bool,
}

impl Leaving {
    pub(crate) fn of(session: &Session, key: Vec<u8>, fence: u64, is_doubtful: bool) -> Self {
        let (line, standing) = (session.client().line.clone(), session.standing());
        Leaving { line, standing, key, fence, is_doubtful }
    }

    /// The key, and by which fence a lock was held by it.
    pub(crate) fn released(&self) -> (&[u8], u64) {
        (&self.key, self.fence)
    }

    /// Sees to it that it is deleted and stays so, in a task of its own if there is anything left
    /// to be done.
    pub(crate) fn go_on(self, is_deleted: bool, runtime: &Handle) {
        if is_deleted && !self.is_doubtful {
            return;
        }
        runtime.spawn(async move {
            if !is_deleted {
                self.insist().await;
            }
            if self.is_doubtful {
                for pause in SWEEPS {
                    sleep(pause).await;
                    self.insist().await;
                }
            }
        });
    }

    /// Deletes it until that is done; also where it is refused, for rights come back.
    async fn insist(&self) {
        loop {
            let next = Instant::now() + PATIENCE;
            if self.delete().await.is_ok() {
                return;
            }
            sleep_until(next).await;
        }
    }

    /// Deletes it, unless its session does.
    pub(crate) async fn delete(&self) -> Result<(), ClientError> {
        if self.standing.borrow().ended().is_some() {
            return Ok(());
        }
        let deadline = Instant::now() + PATIENCE;
        let _: rpc::TxnResponse =
            self.line.ask(TXN, txn::delete(&self.key, self.fence), deadline).await?;
        Ok(())
    }
}
