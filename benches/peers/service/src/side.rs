//! The sides of the comparison: a service, and a client of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tenure_client::{Client, Session};
use tokio::time::sleep;

use crate::cluster::MEMBERS;
use crate::recipe::Recipe;
use crate::zookeeper::Queue;

/// A service to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The service etcd.
    Etcd,
    /// The service ZooKeeper.
    ZooKeeper,
    /// The service `tenure serve`.
    Tenure,
}

/// Programs of the services.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Path of `etcd`.
    pub etcd: PathBuf,
    /// Path of the library of ZooKeeper, as Debian installs it; `None` to omit ZooKeeper.
    pub zookeeper: Option<PathBuf>,
    /// Path of `tenure`.
    pub tenure: PathBuf,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// etcd with the requests of its own client.
    Etcd,
    /// ZooKeeper with the lock of its documentation.
    ZooKeeper,
    /// `tenure serve` with the requests of etcd's client.
    TenureByRecipe,
    /// `tenure serve` with `tenure-client`, waiting until each release is committed.
    TenureReleased,
    /// `tenure serve` with `tenure-client`, dropping the guard.
    TenureDropped,
}

impl Side {
    /// All sides, in the order of the table.
    pub const ALL: [Side; 5] = [
        Side::Etcd,
        Side::ZooKeeper,
        Side::TenureByRecipe,
        Side::TenureReleased,
        Side::TenureDropped,
    ];

    /// Returns the service of this side.
    pub const fn kind(self) -> Kind {
        match self {
            Side::Etcd => Kind::Etcd,
            Side::ZooKeeper => Kind::ZooKeeper,
            Side::TenureByRecipe | Side::TenureReleased | Side::TenureDropped => Kind::Tenure,
        }
    }

    /// Returns the heading of the column.
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

/// A client with a session that acquires and releases one lock repeatedly.
pub enum Claimant {
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
        match side {
            Side::Etcd | Side::TenureByRecipe => {
                Claimant::Recipe(Recipe::start(members, first, name).await)
            }
            Side::ZooKeeper => Claimant::Queue(Queue::start(members, name).await),
            Side::TenureReleased | Side::TenureDropped => {
                let endpoints = members.iter().map(|it| format!("http://{it}"));
                let client = Client::connect(endpoints).await.expect("a member accepts");
                let session = client.session(Duration::from_secs(10)).await.expect("a session");
                let drops = side == Side::TenureDropped;
                Claimant::Own { session, name: name.to_owned(), drops }
            }
        }
    }

    /// Acquires and releases the lock once.
    pub async fn cycle(&mut self) -> Result<(), String> {
        match self {
            Claimant::Recipe(recipe) => recipe.cycle().await.map_err(|it| it.to_string()),
            Claimant::Queue(queue) => queue.cycle().await.map_err(|it| it.to_string()),
            Claimant::Own { session, name, drops } => {
                let guard = session.lock(name).await.map_err(|it| it.to_string())?;
                if *drops {
                    return Ok(());
                }
                guard.release().await.map_err(|it| it.to_string())
            }
        }
    }

    /// Repeats a cycle until it succeeds: once with each member, then after a pause.
    pub async fn cycle_until_success(&mut self) {
        let mut failures = 0;
        while self.cycle().await.is_err() {
            failures += 1;
            if let Claimant::Recipe(recipe) = self {
                recipe.use_next_member();
            }
            if failures % MEMBERS == 0 {
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}
