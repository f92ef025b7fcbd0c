//! A single type that represents a lock of any kind in `tenure-client`.

use std::time::{Duration, Instant};

use fastrand::Rng;
use tenure_client::{
    CampaignOptions, ClientError, Guard, Leadership, LockMode, LockOptions, MultiGuard, Session,
};

/// Kinds of locks. A holder process requests locks of all kinds at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Exclusive lock. A request waits without a limit, waits for a limited time, or does not wait.
    Plain,
    /// Lock that is requested for exclusive or for shared access.
    Shared,
    /// Lock that at most two clients hold at the same time.
    Slots,
    ReadWrite,
    Semaphore,
    /// Two exclusive locks that a client acquires together.
    Several,
    /// One of the two exclusive locks of [`Kind::Several`].
    OneOfSeveral,
    Election,
}

impl Kind {
    pub(super) const ALL: [Kind; 8] = [
        Kind::Plain,
        Kind::Shared,
        Kind::Slots,
        Kind::ReadWrite,
        Kind::Semaphore,
        Kind::Several,
        Kind::OneOfSeveral,
        Kind::Election,
    ];
}

/// Names of the queues of all locks. The observer records their changes.
pub(super) const QUEUES: [&str; 9] = [
    "plain",
    "shared",
    "slots",
    "read-write/read",
    "read-write/write",
    "semaphore/permits",
    "several-a",
    "several-b",
    "election",
];

/// Names of groups of locks. Each of these groups guards a resource. A holder with exclusive access
/// writes to the resource.
pub(super) const RESOURCES: [&str; 6] =
    ["plain", "shared", "read-write", "several-a", "several-b", "election"];

/// Weight of an exclusive claim on a lock that several readers can share. A reader has weight 1.
/// The capacity of the lock is equal to the weight of an exclusive claim.
const READERS: u64 = 1_000;

const PERMITS: u32 = 3;

/// Greatest number of holders of the lock of [`Kind::Slots`].
const SLOTS: u32 = 2;

const REQUEST_TIMEOUT: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(super) struct Held {
    /// Claims that belong to the lock: two for [`Kind::Several`], and one for other kinds.
    pub(super) parts: Vec<Part>,
    owner: Owner,
}

#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) group: &'static str,
    pub(super) key: String,
    pub(super) fence: u64,
    pub(super) weight: u64,
    pub(super) capacity: u64,
}

#[derive(Debug)]
enum Owner {
    Lock(Guard),
    Several(MultiGuard),
    Election(Leadership),
}

impl Held {
    fn lock(group: &'static str, weight: u64, capacity: u64, guard: Guard) -> Held {
        let part = Part::of(group, &guard, weight, capacity);
        Held { parts: vec![part], owner: Owner::Lock(guard) }
    }

    fn several(guards: MultiGuard) -> Held {
        let groups = ["several-a", "several-b"].into_iter();
        let parts = groups.zip(guards.guards()).map(|(group, (name, guard))| {
            assert_eq!(name, group, "guards are in the order of the names");
            Part::of(group, guard, 1, 1)
        });
        Held { parts: parts.collect(), owner: Owner::Several(guards) }
    }

    fn election(leading: Leadership) -> Held {
        let key = String::from_utf8_lossy(leading.key()).into_owned();
        let fence = leading.fence();
        let part = Part { group: "election", key, fence, weight: 1, capacity: 1 };
        Held { parts: vec![part], owner: Owner::Election(leading) }
    }

    /// Returns the time until which the process may use the lock; `None` if the process has lost
    /// the lock.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.owner {
            Owner::Lock(guard) => guard.deadline(),
            Owner::Several(guards) => guards.deadline(),
            Owner::Election(leading) => leading.deadline(),
        }
    }

    /// Releases the lock. If `waits` is true, waits until the service has confirmed the release.
    pub(super) async fn release(self, waits: bool) {
        // Without a confirmation the session repeats the request, or the lease expires.
        let _ = match self.owner {
            Owner::Lock(guard) if waits => guard.release().await,
            Owner::Several(guards) if waits => guards.release().await,
            Owner::Election(leading) if waits => leading.resign().await,
            owner => {
                drop(owner);
                Ok(())
            }
        };
    }
}

impl Part {
    fn of(group: &'static str, guard: &Guard, weight: u64, capacity: u64) -> Part {
        let key = String::from_utf8_lossy(guard.key()).into_owned();
        Part { group, key, fence: guard.fence(), weight, capacity }
    }

    /// Returns true if this claim excludes all other claims of its group.
    pub(super) fn is_exclusive(&self) -> bool {
        self.weight == self.capacity
    }
}

/// Requests a lock of this kind. Returns `None` if another client holds it.
pub(super) async fn acquire(
    session: &Session,
    kind: Kind,
    rng: &mut Rng,
) -> Result<Option<Held>, ClientError> {
    let held = match kind {
        Kind::Plain => {
            let guard = exclusive(session, "plain", rng).await?;
            guard.map(|guard| Held::lock("plain", 1, 1, guard))
        }
        Kind::OneOfSeveral => {
            let group = ["several-a", "several-b"][rng.usize(..2)];
            exclusive(session, group, rng).await?.map(|guard| Held::lock(group, 1, 1, guard))
        }
        Kind::Shared => {
            let (access, weight) = match rng.u8(0..3) {
                0 => (LockMode::Exclusive, READERS),
                _ => (LockMode::Shared, 1),
            };
            let guard = session.lock_with("shared", &LockOptions::new(access)).await?;
            Some(Held::lock("shared", weight, READERS, guard))
        }
        Kind::Slots => {
            let request = LockOptions::new(LockMode::Slots(SLOTS));
            let guard = session.lock_with("slots", &request).await?;
            Some(Held::lock("slots", 1, SLOTS.into(), guard))
        }
        Kind::ReadWrite => match rng.u8(0..4) {
            0 => {
                let guard = session.try_write_lock("read-write").await?;
                guard.map(|guard| Held::lock("read-write", READERS, READERS, guard))
            }
            1 => {
                let guard = session.write_lock("read-write").await?;
                Some(Held::lock("read-write", READERS, READERS, guard))
            }
            _ => {
                let guard = session.read_lock("read-write").await?;
                Some(Held::lock("read-write", 1, READERS, guard))
            }
        },
        Kind::Semaphore => {
            let (semaphore, permits) =
                (session.semaphore("semaphore", PERMITS).await?, rng.u32(1..=2));
            let guard = semaphore.acquire_many(permits).await?;
            Some(Held::lock("semaphore", permits.into(), PERMITS.into(), guard))
        }
        Kind::Several => {
            let names = ["several-b", "several-a"];
            match rng.bool() {
                true => session.lock_all_within(names, REQUEST_TIMEOUT).await?.map(Held::several),
                false => Some(Held::several(session.lock_all(names).await?)),
            }
        }
        Kind::Election => Some(Held::election(campaign(session, rng).await?)),
    };
    Ok(held)
}

async fn exclusive(
    session: &Session,
    name: &str,
    rng: &mut Rng,
) -> Result<Option<Guard>, ClientError> {
    match rng.u8(0..4) {
        0 => session.try_lock(name).await,
        1 => session.lock_within(name, REQUEST_TIMEOUT).await,
        _ => session.lock(name).await.map(Some),
    }
}

/// Campaigns for the leadership of an election. With probability ½, the candidate has a random
/// priority. Otherwise, the candidate has no priority, and its place in the queue never changes.
async fn campaign(session: &Session, rng: &mut Rng) -> Result<Leadership, ClientError> {
    if rng.bool() {
        return session.campaign("election", "no preference").await;
    }
    let identity = format!("candidate-{}", session.id());
    let options = CampaignOptions::new(identity).priority(rng.i32(0..3));
    session.campaign_with("election", options).await
}
