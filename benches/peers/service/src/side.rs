//! The sides of the comparison: a service, and a client of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tenure_client::{Client, Semaphore, Session};
use tokio::time::sleep;

use crate::cluster::MEMBERS;
use crate::recipe::Recipe;
use crate::zookeeper::Queue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceKind {
    Etcd,
    ZooKeeper,
    Tenure,
}

#[derive(Clone, Debug)]
pub struct Programs {
    pub etcd: PathBuf,
    /// Path of the library of ZooKeeper, as Debian installs it; `None` to omit ZooKeeper.
    pub zookeeper: Option<PathBuf>,
    pub tenure: PathBuf,
}

/// A service and a client of it, which one column of the table measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// etcd, with the requests that etcd's own client sends.
    Etcd,
    /// ZooKeeper with the lock of its documentation.
    ZooKeeper,
    /// `tenure serve` with the requests of etcd's client.
    TenureByRecipe,
    /// `tenure serve` with `tenure-client`. The client waits until each release is committed.
    TenureReleased,
    /// `tenure serve` with `tenure-client`. The client drops the guard of the lock, and does not
    /// wait until the release is committed.
    TenureDropped,
}

impl Side {
    pub const ALL: [Side; 5] = [
        Side::Etcd,
        Side::ZooKeeper,
        Side::TenureByRecipe,
        Side::TenureReleased,
        Side::TenureDropped,
    ];

    pub const fn kind(self) -> ServiceKind {
        match self {
            Side::Etcd => ServiceKind::Etcd,
            Side::ZooKeeper => ServiceKind::ZooKeeper,
            Side::TenureByRecipe | Side::TenureReleased | Side::TenureDropped => {
                ServiceKind::Tenure
            }
        }
    }

    /// Returns true if the service has a lock of the kind `access`, by itself or in a recipe of its
    /// library. Neither etcd nor ZooKeeper has a recipe for a semaphore. ZooKeeper has a read/write
    /// lock, but this program does not implement it.
    pub const fn has(self, access: Access) -> bool {
        match access {
            Access::Exclusive => true,
            Access::ReadWrite => !matches!(self, Side::ZooKeeper),
            Access::Permits(_) => matches!(self, Side::TenureReleased | Side::TenureDropped),
        }
    }

    pub const fn heading(self) -> &'static str {
        match self {
            Side::Etcd => "etcd",
            Side::ZooKeeper => "ZooKeeper",
            Side::TenureByRecipe => "tenure, etcd's requests",
            Side::TenureReleased => "its client, `release`",
            Side::TenureDropped => "its client, `drop`",
        }
    }

    /// Returns the name of the service and client for all output except the table of cycles. That
    /// table uses `heading`.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Etcd => "etcd",
            Side::ZooKeeper => "ZooKeeper",
            Side::TenureByRecipe => "tenure, etcd's requests",
            Side::TenureReleased => "tenure, its client, released",
            Side::TenureDropped => "tenure, its client, dropped",
        }
    }
}

/// Kind of a lock, and the access that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Exclusive,
    /// A read/write lock. One of ten cycles of a client writes.
    ReadWrite,
    Permits(u32),
}

/// A client with a session that acquires and releases one lock repeatedly.
pub struct Claimant {
    client: SideClient,
    access: Access,
    /// Number of cycles so far, plus the number of the client. The client writes whenever this sum
    /// is a multiple of ten. Different clients therefore write at different times.
    cycles: usize,
    semaphore: Option<Semaphore>,
}

enum SideClient {
    /// The requests of etcd's client.
    Recipe(Recipe),
    /// The lock of ZooKeeper's documentation.
    Queue(Queue),
    /// The client library `tenure-client`.
    Own { session: Session, name: String, drops: bool },
}

impl Claimant {
    /// Starts a session at a member, or at the next one that responds.
    pub async fn start(side: Side, members: &[SocketAddr], first: usize, name: &str) -> Claimant {
        let client = match side {
            Side::Etcd | Side::TenureByRecipe => {
                SideClient::Recipe(Recipe::start(members, first, name).await)
            }
            Side::ZooKeeper => SideClient::Queue(Queue::start(members, name).await),
            Side::TenureReleased | Side::TenureDropped => {
                let endpoints = members.iter().map(|it| format!("http://{it}"));
                let client = Client::connect(endpoints).await.expect("a member accepts");
                let session = client.session(Duration::from_secs(10)).await.expect("a session");
                let drops = side == Side::TenureDropped;
                SideClient::Own { session, name: name.to_owned(), drops }
            }
        };
        Claimant { client, access: Access::Exclusive, cycles: 0, semaphore: None }
    }

    /// Sets the kind of the lock before the first cycle. The side must support this kind. `number`
    /// is the number of the client.
    pub async fn with_access(mut self, access: Access, number: usize) -> Claimant {
        if let (Access::Permits(permits), SideClient::Own { session, name, .. }) =
            (access, &self.client)
        {
            self.semaphore = Some(session.semaphore(name, permits).await.expect("a semaphore"));
        }
        Claimant { access, cycles: number, ..self }
    }

    pub async fn cycle(&mut self) -> Result<(), String> {
        self.cycles += 1;
        let is_writer = self.cycles % 10 == 0;
        let describe = |error: tenure_client::ClientError| error.to_string();
        match &mut self.client {
            SideClient::Recipe(recipe) => {
                let done = match self.access {
                    Access::ReadWrite => recipe.read_write_cycle(is_writer).await,
                    Access::Exclusive | Access::Permits(_) => recipe.cycle().await,
                };
                done.map_err(|it| it.to_string())
            }
            SideClient::Queue(queue) => queue.cycle().await.map_err(|it| it.to_string()),
            SideClient::Own { session, name, drops } => {
                let guard = match (self.access, &self.semaphore) {
                    (Access::ReadWrite, _) if is_writer => session.write_lock(name).await,
                    (Access::ReadWrite, _) => session.read_lock(name).await,
                    (Access::Permits(_), Some(semaphore)) => semaphore.acquire().await,
                    (Access::Exclusive | Access::Permits(_), _) => session.lock(name).await,
                };
                let guard = guard.map_err(describe)?;
                if *drops {
                    return Ok(());
                }
                guard.release().await.map_err(|it| it.to_string())
            }
        }
    }

    /// Repeats the acquisition and release of the lock until both succeed. Pauses after every third
    /// failure.
    pub async fn cycle_until_success(&mut self) {
        let mut failures = 0;
        while self.cycle().await.is_err() {
            failures += 1;
            if let SideClient::Recipe(recipe) = &mut self.client {
                recipe.use_next_member();
            }
            if failures % MEMBERS == 0 {
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}
