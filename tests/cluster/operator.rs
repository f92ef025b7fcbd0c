//! Tests of the operation of nodes: health, the current leader, and shutdown.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use tenure_runtime::ports::reserve_address;

use crate::killed::Killed;
use crate::nodes::{Node, Nodes};
use crate::running::tenure;
use crate::waiting::{TIME_LIMIT, cluster_slot, eventually};

/// Configuration sections with timeouts that are longer than a test.
const NO_TIME_OUT: &str = "[detector]\ntimeout_ms = 600000\nlongest_ms = 600000\n\
                           message_ms = 20000\n";

fn get(to: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(TIME_LIMIT)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {to}\r\n\r\n").unwrap();
    let mut report = String::new();
    stream.read_to_string(&mut report).unwrap();
    let (head, body) = report.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn page(node: &Node) -> SocketAddr {
    let url = node.page();
    url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap()
}

/// Starts nodes 1 to `size`, and waits until they agree on a leader. Returns the nodes and the
/// leader.
fn start_and_agree(nodes: &Nodes, size: u32, sections: &str) -> (Vec<Node>, u32) {
    let mut running: Vec<Node> = Vec::new();
    for me in 1..=size {
        nodes.configure(me, sections);
        running.push(nodes.start(me, &[]));
    }
    let leader = agreed(&mut running);
    (running, leader)
}

/// Waits until all nodes report the same leader, and returns it.
#[track_caller]
fn agreed(running: &mut [Node]) -> u32 {
    eventually("a leader of them all", || {
        let first = running[0].leader()?;
        running.iter().all(|node| node.leader() == Some(first)).then_some(first)
    })
}

#[test]
fn node_reports_health_and_status_names_the_leader() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(3).electing("raft");
    let pages = [(); 3].map(|()| reserve_address().to_string());
    let mut running = Vec::new();
    for (me, own) in (1..).zip(&pages) {
        nodes.configure(me, &format!("[page]\nlisten = {own:?}\naddresses = {pages:?}\n"));
        running.push(nodes.start(me, &[]));
    }
    let of = |place: usize, path| get(page(&running[place]), path);
    // A busy machine may cause an election at any time.
    let settled = || {
        let status: Value = serde_json::from_str(&of(0, "/status").1).unwrap();
        let links = status["links"].as_array().unwrap();
        let leader = status["leader"]["process"].as_u64()?;
        let metrics = of(2, "/metrics").1;
        let has = |line: &str| metrics.lines().any(|it| it == line);
        let is_led = has(&format!("tenure_leader {leader}")) && has("tenure_link_up{peer=\"1\"} 1");
        let is_connected = links.iter().all(|link| link["connected"] == true);
        let is_settled = is_connected && is_led && of(1, "/health").0 == 200;
        is_settled.then_some((status, metrics))
    };
    let (status, metrics) = eventually("all links and a leader", settled);
    assert_eq!((&status["process"], &status["size"]), (&1.into(), &3.into()));
    assert!(status["leader"]["since"].as_str().unwrap().ends_with('Z'), "{status}");
    assert!(status["saves"]["count"].as_u64().unwrap() > 0, "{status}");
    let has = |line: &str| assert!(metrics.lines().any(|it| it == line), "{line}: {metrics}");
    has("tenure_rejected_total{reason=\"wrong_cluster\"} 0");
    has("# TYPE tenure_saves_total counter");

    let config = nodes.directory().join("p1.toml").display().to_string();
    let leader = eventually("a status of all nodes", || {
        let ended = tenure(&format!("status {config}"));
        let message = &ended.out;
        let connected = message.lines().filter(|line| line.trim_end().ends_with("2/2")).count();
        let leads = |me: &u32| message.contains(&format!("P{me} is the leader in term "));
        (1..=3).find(leads).filter(|_| connected == 3 && ended.status.success())
    });

    // Without the other nodes there is no leader, and the command lists the unreachable nodes.
    let lonely = leader as usize - 1;
    for (place, node) in running.iter().enumerate() {
        if place != lonely {
            node.signal(Signal::KILL);
        }
    }
    eventually("an ailing node", || {
        (get(page(&running[lonely]), "/health").0 == 503).then_some(())
    });
    let url = format!("http://{}/", pages[(lonely + 1) % 3]);
    eventually("a status of one node", || {
        let some = tenure(&format!("status {config} {url} --format json")).expect(4).json();
        let answers = some["nodes"].as_array().unwrap();
        assert_eq!(answers.len(), 3, "an address that is known is asked once: {some}");
        assert!(some["leader"].is_null(), "{some}");
        // On a busy machine the node that runs may answer too late.
        let errors = answers.iter().filter(|answer| answer.get("error").is_some()).count();
        assert!(errors >= 2, "{some}");
        (errors == 2).then_some(())
    });
}

#[test]
fn status_reads_token_of_pages_beyond_loopback() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(2).electing("bully");
    let pages = [(); 2].map(|()| reserve_address());
    let addresses = pages.map(|it| it.to_string());
    let token_file = |me: u32| nodes.directory().join(format!("p{me}.state/page.token"));
    for (me, page) in (1..).zip(pages) {
        let listen = SocketAddr::from(([0, 0, 0, 0], page.port()));
        let section = format!("[page]\nlisten = \"{listen}\"\naddresses = {addresses:?}\n");
        nodes.configure(me, &section);
    }
    let start = |me: u32| {
        let node = nodes.start(me, &[]);
        assert!(node.page().contains("/?token="), "{}", node.page());
        node
    };
    let config = nodes.directory().join("p1.toml").display().to_string();
    let errors = || {
        let status = tenure(&format!("status {config} --format json")).json();
        let nodes = status["nodes"].as_array().unwrap().clone();
        nodes.iter().map(|node| node["error"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let first = start(1);
    let second = start(2);
    // Each node has created a token of its own.
    eventually("the status of the own node only", || match &errors()[..] {
        [None, Some(error)] if error.contains("one page.token") => Some(()),
        _ => None,
    });
    drop(second);
    fs::copy(token_file(1), token_file(2)).unwrap();
    let second = start(2);
    eventually("the status of both nodes", || (errors() == [None, None]).then_some(()));
    drop((first, second));
    fs::write(token_file(1), "no token").unwrap();
    let failed = tenure(&format!("status {config}"));
    failed.expect(4);
    assert!(failed.err.contains("page.token contains no token: remove it"), "{}", failed.err);
}

#[test]
fn terminated_leader_hands_over_before_a_timeout() {
    let _slot = cluster_slot();
    for election in ["raft", "bully"] {
        let nodes = Nodes::on_loopback(5).electing(election);
        let (mut running, leader) = start_and_agree(&nodes, 5, NO_TIME_OUT);
        let mut left = running.remove(leader as usize - 1);
        left.signal(Signal::TERM);
        assert_eq!(left.wait(), 0, "{}", left.log());
        // No timeout has expired, as each is longer than a test.
        let next = agreed(&mut running);
        assert_ne!(next, leader, "{election}");
        eventually("the end of their acquaintance", || {
            let gone =
                |it: &Node| it.reported("peer_down").iter().any(|it| it["process"] == leader);
            running.iter().all(gone).then_some(())
        });
        // The trace of the former leader shows that it resigned and learned of its successor before
        // it ended.
        let trace = fs::read_to_string(nodes.trace(leader)).unwrap();
        let place = |what: &str| trace.rfind(what).unwrap_or_else(|| panic!("{what}: {trace}"));
        let order = ["\"Resign\"", "\"Deposed\"", "\"Elected\"", "\"kind\":\"end\""].map(place);
        assert!(order.is_sorted(), "{order:?}: {trace}");
    }
}

#[test]
fn departed_node_is_suspected_at_once() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(3).electing("bully");
    let (running, _) = start_and_agree(&nodes, 3, NO_TIME_OUT);
    let there = |it: &Value| it["process"] == 1 || it["process"] == 2;
    eventually("both peers", || {
        (running[2].reported("peer_up").iter().filter(|it| there(it)).count() == 2).then_some(())
    });
    running[0].signal(Signal::KILL);
    eventually("a broken connection", || {
        running[2].log().contains("connection lost").then_some(())
    });
    running[1].signal(Signal::TERM);
    eventually("a goodbye", || running[2].reported("peer_down").pop());
    let left: Vec<Value> = running[2].reported("peer_down");
    assert_eq!(left, [serde_json::json!({ "process": 2 })], "the killed one is only missed later");
}

#[test]
fn idle_node_logs_nothing() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(3).electing("raft");
    let often = NO_TIME_OUT.replace("[detector]", "[detector]\nperiod_ms = 5");
    let sections = format!("[page]\nlisten = \"127.0.0.1:0\"\n{often}");
    let (running, _) = start_and_agree(&nodes, 3, &sections);
    let received = || {
        let status: Value = serde_json::from_str(&get(page(&running[0]), "/status").1).unwrap();
        status["traffic"]["messages_received"].as_u64().unwrap()
    };
    let logs = || running.iter().map(Node::log).collect::<Vec<_>>();
    let wait_for_heartbeats = |count: u64| {
        let started = received();
        eventually("heartbeats", || (received() > started + count).then_some(()));
    };
    // While the nodes start, a connection may fail.
    wait_for_heartbeats(100);
    let before = logs();
    wait_for_heartbeats(400);
    assert_eq!(logs(), before);
    for node in &running {
        let reports = node.reports();
        // A node reports at most five events: ready, page, two peers and a leader.
        assert!(reports.len() <= 5, "{reports:?}");
        let timed = |report: &Value| report["time"].as_str().is_some_and(|it| it.ends_with('Z'));
        assert!(reports.iter().all(timed), "{reports:?}");
    }
}

#[test]
fn used_port_of_the_page_ends_the_node_with_status_four() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(1);
    let used = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = used.local_addr().unwrap();
    nodes.configure(1, &format!("[page]\nlisten = \"{address}\"\n"));
    let mut node = nodes.start(1, &[]);
    assert_eq!(node.wait(), 4, "a restart may help: {}", node.log());
    assert!(node.log().contains(&format!("cannot listen on {address}")), "{}", node.log());
}

#[test]
fn service_manager_is_notified_of_node_states() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(1);
    nodes.configure(1, "");
    let path = nodes.directory().join("manager");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(TIME_LIMIT)).unwrap();
    let expect_notification = |what: &str| {
        let mut bytes = [0; 256];
        loop {
            let length = manager.recv(&mut bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
            let said = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if said.split('\n').any(|line| line == what) {
                return;
            }
        }
    };
    let log = || File::create(nodes.directory().join("log")).unwrap();
    let node = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["node", "--config"])
        .arg(nodes.directory().join("p1.toml"))
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "20000")
        .stdin(Stdio::null())
        .stdout(log())
        .stderr(log())
        .spawn();
    let node = Killed(node.unwrap());
    expect_notification("READY=1");
    expect_notification("STATUS=P1 is the leader in term 1");
    expect_notification("WATCHDOG=1");
    // SIGHUP reloads the keys of a node. It must not end a node without keys.
    kill_process(Pid::from_child(&node), Signal::HUP).unwrap();
    expect_notification("WATCHDOG=1");
    kill_process(Pid::from_child(&node), Signal::TERM).unwrap();
    expect_notification("STOPPING=1");
    assert_eq!(node.wait_with_output().status.code(), Some(0));
}

#[test]
fn fourth_node_is_never_granted_the_lock() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(4).electing("bully");
    // The resource never responds: an entering node stays inside.
    let resource = TcpListener::bind("127.0.0.1:0").unwrap();
    let work = format!("[work]\nresource = \"{}\"\nentries = 1\n", resource.local_addr().unwrap());
    let plain = |me: u32, sections: &str| {
        nodes.configure(me, sections);
        let text = fs::read_to_string(nodes.directory().join(format!("p{me}.toml"))).unwrap();
        let keyless = |line: &&str| !line.contains("_key");
        text.lines().filter(keyless).collect::<Vec<_>>().join("\n")
    };
    let write = |me: u32, text: String| {
        fs::write(nodes.directory().join(format!("p{me}.toml")), text).unwrap();
    };
    let fourth = format!(", {:?}", nodes.address(4));
    let start = |me: u32| {
        write(me, plain(me, "").replace(&fourth, ""));
        nodes.start(me, &[])
    };
    let mut running: Vec<Node> = (1..=3).map(start).collect();
    agreed(&mut running);
    write(4, plain(4, &work));
    let mut fourth = nodes.start_with(4, &["--grants"]);
    assert_eq!(fourth.wait(), 5, "{}", fourth.log());
    assert!(fourth.reported("granted").is_empty(), "{:?}", fourth.reports());
    assert!(fourth.log().contains("compare cluster.addresses"), "{}", fourth.log());
    assert!(running.iter_mut().all(|node| node.status().is_none()));
    // Control: if one of the three nodes receives the lock, its grant is reported.
    drop(running.pop());
    write(3, plain(3, &work).replace(&format!(", {:?}", nodes.address(4)), ""));
    let third = nodes.start_with(3, &["--grants"]);
    eventually("a grant", || third.reported("granted").pop());
}

#[test]
fn log_format_json_writes_one_object_per_event() {
    let _slot = cluster_slot();
    let nodes = Nodes::on_loopback(2);
    nodes.configure(1, "");
    let node = nodes.start_with(1, &["--log-format", "json"]);
    // The other node is never started.
    let event = eventually("a log event", || {
        let log = node.log();
        let line = log.split_inclusive('\n').find(|line| line.ends_with('\n'))?.to_owned();
        Some(serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    });
    assert!(event["level"].is_string() && event["fields"]["message"].is_string(), "{event}");
}
