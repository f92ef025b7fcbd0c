//! The project speaks of itself alone: no machine's folders, no private registries.

use super::{File, Finding, Tree};

/// Folders of somebody's machine, in two halves so that this file does not name them.
const FOLDERS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// The one registry, as a lock file names it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// The tables of a cargo configuration that send it elsewhere.
const DETOURS: &[&str] = &["source", "registries", "registry", "http", "net"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        findings.extend(machine_paths(file));
        if file.path.ends_with("Cargo.lock") {
            findings.extend(foreign_packages(file));
        }
        if file.path.contains(".cargo/config") {
            findings.extend(detours(file));
        }
    }
    findings
}

fn machine_paths(file: &File) -> impl Iterator<Item = Finding> {
    file.lines().flat_map(move |(line, text)| {
        FOLDERS.iter().filter(move |folder| names(text, folder)).map(move |folder| {
            let says = format!("`{folder}` is a folder of some machine");
            Finding::new(&file.path, line, says, "write a relative path, or `/path/to/`")
        })
    })
}

/// Whether an absolute path in `text` begins with `folder`.
fn names(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        !text[..at]
            .ends_with(|before: char| before.is_alphanumeric() || "._-~*/}>)".contains(before))
    })
}

fn foreign_packages(file: &File) -> impl Iterator<Item = Finding> {
    let source =
        |text: &str| Some(text.strip_prefix("source = \"")?.trim_end_matches('"') != REGISTRY);
    file.lines().filter(move |(_, text)| source(text) == Some(true)).map(|(line, text)| {
        let fix = "every package comes from crates.io";
        Finding::new(&file.path, line, format!("a foreign {text}"), fix)
    })
}

fn detours(file: &File) -> impl Iterator<Item = Finding> {
    let table = |text: &str| {
        let header = text.trim_start().strip_prefix('[')?;
        DETOURS.iter().find(|name| {
            header.strip_prefix(**name).is_some_and(|tail| tail.starts_with(['.', ']']))
        })
    };
    file.lines().filter_map(move |(line, text)| Some((line, table(text)?))).map(|(line, name)| {
        let fix = "keep it in the configuration of your own machine";
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
    fn a_folder_of_some_machine_is_found_in_any_text() {
        for folder in FOLDERS {
            assert_eq!(found("docs/a.md", &format!("see `{folder}notes.md`")), 1);
            assert_eq!(found("a.sh", &format!("{folder}a {folder}b")), 1);
        }
    }

    #[test]
    fn relative_paths_and_addresses_are_no_machines() {
        for folder in FOLDERS {
            let text = format!("crates{folder}a https://a.org{folder}b .{folder}c $DIR{folder}d");
            assert_eq!(found("docs/a.md", &text), 0);
        }
    }

    #[test]
    fn a_package_from_elsewhere_is_found() {
        assert_eq!(found("Cargo.lock", &format!("source = \"{REGISTRY}\"")), 0);
        assert_eq!(found("Cargo.lock", "source = \"registry+https://mirror.example/index\""), 1);
        assert_eq!(found("fuzz/Cargo.lock", "source = \"git+https://example.org/a\""), 1);
    }

    #[test]
    fn a_cargo_configuration_may_have_aliases_but_no_detours() {
        assert_eq!(found(".cargo/config.toml", "[alias]\nxtask = \"run\""), 0);
        assert_eq!(found(".cargo/config.toml", "[source.crates-io]\n[http]"), 2);
    }
}
