//! The lock of ZooKeeper as its documentation describes it (*ZooKeeper Recipes and Solutions*,
//! "Locks"). To acquire the lock, a client creates an ephemeral node in a queue, and waits for the
//! deletion of the node before its own. To release the lock, it deletes its node.

use std::net::SocketAddr;
use std::time::Duration;

use zookeeper_client::{Acls, Client, CreateMode, Error};

/// Session timeout, equal to the TTL of the other sides.
const SESSION: Duration = Duration::from_secs(10);

/// A client with one session. The library reconnects to other members.
pub struct Queue {
    client: Client,
    folder: String,
}

impl Queue {
    pub async fn start(members: &[SocketAddr], name: &str) -> Queue {
        let members: Vec<String> = members.iter().map(SocketAddr::to_string).collect();
        let client = Client::connector()
            .session_timeout(SESSION)
            .connect(&members.join(","))
            .await
            .expect("a member accepts");
        let folder = format!("/{name}");
        let lasting = CreateMode::Persistent.with_acls(Acls::anyone_all());
        match client.mkdir(&folder, &lasting).await {
            Ok(()) | Err(Error::NodeExists) => {}
            Err(error) => panic!("{folder} cannot be made: {error}"),
        }
        Queue { client, folder }
    }

    pub async fn cycle(&mut self) -> Result<(), Error> {
        let in_line = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        let (_, place) = self.client.create(&format!("{}/at-", self.folder), &[], &in_line).await?;
        let own = format!("at-{place}");
        while let Some(ahead) = self.ahead_of(&own).await? {
            let ahead = format!("{}/{ahead}", self.folder);
            let (stat, watcher) = self.client.check_and_watch_stat(&ahead).await?;
            if stat.is_some() {
                watcher.changed().await;
            }
        }
        self.client.delete(&format!("{}/{own}", self.folder), None).await
    }

    async fn ahead_of(&self, own: &str) -> Result<Option<String>, Error> {
        let places = self.client.list_children(&self.folder).await?;
        Ok(places.into_iter().filter(|it| it.as_str() < own).max())
    }
}

/// Asks a ZooKeeper member for its status by the command `srvr`. Returns true if the member leads.
/// Returns `None` if the member does not respond.
pub async fn leads(member: SocketAddr) -> Option<bool> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let mut stream = tokio::net::TcpStream::connect(member).await.ok()?;
    stream.write_all(b"srvr").await.ok()?;
    let mut said = String::new();
    stream.read_to_string(&mut said).await.ok()?;
    let mode = said.lines().find_map(|line| line.strip_prefix("Mode: "))?;
    Some(mode == "leader")
}
