//! TCP proxies for the links between the nodes of a run with partitions.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tenure_core::ProcessId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

const BUFFER_SIZE: usize = 16 << 10;

/// Current partitions. Each element has the processes on one side of a partition.
type Partitions = Vec<Vec<ProcessId>>;

/// TCP proxies, one from each node to each other node. While a partition separates two nodes, the
/// proxies between them forward nothing and keep connections open, as if a cable were unplugged.
///
/// If data is in transit when a partition begins, the proxies keep the data and forward the data
/// after the partition. TCP achieves the same by retransmission. Dropping this value closes every
/// connection.
#[derive(Debug)]
pub(super) struct LinkProxies {
    partitions: watch::Sender<Partitions>,
    /// Address at which a node reaches a process: `addresses[node][process]`.
    addresses: Vec<Vec<SocketAddr>>,
    _passing: JoinSet<()>,
}

impl LinkProxies {
    /// Starts one proxy for each ordered pair of nodes. `nodes` contains the address of each node,
    /// in the order of the processes.
    pub(super) async fn start(nodes: &[SocketAddr]) -> io::Result<LinkProxies> {
        let partitions = watch::Sender::new(Partitions::new());
        let (mut addresses, mut passing) = (Vec::new(), JoinSet::new());
        for from in 0..nodes.len() {
            // For the node itself, the entry is its real address.
            let mut own = nodes.to_vec();
            for to in (0..nodes.len()).filter(|to| *to != from) {
                let end = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let between = [from, to].map(ProcessId::from_index);
                own[to] = end.local_addr()?;
                passing.spawn(serve(
                    end,
                    nodes[to],
                    Path { between, partitions: partitions.subscribe() },
                ));
            }
            addresses.push(own);
        }
        Ok(LinkProxies { partitions, addresses, _passing: passing })
    }

    /// Returns the addresses at which `process` reaches each process, in the order of the
    /// processes.
    pub(super) fn addresses_seen_by(&self, process: ProcessId) -> &[SocketAddr] {
        &self.addresses[process.index()]
    }

    /// Replaces the current partitions. Data then passes only between nodes that are on the same
    /// side of each partition.
    pub(super) fn set_partitions(&self, partitions: Partitions) {
        self.partitions.send_replace(partitions);
    }
}

#[derive(Clone, Debug)]
struct Path {
    between: [ProcessId; 2],
    partitions: watch::Receiver<Partitions>,
}

impl Path {
    /// Waits until no partition separates the two nodes of this path. Returns false if the
    /// [`LinkProxies`] were dropped.
    async fn wait_open(&mut self) -> bool {
        let between = self.between;
        let [one, other] = between;
        let together = |side: &Vec<ProcessId>| side.contains(&one) == side.contains(&other);
        self.partitions.wait_for(|partitions| partitions.iter().all(together)).await.is_ok()
    }
}

async fn serve(end: TcpListener, to: SocketAddr, mut path: Path) {
    let mut passing = JoinSet::new();
    while path.wait_open().await {
        let Ok((near, _)) = end.accept().await else { continue };
        passing.spawn(join(near, to, path.clone()));
        while passing.try_join_next().is_some() {}
    }
}

/// Forwards data in both directions between two nodes. The first node has opened the connection
/// `near`. The second node has the address `to`. Returns when both directions have ended, or if the
/// second node cannot be reached.
async fn join(near: TcpStream, to: SocketAddr, mut path: Path) {
    if !path.wait_open().await {
        return;
    }
    // If the second node is down, returns, which closes the connection to the first node.
    let Ok(far) = TcpStream::connect(to).await else { return };
    if near.set_nodelay(true).and(far.set_nodelay(true)).is_err() {
        return;
    }
    let (from_near, to_near) = near.into_split();
    let (from_far, to_far) = far.into_split();
    tokio::join!(pass(from_near, to_far, path.clone()), pass(from_far, to_near, path));
}

/// Forwards data in one direction until the sender ends its stream or a connection fails. If a read
/// ends the stream, also ends the stream to the receiver. Waits while a partition separates the
/// nodes.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut path: Path) {
    let mut bytes = vec![0; BUFFER_SIZE];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if !path.wait_open().await || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
    if path.wait_open().await {
        let _ = to.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const TIMEOUT: Duration = Duration::from_secs(10);
    const QUIET_TIME: Duration = Duration::from_millis(100);

    /// Opens a connection from the first node through a proxy to the second node. Returns the end
    /// at the first node and the end at the second node.
    async fn connected(proxies: &LinkProxies, second: &TcpListener) -> (TcpStream, TcpStream) {
        let near = TcpStream::connect(proxies.addresses_seen_by(ProcessId(0))[1]).await.unwrap();
        let (far, _) = timeout(TIMEOUT, second.accept()).await.unwrap().unwrap();
        (near, far)
    }

    #[tokio::test]
    async fn data_and_close_arrive_after_the_partition() {
        let nodes = [0; 3].map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = nodes.each_ref().map(|node| node.local_addr().unwrap());
        let proxies = LinkProxies::start(&addresses).await.unwrap();
        let [_, second, _] = nodes;
        second.set_nonblocking(true).unwrap();
        let second = TcpListener::from_std(second).unwrap();
        let (mut near, mut far) = connected(&proxies, &second).await;
        let mut received = [0; 5];
        near.write_all(b"hello").await.unwrap();
        timeout(TIMEOUT, far.read_exact(&mut received)).await.unwrap().unwrap();
        // The first partition separates only the third node. The second call separates all three
        // nodes.
        proxies.set_partitions(vec![vec![ProcessId(2)]]);
        far.write_all(b"there").await.unwrap();
        timeout(TIMEOUT, near.read_exact(&mut received)).await.unwrap().unwrap();
        proxies.set_partitions(vec![vec![ProcessId(2)], vec![ProcessId(0), ProcessId(2)]]);
        near.write_all(b"again").await.unwrap();
        drop(near);
        assert!(timeout(QUIET_TIME, far.read_exact(&mut received)).await.is_err(), "partitioned");
        proxies.set_partitions(Vec::new());
        timeout(TIMEOUT, far.read_exact(&mut received)).await.unwrap().unwrap();
        assert_eq!(&received, b"again");
        assert_eq!(timeout(TIMEOUT, far.read(&mut received)).await.unwrap().unwrap(), 0, "closed");
    }

    #[tokio::test]
    async fn connection_to_stopped_node_closes_at_once() {
        let second = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = second.local_addr().unwrap();
        let proxies = LinkProxies::start(&[at, at]).await.unwrap();
        let (mut near, far) = connected(&proxies, &second).await;
        drop((far, second));
        let mut received = [0];
        assert_eq!(timeout(TIMEOUT, near.read(&mut received)).await.unwrap().unwrap(), 0);
        let mut next =
            TcpStream::connect(proxies.addresses_seen_by(ProcessId(0))[1]).await.unwrap();
        let ended = timeout(TIMEOUT, next.read(&mut received)).await.unwrap();
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
}
