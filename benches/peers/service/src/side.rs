//! The sides that are compared: a service, and a client of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tenure_client::{Client, Session};
use tokio::time::sleep;

use crate::cluster::MEMBERS;
use crate::recipe::Recipe;
use crate::zookeeper::Queue;

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// etcd.
    Etcd,
    /// ZooKeeper.
    ZooKeeper,
    /// `tenure serve`.
    Tenure,
}

/// What the services are.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The program `etcd`.
    pub etcd: PathBuf,
    /// The library of ZooKeeper, as Debian installs it; without it, that is left out.
    pub zookeeper: Option<PathBuf>,
    /// The program `tenure`.
    pub tenure: PathBuf,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// etcd with what its own client does.
    Etcd,
    /// ZooKeeper with what its documentation says of locks.
    ZooKeeper,
    /// `tenure serve` with what the client of etcd does.
    TenureByRecipe,
    /// `tenure serve` with `tenure-client`, which waits until a release is confirmed.
    TenureReleased,
    /// The same, which drops the guard and goes on.
    TenureDropped,
}

impl Side {
    /// All of them, in the order of the table.
    pub const ALL: [Side; 5] = [
        Side::Etcd,
        Side::ZooKeeper,
        Side::TenureByRecipe,
        Side::TenureReleased,
        Side::TenureDropped,
    ];

    /// Which service that is.
    pub const fn kind(self) -> Kind {
        match self {
            Side::Etcd => Kind::Etcd,
            Side::ZooKeeper => Kind::ZooKeeper,
            Side::TenureByRecipe | Side::TenureReleased | Side::TenureDropped => Kind::Tenure,
        }
    }

    /// What it is called in the table.
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

/// A client with a session that enters one lock and leaves it, over and over.
pub enum Claimant {
    /// What the client of etcd does.
    Recipe(Recipe),
    /// What the documentation of ZooKeeper describes.
    Queue(Queue),
    /// `tenure-client`.
    Own { session: Session, name: String, drops: bool },
}

impl Claimant {
    /// Begins a session at a member, and at the ones after it where that is gone.
    pub async fn begin(side: Side, members: &[SocketAddr], first: usize, name: &str) -> Claimant {
        match side {
            Side::Etcd | Side::TenureByRecipe => {
                Claimant::Recipe(Recipe::begin(members, first, name).await)
            }
            Side::ZooKeeper => Claimant::Queue(Queue::begin(members, name).await),
            Side::TenureReleased | Side::TenureDropped => {
                let endpoints = members.iter().map(|it| format!("http://{it}"));
                let client = Client::connect(endpoints).await.expect("a member accepts");
                let session = client.session(Duration::from_secs(10)).await.expect("a session");
                let drops = side == Side::TenureDropped;
                Claimant::Own { session, name: name.to_owned(), drops }
            }
        }
    }

    /// Enters the lock and leaves it once.
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

    /// The same, however often it takes: at once with each of the members, and then after a pause.
    pub async fn cycle_at_last(&mut self) {
        let mut failures = 0;
        while self.cycle().await.is_err() {
            failures += 1;
            if let Claimant::Recipe(recipe) = self {
                recipe.move_on();
            }
            if failures % MEMBERS == 0 {
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}
