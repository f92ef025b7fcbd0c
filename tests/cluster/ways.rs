//! The way from node to node: to addresses that are not where a node listens, and to machines that
//! are farther away than the configuration counts with.

use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{sleep, spawn};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use tenure_ports::reserved;

use crate::nodes::Nodes;
use crate::waiting::{eventually, place};

/// True if a socket of this machine has sent a SYN to the address and waits for the answer.
fn is_being_dialed(at: SocketAddr) -> bool {
    const SYN_SENT: &str = "02";
    let to = format!("0100007F:{:04X}", at.port());
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    sockets.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(2);
        fields.next() == Some(&to) && fields.next() == Some(SYN_SENT)
    })
}

/// Passes on whoever connects, both ways, as a container's host does.
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
fn a_node_listens_elsewhere_than_where_the_others_reach_it() {
    let _place = place();
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let inside = reserved();
    let nodes = Nodes::at(vec![outside.local_addr().unwrap().to_string(), reserved().to_string()]);
    (1..=2).for_each(|me| nodes.configure(me, ""));
    nodes.change(1, "[service]", &format!("listen = \"{inside}\"\n[service]"));
    spawn(move || forward(outside, inside));
    let [mut first, mut second] = [1, 2].map(|me| nodes.start(me, &[]));
    assert_eq!(first.listens(), inside);
    // The second dials the first, at the address outside.
    first.follows(2);
    second.follows(2);
}

/// A machine whose system answers a second late: it has no room for a connection until then.
#[test]
#[cfg(target_os = "linux")]
fn a_machine_that_is_too_far_away_is_said_once() {
    let _place = place();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    socket.listen(0).unwrap();
    let far = TcpListener::from(socket);
    let at = far.local_addr().unwrap();
    let full = || TcpStream::connect_timeout(&at, Duration::from_millis(100));
    let held: Vec<TcpStream> = std::iter::from_fn(|| full().ok()).collect();
    assert!(held.len() < 10, "it has room for {}", held.len());
    let nodes = Nodes::at(vec![at.to_string(), reserved().to_string()]);
    nodes.configure(2, "[channel]\nconnect_ms = 20000\n");
    let node = nodes.start(2, &[]);
    node.listens();
    // The first attempt of the system is lost by then, the second comes after a second.
    eventually("an attempt to connect", || is_being_dialed(at).then_some(()));
    sleep(Duration::from_millis(300));
    spawn(move || far.incoming().flatten().for_each(drop));
    let says = "message_ms of the configuration counts with 80 at most";
    eventually("a word about the distance", || node.log().contains(says).then_some(()));
    let dials = |log: &str| log.lines().filter(|line| line.contains("cannot connect")).count();
    eventually("another attempt", || (dials(&node.log()) > 0).then_some(()));
    assert_eq!(node.log().matches(says).count(), 1, "{}", node.log());
}
