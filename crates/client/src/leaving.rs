//! Keys that are given up. They are deleted however long that takes, unless their session ends,
//! which deletes them as well.

use std::sync::Arc;
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tokio::sync::watch;
use tokio::task::JoinHandle;
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

/// Gives up a key, and says what came of the first attempt. It goes on whether or not anybody
/// waits for that.
///
/// A key is doubtful that a member may put once more: who was asked first may have been stopped,
/// and does what it was asked when it goes on.
pub(crate) fn leave(
    session: &Session,
    key: Vec<u8>,
    is_doubtful: bool,
) -> JoinHandle<Result<(), ClientError>> {
    let leaving =
        Leaving { line: session.client().line.clone(), standing: session.standing(), key };
    session.runtime().spawn(async move {
        let deleted = leaving.delete().await;
        let is_deleted = deleted.is_ok();
        tokio::spawn(leaving.go_on(is_deleted, is_doubtful));
        deleted
    })
}

/// A key that is given up. Nothing of the session is held, which may be closed meanwhile.
struct Leaving {
    line: Arc<Line>,
    standing: watch::Receiver<Standing>,
    key: Vec<u8>,
}

impl Leaving {
    async fn go_on(self, is_deleted: bool, is_doubtful: bool) {
        if !is_deleted {
            self.insist().await;
        }
        if is_doubtful {
            for pause in SWEEPS {
                sleep(pause).await;
                self.insist().await;
            }
        }
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
    async fn delete(&self) -> Result<(), ClientError> {
        if self.standing.borrow().ended().is_some() {
            return Ok(());
        }
        let deadline = Instant::now() + PATIENCE;
        let _: rpc::TxnResponse = self.line.ask(TXN, txn::delete(&self.key), deadline).await?;
        Ok(())
    }
}
