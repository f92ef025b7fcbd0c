//! Check: every algorithm is in the catalogue.

use super::{Finding, RepositoryTree};

const ALGORITHMS: &str = "crates/algorithms/src/";
/// Folders of `crates/algorithms/src` in which every file is an algorithm. The folders of
/// detectors, channels, compositions and reductions are not listed, because their files wrap other
/// algorithms.
const FOLDERS: &[&str] = &["mutex", "election"];

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust_sources() {
        let Some((folder, name)) = algorithm(&file.path) else { continue };
        let list = format!("{ALGORITHMS}{folder}/mod.rs");
        let is_protocol = source.production.contains("Protocol for ");
        if is_protocol && !listed_modules(tree, &list).any(|(_, listed)| listed == name) {
            findings.push(Finding::new(
                &file.path,
                1,
                format!("the algorithm `{name}` is not in the catalogue"),
                format!("add it to {list}"),
            ));
        }
    }
    findings
}

/// Returns the modules in a list of the catalogue, with their line numbers. For example, it returns
/// `token_ring` for `"token-ring" => token_ring::TokenRing;`.
pub(super) fn listed_modules<'a>(
    tree: &'a RepositoryTree,
    list_path: &str,
) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = tree.file(list_path).into_iter().flat_map(|file| file.lines());
    lines.filter_map(|(line, text)| {
        let (_, member) = text.trim().strip_prefix('"')?.split_once("\" => ")?;
        Some((line, member.split_once("::")?.0))
    })
}

/// Returns the folder and the module name of an algorithm, given the path of its file. `None` if
/// the file does not contain an algorithm.
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
    fn finds_algorithm_missing_in_catalogue() {
        let catalogue = (LIST, "pub mod maekawa;\n\"lamport\" => lamport::Lamport;");
        assert_eq!(findings(check, &[(FILE, PROTOCOL), catalogue]).len(), 1);
    }

    #[test]
    fn accepts_algorithm_in_catalogue() {
        let catalogue = (LIST, "    \"maekawa\" => maekawa::Maekawa;");
        assert_eq!(findings(check, &[(FILE, PROTOCOL), catalogue]), [""; 0]);
    }

    #[test]
    fn names_algorithm_by_directory() {
        let list = "crates/algorithms/src/election/mod.rs";
        let parts =
            ("crates/algorithms/src/election/raft/log.rs", "impl<T> Protocol for Raft<T> {}");
        assert_eq!(findings(check, &[parts, (list, "\"raft\" => raft::Raft;")]), [""; 0]);
        assert_eq!(findings(check, &[parts, (list, "\"log\" => log::Log;")]).len(), 1);
    }

    #[test]
    fn accepts_helper_files() {
        assert_eq!(findings(check, &[(FILE, "struct Queue;"), (LIST, "")]), [""; 0]);
    }
}
