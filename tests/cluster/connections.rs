//! Tests of connections between nodes: through forwarded addresses, and to hosts that are farther
//! away than the configuration expects.

use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{sleep, spawn};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use tenure_runtime::ports::reserve_address;

use crate::nodes::Nodes;
use crate::waiting::{cluster_slot, eventually};

/// Returns true if a socket of this machine is connecting to the address: it has sent a SYN and
/// waits for the response.
fn is_being_dialed(at: SocketAddr) -> bool {
    const SYN_SENT: &str = "02";
    let to = format!("0100007F:{:04X}", at.port());
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    sockets.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(2);
        fields.next() == Some(&to) && fields.next() == Some(SYN_SENT)
    })
}

/// Forwards connections of a listener to an address in both directions, as a container host does.
fn forward(from: TcpListener, to: SocketAddr) {
    let pass = |mut from: TcpStream, mut to: TcpStream| {
        spawn(move || {
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    };
    for near in from.incoming().flatten() {
        let Ok(far) = TcpStream::connect(to) else { continue };
        pass(near.try_clone().unwrap(), far.try_clone().unwrap());
        pass(far, near);
    }
}

#[test]
fn node_may_listen_at_another_address() {
    let _slot = cluster_slot();
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let inside = reserve_address();
    let nodes =
        Nodes::at(vec![outside.local_addr().unwrap().to_string(), reserve_address().to_string()]);
    (1..=2).for_each(|me| nodes.configure(me, ""));
    nodes.change(1, "[service]", &format!("listen = \"{inside}\"\n[service]"));
    spawn(move || forward(outside, inside));
    let [mut first, mut second] = [1, 2].map(|me| nodes.start(me, &[]));
    assert_eq!(first.listens(), inside);
    // The second node connects to the first at the external address.
    first.follows(2);
    second.follows(2);
}

/// A peer accepts connections only after a second, because its listener is full. The node logs this
/// once.
#[test]
#[cfg(target_os = "linux")]
fn distant_peer_is_logged_once() {
    let _slot = cluster_slot();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    socket.listen(0).unwrap();
    let far = TcpListener::from(socket);
    let at = far.local_addr().unwrap();
    // A busy machine may connect late although there is room.
    let connect = || TcpStream::connect_timeout(&at, Duration::from_millis(300)).ok();
    let held = std::iter::from_fn(|| (0..3).find_map(|_| connect()));
    let held: Vec<TcpStream> = held.collect();
    assert!(held.len() < 10, "it has room for {}", held.len());
    let nodes = Nodes::at(vec![at.to_string(), reserve_address().to_string()]);
    nodes.configure(2, "[channel]\nconnect_ms = 20000\n");
    let node = nodes.start(2, &[]);
    node.listens();
    // The full listener drops the first SYN. The system sends another one after a second.
    eventually("an attempt to connect", || is_being_dialed(at).then_some(()));
    sleep(Duration::from_millis(300));
    spawn(move || far.incoming().flatten().for_each(drop));
    let message = "limit_ms=80";
    eventually("a log line about the distance", || node.log().contains(message).then_some(()));
    let dials = |log: &str| log.lines().filter(|line| line.contains("cannot connect")).count();
    eventually("another attempt", || (dials(&node.log()) > 0).then_some(()));
    assert_eq!(node.log().matches(message).count(), 1, "{}", node.log());
}
