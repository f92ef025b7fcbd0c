//! All small connected graphs.

use tenure_core::{Graph, ProcessId};

/// Returns all connected graphs over `size` labelled processes. For 1 to 5 processes, there are 1,
/// 1, 4, 38 and 728 such graphs.
pub(crate) fn connected_graphs(size: u32) -> impl Iterator<Item = Graph> {
    let pairs: Vec<(ProcessId, ProcessId, u64)> = (0..size)
        .flat_map(|one| (0..one).map(move |other| (ProcessId(other), ProcessId(one), 1)))
        .collect();
    let graphs = (0..1_u32 << pairs.len()).map(move |chosen| {
        let edges = pairs.iter().enumerate().filter(|(place, _)| chosen & (1 << place) != 0);
        Graph::new(size, edges.map(|(_, edge)| *edge)).expect("each pair occurs once")
    });
    graphs.filter(Graph::is_connected)
}

#[test]
fn counts_all_connected_labelled_graphs() {
    assert_eq!([1, 2, 3, 4, 5].map(|size| connected_graphs(size).count()), [1, 1, 4, 38, 728]);
    assert_eq!(connected_graphs(5).filter(Graph::is_tree).count(), 125, "Cayley: 5³ trees");
}
