//! Check: the repository has its standard documents.

use super::{Finding, RepositoryTree};

const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "deny.toml",
    "justfile",
    "rust-toolchain.toml",
];

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let written = |path: &str| tree.file(path).is_some_and(|file| !file.text.trim().is_empty());
    DOCUMENTS
        .iter()
        .filter(|path| !written(path))
        .map(|path| Finding::new(path, 1, "the file is missing or empty", "write it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENTS, check};
    use crate::tidy::findings;

    #[test]
    fn finds_missing_documents() {
        assert_eq!(findings(check, &[]).len(), DOCUMENTS.len());
    }

    #[test]
    fn finds_empty_document() {
        let mut sample: Vec<_> = DOCUMENTS.iter().map(|path| (*path, "text")).collect();
        assert_eq!(findings(check, &sample), [""; 0]);
        sample[0].1 = "\n";
        assert_eq!(
            findings(check, &sample),
            ["README.md:1: the file is missing or empty; write it"]
        );
    }
}
