//! Check: no file contains a path of a developer's machine or a private registry.

use super::{Finding, RepositoryFile, RepositoryTree};

/// Paths of developers' directories. Each path is written in two parts, because the check would
/// otherwise find the path in this file.
const FOLDERS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// The only allowed registry, as lock files write it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Tables of cargo's configuration that would redirect downloads.
const REDIRECTIONS: &[&str] = &["source", "registries", "registry", "http", "net"];

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        findings.extend(machine_paths(file));
        if file.path.ends_with("Cargo.lock") {
            findings.extend(foreign_packages(file));
        }
        if file.path.contains(".cargo/config") {
            findings.extend(redirections(file));
        }
    }
    findings
}

fn machine_paths(file: &RepositoryFile) -> impl Iterator<Item = Finding> {
    file.lines().flat_map(move |(line, text)| {
        FOLDERS.iter().filter(move |folder| names(text, folder)).map(move |folder| {
            let message = format!("path `{folder}` of a particular machine");
            Finding::new(&file.path, line, message, "write a relative path, or `/path/to/`")
        })
    })
}

/// Returns true if `text` contains an absolute path that begins with `folder`.
fn names(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        !text[..at]
            .ends_with(|before: char| before.is_alphanumeric() || "._-~*/}>)".contains(before))
    })
}

fn foreign_packages(file: &RepositoryFile) -> impl Iterator<Item = Finding> {
    let source =
        |text: &str| Some(text.strip_prefix("source = \"")?.trim_end_matches('"') != REGISTRY);
    file.lines().filter(move |(_, text)| source(text) == Some(true)).map(|(line, text)| {
        let fix = "use packages from crates.io";
        Finding::new(&file.path, line, format!("foreign {text}"), fix)
    })
}

fn redirections(file: &RepositoryFile) -> impl Iterator<Item = Finding> {
    let table = |text: &str| {
        let header = text.trim_start().strip_prefix('[')?;
        REDIRECTIONS.iter().find(|name| {
            header.strip_prefix(**name).is_some_and(|tail| tail.starts_with(['.', ']']))
        })
    };
    file.lines().filter_map(move |(line, text)| Some((line, table(text)?))).map(|(line, name)| {
        let fix = "move it to your own configuration";
        Finding::new(&file.path, line, format!("`[{name}]` redirects cargo"), fix)
    })
}

#[cfg(test)]
mod tests {
    use super::{FOLDERS, REGISTRY, check};
    use crate::tidy::findings;

    fn found(path: &str, text: &str) -> usize {
        findings(check, &[(path, text)]).len()
    }

    #[test]
    fn finds_machine_paths_in_any_text() {
        for folder in FOLDERS {
            assert_eq!(found("docs/a.md", &format!("see `{folder}notes.md`")), 1);
            assert_eq!(found("a.sh", &format!("{folder}a {folder}b")), 1);
        }
    }

    #[test]
    fn accepts_relative_paths_and_urls() {
        for folder in FOLDERS {
            let text = format!("crates{folder}a https://a.org{folder}b .{folder}c $DIR{folder}d");
            assert_eq!(found("docs/a.md", &text), 0);
        }
    }

    #[test]
    fn finds_foreign_packages() {
        assert_eq!(found("Cargo.lock", &format!("source = \"{REGISTRY}\"")), 0);
        assert_eq!(found("Cargo.lock", "source = \"registry+https://mirror.example/index\""), 1);
        assert_eq!(found("fuzz/Cargo.lock", "source = \"git+https://example.org/a\""), 1);
    }

    #[test]
    fn accepts_aliases_but_no_redirections() {
        assert_eq!(found(".cargo/config.toml", "[alias]\nxtask = \"run\""), 0);
        assert_eq!(found(".cargo/config.toml", "[source.crates-io]\n[http]"), 2);
    }
}
