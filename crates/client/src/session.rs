//! A session: a lease, and who keeps it alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tenure_session::Times;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::claim::{self, Until};
use crate::client::{Client, PATIENCE};
use crate::clock::now;
use crate::error::{ClientError, Lost};
use crate::guard::Guard;
use crate::keeper::{Keeper, Standing};
use crate::leading::Leading;
use crate::leaving::Left;

/// By how many parts in a million the clock of this machine and that of the service may differ.
const DRIFT_PPM: u32 = 10_000;

/// A session. Clones are the same session; it is closed when the last of them, and of the guards
/// and offices that were had in it, is dropped.
#[derive(Clone, Debug)]
pub struct Session {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    client: Client,
    id: i64,
    ttl: Duration,
    standing: watch::Receiver<Standing>,
    /// The keeper ends the session when nobody has this any more, or something is sent.
    close: mpsc::Sender<()>,
    /// How many claims were made.
    claims: AtomicU64,
    left: Arc<Left>,
    runtime: Handle,
}

/// The deadlines of a session, as renewals are answered.
#[derive(Clone, Debug)]
pub struct Deadlines {
    standing: watch::Receiver<Standing>,
    last: Option<Instant>,
}

impl Deadlines {
    /// Waits for the next deadline; `None` once the session is over. The first is returned at once.
    /// Deadlines that were replaced before they were asked for are skipped. Dropping the future
    /// loses none.
    pub async fn next(&mut self) -> Option<std::time::Instant> {
        loop {
            self.standing.changed().await.ok()?;
            let standing = self.standing.borrow_and_update().clone();
            let Standing::Until(deadline) = standing else { return None };
            // The keeper also notifies of steps that do not move the deadline.
            if self.last.replace(deadline) != Some(deadline) {
                return claimable(&standing);
            }
        }
    }
}

/// Time until which a session may be claimed, on the clock of the standard library.
fn claimable(standing: &Standing) -> Option<std::time::Instant> {
    match *standing {
        Standing::Until(deadline) => {
            let left = deadline.saturating_duration_since(now());
            (!left.is_zero()).then(|| std::time::Instant::now() + left)
        }
        _ => None,
    }
}

impl Session {
    pub(crate) async fn begin(client: &Client, ttl: Duration) -> Result<Session, ClientError> {
        let seconds = i64::try_from(ttl.as_secs().max(1)).unwrap_or(i64::MAX);
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The lease is not shorter than what is left of it from here on.
            let sent = now();
            let asked = rpc::LeaseGrantRequest { ttl: seconds, id: 0 };
            let granted: rpc::LeaseGrantResponse =
                client.line.ask("/etcdserverpb.Lease/LeaseGrant", asked, deadline).await?;
            client.line.heard(granted.header.as_ref());
            let ttl = Duration::from_secs(granted.ttl.max(1).unsigned_abs());
            let length = u64::try_from(ttl.as_nanos()).unwrap_or(u64::MAX);
            let times = Times::new(length, DRIFT_PPM);
            let (close, closing) = mpsc::channel(1);
            let keeper = Keeper::new(client.line.clone(), granted.id, times, sent);
            // An answer that took longer than the lease is none.
            let Some((keeper, standing)) = keeper else { continue };
            keeper.start(closing);
            let shared = Shared {
                client: client.clone(),
                id: granted.id,
                ttl,
                standing,
                close,
                claims: AtomicU64::new(0),
                left: Arc::default(),
                runtime: Handle::current(),
            };
            return Ok(Session { shared: Arc::new(shared) });
        }
    }

    /// Its lease, by which the service knows it.
    pub fn id(&self) -> i64 {
        self.shared.id
    }

    /// How long its lease is, as the service has it.
    pub fn ttl(&self) -> Duration {
        self.shared.ttl
    }

    /// Until when what is held in it may be claimed if no renewal is answered any more: a TTL from
    /// when the last one that was answered was sent, less 2 % for clocks. Nothing if it is over.
    pub fn deadline(&self) -> Option<std::time::Instant> {
        claimable(&self.shared.standing.borrow())
    }

    /// The deadlines that follow, one for each renewal that is answered.
    pub fn deadlines(&self) -> Deadlines {
        let mut standing = self.shared.standing.clone();
        standing.mark_changed();
        Deadlines { standing, last: None }
    }

    /// Waits until it is over, and says why. It says so at its deadline, whatever the network does
    /// and whether or not anybody answers.
    pub async fn lost(&self) -> Lost {
        let mut standing = self.shared.standing.clone();
        loop {
            let now = standing.borrow_and_update().clone();
            let Standing::Until(deadline) = now else { return now.lost() };
            tokio::select! {
                changed = standing.changed() => match changed {
                    Ok(()) => {}
                    Err(_) => return Lost::Closed,
                },
                () = self.client().line.waking.reached(deadline) => return Lost::Silence,
            }
        }
    }

    /// Why it is over, if it is.
    pub fn ended(&self) -> Option<Lost> {
        self.shared.standing.borrow().ended()
    }

    /// Ends it, and with it all that is held in it.
    ///
    /// # Errors
    ///
    /// [`ClientError::Silence`] if nobody confirms it, and [`ClientError::Refused`] if the service
    /// will not have it, as of a user who may not write what is held any more. Then the lease ends
    /// by itself.
    pub async fn close(&self) -> Result<(), ClientError> {
        let _ = self.shared.close.try_send(());
        let mut standing = self.shared.standing.clone();
        let revoked = standing.wait_for(|standing| matches!(standing, Standing::Over(_)));
        // An error says that the keeper is gone, and it is so after it has revoked the lease.
        let _ = timeout(PATIENCE, revoked).await;
        self.shared.standing.borrow().failure().map_or(Ok(()), Err)
    }

    /// Enters the queue of a lock and waits until it is this session's turn: until everybody
    /// ahead has left, as they say themselves at `tenure serve`, or as the log does. Whoever stops
    /// waiting (drops the future) leaves the queue.
    ///
    /// Names may nest: claims of `jobs/nightly` are not in the queue of `jobs`. For libraries of
    /// etcd they are.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session ends meanwhile, [`ClientError::Refused`] if the service
    /// will not have it.
    pub async fn lock(&self, name: &str) -> Result<Guard, ClientError> {
        claim::wait(self, name, Vec::new(), Until::Released).await.map(Guard::new)
    }

    /// The lock, if nobody has it and nobody waits for it.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        Ok(claim::attempt(self, name, Vec::new()).await?.map(Guard::new))
    }

    /// The lock, if it is this session's turn within that time.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub async fn lock_within(
        &self,
        name: &str,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        timeout(within, self.lock(name)).await.ok().transpose()
    }

    /// Stands for an election, and waits until it leads. `value` is what observers see of it.
    /// Whoever stops waiting (drops the future) stands no longer.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub async fn campaign(
        &self,
        name: &str,
        value: impl Into<Vec<u8>>,
    ) -> Result<Leading, ClientError> {
        claim::wait(self, name, value.into(), Until::Deleted).await.map(Leading::new)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.shared.client
    }

    /// How it stands, for whoever does not keep it alive.
    pub(crate) fn standing(&self) -> watch::Receiver<Standing> {
        self.shared.standing.clone()
    }

    /// What was given up in it and is not yet being deleted.
    pub(crate) fn left(&self) -> &Arc<Left> {
        &self.shared.left
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// A key that no other claim of anybody has.
    pub(crate) fn new_key(&self, name: &str) -> Vec<u8> {
        match self.shared.claims.fetch_add(1, Ordering::Relaxed) {
            0 => format!("{name}/{:x}", self.shared.id).into_bytes(),
            count => format!("{name}/{:x}.{count}", self.shared.id).into_bytes(),
        }
    }
}
