//! Options that the user has given and that have no effect on the run. The command warns about
//! them.

use std::sync::Arc;

use tenure_algorithms::catalogue::Parameters;
use tenure_core::Graph;
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::TreeShape;

use super::options::Options;
use crate::cmd::group::{is_same_config, names_where_true};

/// Returns the options that do not change the configuration of the lock algorithm `lock`.
pub(super) fn of_nodes(options: &Options, lock: &str) -> Vec<&'static str> {
    let variants = options.variant.clone();
    let plain = Parameters { variants, ..Parameters::with_defaults(7) };
    let ignored = |other: Parameters| is_same_config(lock, &plain, &other);
    let (quorums, tree) = (Some(QuorumKind::Plane), TreeShape::Path);
    let graph = Some(Arc::new(Graph::line(7)));
    names_where_true([
        (
            "--quorums",
            options.quorums.is_some()
                && ignored(Parameters { quorum_kind: quorums, ..plain.clone() }),
        ),
        (
            "--tree",
            options.tree.is_some() && ignored(Parameters { tree_shape: tree, ..plain.clone() }),
        ),
        (
            "--topology",
            options.topology.is_some() && ignored(Parameters { graph, ..plain.clone() }),
        ),
    ])
}

/// Returns the options without effect in a run of a lock service.
#[cfg(feature = "service")]
pub(super) fn of_service(options: &Options) -> Vec<&'static str> {
    names_where_true([
        ("--nodes", options.nodes.is_some()),
        ("--quorums", options.quorums.is_some()),
        ("--tree", options.tree.is_some()),
        ("--topology", options.topology.is_some()),
        ("--variant", !options.variant.is_empty()),
        ("--lose", options.lose != 0.0),
        ("--duplicate", options.duplicate != 0.0),
        ("--trace-mib", options.trace_mib.is_some()),
        ("--states", options.states),
        ("--beyond-assumptions", options.beyond_assumptions),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::parse_options;

    fn options(line: &str) -> Options {
        parse_options(line.split_whitespace()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn lock_ignores_unused_quorums_and_tree() {
        let unused = |line: &str, lock| of_nodes(&options(line), lock);
        let both = "--quorums fpp --tree path";
        assert_eq!(unused(both, "lamport"), ["--quorums", "--tree"]);
        assert_eq!(unused(both, "maekawa"), ["--tree"]);
        assert_eq!(unused(both, "raymond"), ["--quorums"]);
        assert_eq!(unused("", "lamport"), [""; 0]);
    }

    #[cfg(feature = "service")]
    #[test]
    fn service_ignores_options_of_nodes() {
        let unused = |line: &str| of_service(&options(&format!("--service 3 {line}")));
        assert_eq!(unused(""), [""; 0]);
        let nodes = "--nodes 4 --quorums fpp --tree path --variant foo";
        assert_eq!(unused(nodes), ["--nodes", "--quorums", "--tree", "--variant"]);
        let written = "--trace-mib 3 --states";
        assert_eq!(unused(written), ["--trace-mib", "--states"]);
    }
}
