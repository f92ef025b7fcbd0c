//! Tests of networks, trees and quorums that a user names or defines.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tenure_core::{Graph, ProcessId};

use crate::shell::{assert_fails_with, data, tenure, text};

fn docs_file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("docs/graphs").join(name).display().to_string()
}

fn write_file(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("a file");
    (folder, path)
}

#[test]
fn formats_of_one_graph_give_one_run() {
    let run = |name: &str| data(&format!("simulate lamport --topology {}", docs_file(name)), 0);
    let list = run("campus.txt");
    assert_eq!(
        (&list["n"], list["network"]["edges"].as_array().map(Vec::len)),
        (&6.into(), Some(7))
    );
    assert_eq!(run("campus.dot"), list);
    assert_eq!(run("campus.graphml"), list);
    let shown = text(&format!("simulate lamport --topology {}", docs_file("campus.dot")), 0);
    assert!(shown.contains("P1 = library, P2 = lab, P3 = hall"), "{shown}");
}

#[test]
fn invalid_graphs_are_refused_in_one_line() {
    let cases = [
        ("list.txt", "a b\nb a\n", ":2: edge b – a occurs twice"),
        ("list.txt", "a b\nc d\n", "no path joins a (P1) and c (P3)"),
        ("a.dot", "graph {\n a -- b\n b -> c\n}", ":3: an arrow '->' joins no vertices here"),
        ("a.graphml", "<graphml>\n<graph>\n</graphml>", ":3: "),
    ];
    for (name, content, message) in cases {
        let (_folder, path) = write_file(name, content);
        let line = format!("simulate lamport --topology {}", path.display());
        assert_fails_with(&tenure(&line), 2, message);
    }
    let shaped = [
        ("--topology round", "expected ring, line, star, complete"),
        ("--topology hypercube -n 6", "expected a power of two"),
        ("--topology grid:2x3 -n 5", "--topology lists 6 vertices for -n 5"),
        ("--topology grid:2x3 --ids 3,1,2", "--topology lists 6 vertices for the 3 of --ids"),
        ("--topology missing.dot", "cannot read missing.dot"),
        ("--tree 1-2,2-3,3-1", "the graph is no tree: 3 edges join 3 vertices, expected 2"),
        ("--quorums 1,2/3,4", "the quorums P1 P2 and P3 P4 do not intersect"),
        ("--quorums 1,2/2,4", "P3 is in no quorum"),
    ];
    for (options, message) in shaped {
        assert_fails_with(&tenure(&format!("simulate lamport {options}")), 2, message);
    }
}

/// Simulates an algorithm in which every process broadcasts. Asserts that the load of each edge
/// equals the number of messages whose shortest path leads over the edge.
#[test]
fn overlay_counts_agree_with_shortest_paths() {
    for (name, graph) in [
        ("grid:2x3", Graph::grid(2, 3)),
        ("ring", Graph::ring(6)),
        ("random:0.2:4", Graph::random_connected(6, 200_000, 4)),
        ("random:0.2:4+weights:9", Graph::random_connected(6, 200_000, 4).with_distinct_weights(9)),
    ] {
        let report = data(&format!("simulate lamport -n 6 --topology {name} --load"), 0);
        let mut expected = std::collections::BTreeMap::new();
        let (mut hops, mut longest) = (0, 0);
        for link in report["load"]["links"].as_array().expect("links") {
            let [from, to, sent] = ["from", "to", "sent"].map(|key| link[key].as_u64().unwrap());
            let path = independent_path(&graph, from as usize - 1, to as usize - 1);
            longest = longest.max(path.len() as u64 - 1);
            for ends in path.windows(2) {
                let edge = (ends[0].min(ends[1]) + 1, ends[0].max(ends[1]) + 1);
                *expected.entry(edge).or_insert(0) += sent;
                hops += sent;
            }
        }
        let network = &report["network"];
        for edge in network["edges"].as_array().expect("edges") {
            let ends = (edge["edge"][0].as_u64().unwrap(), edge["edge"][1].as_u64().unwrap());
            let messages = expected.remove(&(ends.0 as usize, ends.1 as usize)).unwrap_or(0);
            assert_eq!(edge["messages"], messages, "{name}: {ends:?}");
        }
        assert!(expected.is_empty(), "{name}: {expected:?}");
        assert_eq!((&network["hops"], &network["stretch"]["max"]), (&hops.into(), &longest.into()));
        let messages = report["messages"]["total"].as_u64().unwrap();
        let stretch = network["stretch"]["mean"].as_f64().unwrap();
        assert!((stretch - hops as f64 / messages as f64).abs() < 1e-9, "{name}: {stretch}");
    }
}

/// Tries all simple paths between two vertices, and returns the path with the smallest total
/// weight. Among paths with the same weight, the path with the fewest edges is preferred, and then
/// the path with the smallest list of vertices.
fn independent_path(graph: &Graph, from: usize, to: usize) -> Vec<usize> {
    let mut best: Option<(u64, usize, Vec<usize>)> = None;
    let mut open = vec![(0, vec![from])];
    while let Some((weight, path)) = open.pop() {
        let at = path[path.len() - 1];
        if at == to {
            let found = (weight, path.len(), path);
            best = Some(best.map_or(found.clone(), |best| best.min(found)));
            continue;
        }
        for next in graph.neighbours(ProcessId::from_index(at)) {
            if !path.contains(&next.index()) {
                let more = graph.weight(ProcessId::from_index(at), *next).unwrap();
                open.push((weight + more, [path.clone(), vec![next.index()]].concat()));
            }
        }
    }
    best.expect("a connected graph").2
}

#[test]
fn weights_multiply_latency_of_each_edge() {
    // P3 is at the far end of the line. Its request to the coordinator P1 takes 7 + 1 units of
    // time, and the grant takes the same time.
    let report = data("simulate central -n 3 --topology 1-2,2-3:7 --entries 0,0,1", 0);
    assert_eq!(report["delays"]["entry"]["max"], 16.0, "{report}");
    let direct = data("simulate central -n 3 --entries 0,0,1", 0);
    assert_eq!(direct["delays"]["entry"]["max"], 2.0);
    assert!(direct.get("network").is_none(), "{direct}");
}

#[test]
fn printed_command_replays_run_on_own_graph() {
    let (_folder, path) = write_file("my graph.dot", "graph { a -- b -- c -- a; c -- d }");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["simulate", "ricart-agrawala", "--lose", "0.3", "--beyond-assumptions"])
        .args(["--format", "json", "--topology"])
        .arg(&path)
        .output()
        .expect("the command starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let replay = report["violations"][0]["replay"].as_str().expect("a violation");
    assert!(replay.contains(&format!("--topology '{}'", path.display())), "{replay}");
    let again = std::process::Command::new("sh")
        .args([
            "-c",
            &format!("{replay} --format json").replacen("tenure", env!("CARGO_BIN_EXE_tenure"), 1),
        ])
        .output()
        .expect("a shell");
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["violations"][0]["at"], report["violations"][0]["at"]);
}

#[test]
fn trace_holds_graph_without_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.ndjson");
    let (graphs, path) = write_file("own.dot", "graph { a -- b -- c -- a }");
    let line = format!("simulate lamport --topology {}", path.display());
    text(&format!("{line} --trace {}", trace.display()), 0);
    drop(graphs);
    let header = std::fs::read_to_string(&trace).expect("a trace");
    let header: Value = serde_json::from_str(header.lines().next().unwrap()).expect("a header");
    assert_eq!(header["graph"], serde_json::json!([[1, 2], [1, 3], [2, 3]]));
    let options = header["options"].as_array().expect("options");
    assert!(options.contains(&"1-2,1-3,2-3".into()), "{header}");
    text(&format!("trace verify {}", trace.display()), 0);
}

#[test]
fn own_tree_and_own_quorums_change_the_cost() {
    let path = |options: &str| data(&format!("simulate raymond {options} --entries 0,0,0,0,1"), 0);
    // In the user's own tree, the token crosses only the edge 1–5. On a path, it crosses all four
    // edges.
    let own = path(&format!("--tree {}", docs_file("tree.txt")));
    assert_eq!(own["messages"]["total"], 2, "{own}");
    assert_eq!(path("-n 5 --tree path")["messages"]["total"], 8);
    let quorums = format!("simulate maekawa --quorums {}", docs_file("quorums.txt"));
    let own = data(&format!("{quorums} --entries 0,0,0,1,0"), 0);
    assert_eq!((&own["n"], &own["messages"]["total"]), (&5.into(), &6.into()), "{own}");
    let checked = data("check maekawa --quorums 1,2/2,3/1,3", 0);
    assert_eq!(checked["properties"]["mutual-exclusion"], "holds");
}

/// After a crash, the majority algorithm uses a listed quorum without the crashed process. With the
/// quorums {1,2}, {2,3} and {1,3}, such a quorum exists whichever process crashes. With the quorums
/// {1,2} and {2,3}, no such quorum exists if process 2 crashes.
#[test]
fn majority_takes_another_listed_quorum_after_a_crash() {
    let holds = data("check majority --quorums 1,2/2,3/1,3 --crash 1", 0);
    assert_eq!(holds["properties"]["starvation-freedom"], "holds", "{holds}");
    let excluded = tenure("check majority --quorums 1,2/2,3 --crash 1");
    assert_eq!(excluded.status.code(), Some(2));
    let blocked = data("check majority --quorums 1,2/2,3 --crash 1 --beyond-assumptions", 1);
    assert_eq!(blocked["properties"]["mutual-exclusion"], "holds", "{blocked}");
    assert_eq!(blocked["properties"]["starvation-freedom"], "violated", "{blocked}");
}

#[test]
fn options_without_effect_are_reported() {
    let warned = |line: &str| String::from_utf8_lossy(&tenure(line).stderr).into_owned();
    assert!(warned("check lamport -n 2 --topology ring").contains("--topology"), "checker");
    assert!(!warned("simulate lamport -n 2 --topology ring").contains("--topology"), "simulator");
    assert!(warned("simulate lamport --quorums 1,2/2,3/1,3").contains("--quorums"), "lamport");
    assert!(!warned("simulate majority --quorums 1,2/2,3/1,3").contains("--quorums"), "majority");
    assert!(!warned("simulate maekawa --quorums 1,2/2,3/1,3").contains("--quorums"), "maekawa");
}

/// Checks and simulates an algorithm for minimum spanning trees, and asserts that the tree is
/// accepted. Then changes a weight in the header of the recorded trace, and asserts that
/// verification reports a violation.
#[test]
fn minimum_spanning_tree_is_judged_by_the_graph() {
    let line = "minimum-spanning-tree --topology 1-2:1,2-3:2,3-1:3";
    let checked = data(&format!("check {line}"), 0);
    assert_eq!(checked["properties"]["minimum-spanning-tree"], "holds", "{checked}");
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("tree.ndjson");
    data(&format!("simulate {line} --trace {}", trace.display()), 0);
    let verify = format!("trace verify {}", trace.display());
    assert_eq!(data(&verify, 0)["properties"]["minimum-spanning-tree"], "holds");
    let recorded = std::fs::read_to_string(&trace).expect("a trace");
    let (header, rest) = recorded.split_once('\n').expect("a header");
    let other = header.replace("[[1,2],", "[[1,2,4],");
    assert_ne!(header, other, "{header}");
    std::fs::write(&trace, format!("{other}\n{rest}")).expect("a file");
    let found = data(&verify, 1);
    assert_eq!(found["properties"]["minimum-spanning-tree"], "violated", "{found}");
}
