//! Tests of nodes under load: endless requests, and many connections from strangers.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::nodes::Nodes;
use crate::waiting::{all_slots, cluster_slot, eventually};

/// Returns the start of a command line that limits the number of open files to `most`.
fn with_descriptors(most: u32) -> Vec<String> {
    let limit = format!("ulimit -n {most}; exec \"$@\"");
    ["sh", "-c", &limit, "sh"].map(str::to_owned).into()
}

#[test]
fn endless_page_requests_do_not_stop_a_node() {
    let _slots = all_slots();
    let nodes = Nodes::on_loopback(3);
    (1..=3).for_each(|me| nodes.configure(me, "[page]\nlisten = \"127.0.0.1:0\"\n"));
    let highest = nodes.start(3, &[]);
    let mut others = [1, 2].map(|me| nodes.start(me, &with_descriptors(256)));
    others.iter_mut().for_each(|node| {
        node.follows(3);
    });
    let url = others[1].page();
    let page: SocketAddr = url["http://".len()..].trim_end_matches('/').parse().unwrap();
    let held: Vec<TcpStream> = (0..400)
        .filter_map(|_| {
            let stream = TcpStream::connect(page).ok()?;
            // A write error is ignored: a rejected client receives the response later.
            let _ = (&stream).write_all(b"GET / HT");
            Some(stream)
        })
        .collect();
    assert!(held.len() > 256, "the system takes connections for the page, {} of them", held.len());
    // Stops the leader, so that another node must be elected and save its term. A kill would close
    // the connections of the leader and free their descriptors.
    highest.signal(Signal::STOP);
    others[1].follows(2);
    let mut stream = TcpStream::connect(page).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {page}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(held);
}

#[test]
fn node_without_free_descriptors_saves_its_state() {
    let _slots = all_slots();
    let nodes = Nodes::on_loopback(3);
    (1..=3).for_each(|me| nodes.configure(me, ""));
    let highest = nodes.start(3, &[]);
    let mut others = [1, 2].map(|me| nodes.start(me, &with_descriptors(40)));
    others.iter_mut().for_each(|node| {
        node.follows(3);
    });
    let address = nodes.address(2);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Keeps about 80 silent connections open, more than the node has descriptors. Replaces the
        // oldest connections again and again.
        scope.spawn(|| {
            let mut held = VecDeque::new();
            while !is_over.load(Ordering::Acquire) {
                held.extend(TcpStream::connect(&address).ok());
                if held.len() > 80 {
                    held.pop_front();
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        eventually("a node that has no descriptor left", || {
            others[1].log().contains("cannot accept a connection").then_some(())
        });
        highest.signal(Signal::STOP);
        let lasted = std::panic::catch_unwind(AssertUnwindSafe(|| others[1].follows(2)));
        is_over.store(true, Ordering::Release);
        lasted.map_err(|_| others[1].log()).expect("it leads without free descriptors");
    });
}

#[test]
fn connection_floods_add_few_log_lines() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(1);
    nodes.configure(1, "");
    let node = nodes.start(1, &[]);
    let address = node.listens();
    for _ in 0..200 {
        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let ended = client.read_to_end(&mut Vec::new());
        let reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
        assert!(ended.is_ok() || ended.as_ref().is_err_and(reset), "{ended:?}");
    }
    let log = node.log();
    let refused = log.lines().filter(|line| line.contains("connection refused")).count();
    assert!((1..=10).contains(&refused), "{refused} lines for 200 strangers: {log}");
}

/// Runs two of three nodes, while the third is down. Asserts that the memory of the two nodes
/// hardly grows, and that their logs get few new lines. Each node sends a thousand heartbeats per
/// second, which would fill most queues within a minute.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "a minute and a half"]
fn failed_peer_uses_no_memory_and_few_log_lines() {
    let _slots = all_slots();
    let nodes = Nodes::on_loopback(3);
    // The third node is never started.
    (1..=2).for_each(|me| nodes.configure(me, "[detector]\nperiod_ms = 1\n"));
    let mut running = [1, 2].map(|me| nodes.start(me, &[]));
    running.iter_mut().for_each(|node| {
        node.follows(2);
    });
    std::thread::sleep(Duration::from_secs(10));
    let before = running.each_ref().map(|node| (node.memory(), node.log().lines().count()));
    std::thread::sleep(Duration::from_secs(80));
    for (node, (memory, lines)) in running.iter().zip(before) {
        let (grown, said) =
            (node.memory().saturating_sub(memory), node.log().lines().count() - lines);
        eprintln!("{grown} KiB and {said} lines in 80 s with a dead peer");
        assert!(grown < 2048, "{grown} KiB more after 80 s with a dead peer");
        assert!(said < 30, "{said} lines in 80 s with a dead peer: {}", node.log());
    }
}
