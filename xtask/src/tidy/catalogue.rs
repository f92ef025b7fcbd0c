//! Every algorithm is in the catalogue.

use super::{Finding, Tree};

const ALGORITHMS: &str = "crates/algorithms/src/";
/// Detectors, channels, compositions and reductions are wrapped around others and have no names
/// of their own.
const FOLDERS: &[&str] = &["mutex", "election"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let Some((folder, name)) = algorithm(&file.path) else { continue };
        let list = format!("{ALGORITHMS}{folder}/mod.rs");
        let is_protocol = source.shipped.contains("Protocol for ");
        if is_protocol && !listed(tree, &list).any(|(_, listed)| listed == name) {
            findings.push(Finding::new(
                &file.path,
                1,
                format!("the algorithm `{name}` is not in the catalogue"),
                format!("add its line to {list}"),
            ));
        }
    }
    findings
}

/// The modules in a list of the catalogue, each with its line: `token_ring` is that of
/// `"token-ring" => token_ring::TokenRing;`.
pub(super) fn listed<'a>(tree: &'a Tree, list: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = tree.file(list).into_iter().flat_map(|file| file.lines());
    lines.filter_map(|(line, text)| {
        let (_, member) = text.trim().strip_prefix('"')?.split_once("\" => ")?;
        Some((line, member.split_once("::")?.0))
    })
}

/// The folder and the module that the file at `path` belongs to, if it is an algorithm's.
fn algorithm(path: &str) -> Option<(&str, &str)> {
    let (folder, rest) = path.strip_prefix(ALGORITHMS)?.split_once('/')?;
    let name = rest.split_once('/').map_or(rest, |(folder, _)| folder);
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (FOLDERS.contains(&folder) && name != "mod").then_some((folder, name))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    const LIST: &str = "crates/algorithms/src/mutex/mod.rs";
    const FILE: &str = "crates/algorithms/src/mutex/maekawa.rs";
    const PROTOCOL: &str = "impl Protocol for Maekawa {}";

    #[test]
    fn an_algorithm_outside_the_catalogue_is_found() {
        let catalogue = (LIST, "pub mod maekawa;\n\"lamport\" => lamport::Lamport;");
        assert_eq!(findings(check, &[(FILE, PROTOCOL), catalogue]).len(), 1);
    }

    #[test]
    fn an_algorithm_in_the_catalogue_passes() {
        let catalogue = (LIST, "    \"maekawa\" => maekawa::Maekawa;");
        assert_eq!(findings(check, &[(FILE, PROTOCOL), catalogue]), [""; 0]);
    }

    #[test]
    fn an_algorithm_in_several_files_goes_by_its_folder() {
        let list = "crates/algorithms/src/election/mod.rs";
        let parts =
            ("crates/algorithms/src/election/raft/log.rs", "impl<T> Protocol for Raft<T> {}");
        assert_eq!(findings(check, &[parts, (list, "\"raft\" => raft::Raft;")]), [""; 0]);
        assert_eq!(findings(check, &[parts, (list, "\"log\" => log::Log;")]).len(), 1);
    }

    #[test]
    fn helpers_pass() {
        assert_eq!(findings(check, &[(FILE, "struct Queue;"), (LIST, "")]), [""; 0]);
    }
}
