//! The wires between the nodes of a run whose network is to be cut.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tenure_core::ProcessId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How much is on its way in a wire.
const ROOM: usize = 16 << 10;

/// Who is on one side of each cut that is in force.
type Cuts = Vec<Vec<ProcessId>>;

/// A wire from each node to each other, through this process. Where a cut is, nothing passes and
/// nobody is told, not even that a connection has ended: as if a cable had been pulled out.
///
/// What is under way waits, as TCP repeats it when a network is whole again. Dropping this ends
/// every connection.
#[derive(Debug)]
pub(super) struct Wires {
    cuts: watch::Sender<Cuts>,
    /// Where a node, by its place, reaches each of the others.
    ends: Vec<Vec<SocketAddr>>,
    _passing: JoinSet<()>,
}

impl Wires {
    /// Lays the wires to where the nodes listen.
    pub(super) async fn lay(nodes: &[SocketAddr]) -> io::Result<Wires> {
        let cuts = watch::Sender::new(Cuts::new());
        let (mut ends, mut passing) = (Vec::new(), JoinSet::new());
        for from in 0..nodes.len() {
            // Its own address is where it listens.
            let mut own = nodes.to_vec();
            for to in (0..nodes.len()).filter(|to| *to != from) {
                let end = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let between = [from, to].map(ProcessId::at);
                own[to] = end.local_addr()?;
                passing.spawn(serve(end, nodes[to], Way { between, cuts: cuts.subscribe() }));
            }
            ends.push(own);
        }
        Ok(Wires { cuts, ends, _passing: passing })
    }

    /// Where a node reaches each process of the group.
    pub(super) fn of(&self, process: ProcessId) -> &[SocketAddr] {
        &self.ends[process.index()]
    }

    /// From now on nothing passes but within the sides of each of these cuts.
    pub(super) fn cut(&self, cuts: Cuts) {
        self.cuts.send_replace(cuts);
    }
}

/// The way between two nodes.
#[derive(Clone, Debug)]
struct Way {
    between: [ProcessId; 2],
    cuts: watch::Receiver<Cuts>,
}

impl Way {
    /// Waits until no cut is between the two; `false` when there will be none any more to wait for.
    async fn is_open(&mut self) -> bool {
        let between = self.between;
        let [one, other] = between;
        let together = |side: &Vec<ProcessId>| side.contains(&one) == side.contains(&other);
        self.cuts.wait_for(|cuts| cuts.iter().all(together)).await.is_ok()
    }
}

/// Passes on whoever connects.
async fn serve(end: TcpListener, to: SocketAddr, mut way: Way) {
    let mut passing = JoinSet::new();
    while way.is_open().await {
        let Ok((near, _)) = end.accept().await else { continue };
        passing.spawn(join(near, to, way.clone()));
        while passing.try_join_next().is_some() {}
    }
}

/// Passes on what two nodes say to each other, both ways, until both have ended.
async fn join(near: TcpStream, to: SocketAddr, mut way: Way) {
    if !way.is_open().await {
        return;
    }
    // Whoever is not there refuses, and the end of the connection says so.
    let Ok(far) = TcpStream::connect(to).await else { return };
    if near.set_nodelay(true).and(far.set_nodelay(true)).is_err() {
        return;
    }
    let (from_near, to_near) = near.into_split();
    let (from_far, to_far) = far.into_split();
    tokio::join!(pass(from_near, to_far, way.clone()), pass(from_far, to_near, way));
}

/// Passes on what one says, and in the end that it has ended.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: Way) {
    let mut bytes = vec![0; ROOM];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if !way.is_open().await || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
    if way.is_open().await {
        let _ = to.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_secs(10);
    const NEVER: Duration = Duration::from_millis(100);

    /// A connection from the first node to the second, through its wire.
    async fn connected(wires: &Wires, second: &TcpListener) -> (TcpStream, TcpStream) {
        let near = TcpStream::connect(wires.of(ProcessId(0))[1]).await.unwrap();
        let (far, _) = timeout(SOON, second.accept()).await.unwrap().unwrap();
        (near, far)
    }

    #[tokio::test]
    async fn what_was_said_during_a_cut_arrives_after_it_and_so_does_the_end() {
        let nodes = [0; 3].map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = nodes.each_ref().map(|node| node.local_addr().unwrap());
        let wires = Wires::lay(&addresses).await.unwrap();
        let [_, second, _] = nodes;
        second.set_nonblocking(true).unwrap();
        let second = TcpListener::from_std(second).unwrap();
        let (mut near, mut far) = connected(&wires, &second).await;
        let mut heard = [0; 5];
        near.write_all(b"hello").await.unwrap();
        timeout(SOON, far.read_exact(&mut heard)).await.unwrap().unwrap();
        // The third is apart, and the first and the second are not; then they are.
        wires.cut(vec![vec![ProcessId(2)]]);
        far.write_all(b"there").await.unwrap();
        timeout(SOON, near.read_exact(&mut heard)).await.unwrap().unwrap();
        wires.cut(vec![vec![ProcessId(2)], vec![ProcessId(0), ProcessId(2)]]);
        near.write_all(b"again").await.unwrap();
        drop(near);
        assert!(timeout(NEVER, far.read_exact(&mut heard)).await.is_err(), "it is cut");
        wires.cut(Vec::new());
        timeout(SOON, far.read_exact(&mut heard)).await.unwrap().unwrap();
        assert_eq!(&heard, b"again");
        assert_eq!(timeout(SOON, far.read(&mut heard)).await.unwrap().unwrap(), 0, "it ended");
    }

    #[tokio::test]
    async fn of_a_node_that_has_gone_a_connection_ends_at_once() {
        let second = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = second.local_addr().unwrap();
        let wires = Wires::lay(&[at, at]).await.unwrap();
        let (mut near, far) = connected(&wires, &second).await;
        drop((far, second));
        let mut heard = [0];
        assert_eq!(timeout(SOON, near.read(&mut heard)).await.unwrap().unwrap(), 0);
        let mut next = TcpStream::connect(wires.of(ProcessId(0))[1]).await.unwrap();
        let ended = timeout(SOON, next.read(&mut heard)).await.unwrap();
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
}
