use tenure_core::{Graph, Topology};
use tenure_trace::{EdgeList, ReadError, Reader, Service};

use super::story::Story;

fn on_line() -> Story {
    let mut story = Story::of(Service::Mutex);
    story.header.topology = Some(Topology::Graph);
    story.header.graph = Some(EdgeList::from(&Graph::line(3)));
    story
}

#[test]
fn message_along_missing_edge_violates_topology() {
    let neighbours = on_line().sends(1, 2, 1).sends(2, 3, 1).sends(3, 2, 1);
    assert!(neighbours.verdicts().contains("topology holds"), "{}", neighbours.verdicts());
    let strays = on_line().sends(1, 2, 1).sends(3, 1, 1);
    assert!(strays.verdicts().contains("topology violated"), "{}", strays.verdicts());
    let found = strays.verified().to_string();
    assert!(found.contains("P3 sends to P1, which is not its neighbour in the graph"), "{found}");
}

#[test]
fn network_of_overlay_is_not_judged() {
    let mut story = on_line();
    story.header.topology = None;
    let story = story.sends(3, 1, 1);
    assert!(!story.verdicts().contains("topology"), "{}", story.verdicts());
    assert_eq!(story.header.network(), Some(Graph::line(3)));
}

#[test]
fn header_with_edge_outside_of_group_is_rejected() {
    let story = on_line();
    let line = serde_json::to_string(&story.header).unwrap();
    let read = |line: &str| Reader::new(format!("{line}\n").as_bytes(), "a trace").map(drop);
    assert!(read(&line).is_ok(), "{line}");
    let error = read(&line.replace("[2,3]", "[2,4]")).expect_err("P4 is unknown");
    assert!(matches!(error, ReadError::Malformed { line: 1, .. }), "{error}");
    assert!(error.to_string().ends_with("vertex P4 is outside of the group P1 to P3"), "{error}");
}
