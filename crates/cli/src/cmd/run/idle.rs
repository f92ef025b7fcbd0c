//! Options that were given, and make no difference to what runs.

use tenure_algorithms::catalogue::Parameters;
use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;

use super::options::Options;
use crate::cmd::group::ignores;

/// Those that a lock ignores, or, where there is none but a log, those of locks.
pub(super) fn of_nodes(options: &Options, lock: Option<&str>) -> Vec<&'static str> {
    let variants = options.variant.clone();
    let plain = Parameters { variants, ..Parameters::plain(7) };
    let ignored = |other: Parameters| lock.is_none_or(|lock| ignores(lock, &plain, &other));
    let (quorums, tree) = (Kind::Plane, Shape::Path);
    given([
        (
            "--quorums",
            options.quorums.is_some() && ignored(Parameters { quorums, ..plain.clone() }),
        ),
        ("--tree", options.tree.is_some() && ignored(Parameters { tree, ..plain.clone() })),
    ])
}

/// Those that are for nodes or logs, where a service runs.
#[cfg(feature = "service")]
pub(super) fn of_service(options: &Options) -> Vec<&'static str> {
    given([
        ("--nodes", options.nodes.is_some()),
        ("--quorums", options.quorums.is_some()),
        ("--tree", options.tree.is_some()),
        ("--variant", !options.variant.is_empty()),
        ("--election-timeout", options.election_timeout.is_some()),
        ("--lose", options.lose != 0.0),
        ("--duplicate", options.duplicate != 0.0),
        ("--trace-mib", options.trace_mib.is_some()),
        ("--states", options.states),
        ("--beyond-assumptions", options.beyond_assumptions),
    ])
}

fn given<const N: usize>(options: [(&'static str, bool); N]) -> Vec<&'static str> {
    options.into_iter().filter(|(_, is_idle)| *is_idle).map(|(option, _)| option).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(line: &str) -> Options {
        let words = std::iter::once("run").chain(line.split_whitespace());
        Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).options
    }

    #[test]
    fn a_lock_ignores_the_quorums_and_the_tree_that_it_does_not_need() {
        let idle = |line: &str, lock| of_nodes(&options(line), lock);
        let both = "--quorums fpp --tree path";
        assert_eq!(idle(both, Some("lamport")), ["--quorums", "--tree"]);
        assert_eq!(idle(both, None), ["--quorums", "--tree"], "a log needs neither");
        assert_eq!(idle(both, Some("maekawa")), ["--tree"]);
        assert_eq!(idle(both, Some("raymond")), ["--quorums"]);
        assert_eq!(idle("", Some("lamport")), [""; 0]);
    }

    #[cfg(feature = "service")]
    #[test]
    fn a_service_is_no_group_of_nodes() {
        let idle = |line: &str| of_service(&options(&format!("--service 3 {line}")));
        assert_eq!(idle(""), [""; 0]);
        let nodes = "--nodes 4 --quorums fpp --tree path --variant foo";
        assert_eq!(idle(nodes), ["--nodes", "--quorums", "--tree", "--variant"]);
        let written = "--trace-mib 3 --states";
        assert_eq!(idle(written), ["--trace-mib", "--states"]);
    }
}
