//! Every algorithm is in the catalogue.

use super::source::words;
use super::{Finding, Tree};

const ALGORITHMS: &str = "crates/algorithms/src/";
const CATALOGUE: &str = "crates/algorithms/src/catalogue/members.rs";
/// Detectors, channels and compositions are wrapped around others and have no names of their own.
const FOLDERS: &[&str] = &["mutex", "election", "agreement", "reduction"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(catalogue) = tree.file(CATALOGUE).and_then(|file| file.source.as_ref()) else {
        return Vec::new(); // not written yet
    };
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let Some(name) = algorithm(&file.path) else { continue };
        let is_protocol = source.shipped.contains("Protocol for ");
        if is_protocol && !words(&catalogue.shipped).any(|found| found.word == name) {
            findings.push(Finding::new(
                &file.path,
                1,
                format!("the algorithm `{name}` is not in the catalogue"),
                format!("add its line to {CATALOGUE}"),
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
    use super::{CATALOGUE, check};
    use crate::tidy::findings;

    const FILE: &str = "crates/algorithms/src/mutex/maekawa.rs";
    const PROTOCOL: &str = "impl Protocol for Maekawa {}";

    #[test]
    fn an_algorithm_outside_the_catalogue_is_found() {
        let catalogue = (CATALOGUE, "use crate::mutex::lamport; // maekawa");
        assert_eq!(findings(check, &[(FILE, PROTOCOL), catalogue]).len(), 1);
    }

    #[test]
    fn an_algorithm_in_the_catalogue_passes() {
        let catalogue = (CATALOGUE, "use crate::mutex::maekawa;");
        assert_eq!(findings(check, &[(FILE, PROTOCOL), catalogue]), [""; 0]);
    }

    #[test]
    fn an_algorithm_in_several_files_goes_by_its_folder() {
        let parts =
            ("crates/algorithms/src/election/raft/log.rs", "impl<T> Protocol for Raft<T> {}");
        assert_eq!(findings(check, &[parts, (CATALOGUE, "raft::Raft")]), [""; 0]);
        assert_eq!(findings(check, &[parts, (CATALOGUE, "log::Log")]).len(), 1);
    }

    #[test]
    fn helpers_and_a_missing_catalogue_pass() {
        assert_eq!(findings(check, &[(FILE, "struct Queue;"), (CATALOGUE, "")]), [""; 0]);
        assert_eq!(findings(check, &[(FILE, PROTOCOL)]), [""; 0]);
    }
}
