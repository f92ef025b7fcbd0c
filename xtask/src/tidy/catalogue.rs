//! Every algorithm is in the catalogue.

use super::source::words;
use super::{Finding, Tree};

const ALGORITHMS: &str = "crates/algorithms/src/";
const CATALOGUE: &str = "crates/algorithms/src/catalogue";
const LIST: &str = "crates/algorithms/src/catalogue/members.rs";
/// Detectors, channels, compositions and reductions are wrapped around others and have no names
/// of their own.
const FOLDERS: &[&str] = &["mutex", "election", "agreement"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let catalogue: Vec<_> = tree
        .sources()
        .filter(|(file, _)| file.path.starts_with(CATALOGUE))
        .map(|(_, source)| source)
        .collect();
    if catalogue.is_empty() {
        return Vec::new(); // not written yet
    }
    let is_listed = |name| {
        catalogue.iter().any(|source| words(&source.shipped).any(|found| found.word == name))
    };
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let Some(name) = algorithm(&file.path) else { continue };
        let is_protocol = source.shipped.contains("Protocol for ");
        if is_protocol && !is_listed(name) {
            findings.push(Finding::new(
                &file.path,
                1,
                format!("the algorithm `{name}` is not in the catalogue"),
                format!("add its line to {LIST}"),
            ));
        }
    }
    findings
}

/// The module that the file at `path` belongs to, if it is an algorithm's.
fn algorithm(path: &str) -> Option<&str> {
    let (folder, rest) = path.strip_prefix(ALGORITHMS)?.split_once('/')?;
    let name = rest.split_once('/').map_or(rest, |(folder, _)| folder);
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (FOLDERS.contains(&folder) && name != "mod").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{LIST, check};
    use crate::tidy::findings;

    const FILE: &str = "crates/algorithms/src/mutex/maekawa.rs";
    const PROTOCOL: &str = "impl Protocol for Maekawa {}";

    #[test]
    fn an_algorithm_outside_the_catalogue_is_found() {
        let catalogue = (LIST, "use crate::mutex::lamport; // maekawa");
        assert_eq!(findings(check, &[(FILE, PROTOCOL), catalogue]).len(), 1);
    }

    #[test]
    fn an_algorithm_in_the_catalogue_passes() {
        let catalogue = (LIST, "use crate::mutex::maekawa;");
        assert_eq!(findings(check, &[(FILE, PROTOCOL), catalogue]), [""; 0]);
    }

    #[test]
    fn an_algorithm_in_several_files_goes_by_its_folder() {
        let parts =
            ("crates/algorithms/src/election/raft/log.rs", "impl<T> Protocol for Raft<T> {}");
        assert_eq!(findings(check, &[parts, (LIST, "raft::Raft")]), [""; 0]);
        assert_eq!(findings(check, &[parts, (LIST, "log::Log")]).len(), 1);
    }

    #[test]
    fn helpers_and_a_missing_catalogue_pass() {
        assert_eq!(findings(check, &[(FILE, "struct Queue;"), (LIST, "")]), [""; 0]);
        assert_eq!(findings(check, &[(FILE, PROTOCOL)]), [""; 0]);
    }
}
