//! The files of the repository, read once.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::Command;

use super::source::Source;

/// Every file that is, or would be, part of the repository.
#[derive(Debug)]
pub(crate) struct Tree {
    files: Vec<File>,
}

/// One file.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// What it says; empty when it is not text.
    pub(crate) text: String,
    /// The same as Rust, if that is what it is.
    pub(crate) source: Option<Source>,
}

impl File {
    fn new(path: String, text: String) -> Self {
        let source = path.ends_with(".rs").then(|| Source::new(&text));
        File { path, text, source }
    }

    /// The lines of the text, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

impl Tree {
    /// Reads the repository at `root`.
    pub(crate) fn read(root: &Path) -> io::Result<Tree> {
        let paths = match known_to_git(root) {
            Some(paths) => paths,
            None => walk(root)?,
        };
        let mut files = Vec::new();
        for path in paths {
            match std::fs::read(root.join(&path)) {
                Ok(bytes) => {
                    let text = String::from_utf8(bytes).unwrap_or_default();
                    files.push(File::new(path, text));
                }
                Err(error) if is_no_file(error.kind()) => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
            }
        }
        Ok(Tree { files })
    }

    /// A made-up repository.
    #[cfg(test)]
    pub(crate) fn sample(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| File::new((*path).into(), (*text).into());
        Tree { files: files.iter().map(file).collect() }
    }

    /// Every file, in order of its path.
    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    /// The file at `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether there is a file at `path`, or a file below it.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let below = format!("{path}/");
        path.is_empty()
            || self.files.iter().any(|file| file.path == path || file.path.starts_with(&below))
    }

    /// Every Rust file.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files.iter().filter_map(|file| Some((file, file.source.as_ref()?)))
    }

    /// Every manifest, without those that do not parse (cargo tells of those).
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&File, toml::Table)> {
        self.files
            .iter()
            .filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"))
            .filter_map(|file| Some((file, file.text.parse().ok()?)))
    }
}

/// Whether git lists what is none: a file deleted but not committed, a link to a folder.
fn is_no_file(error: io::ErrorKind) -> bool {
    matches!(error, io::ErrorKind::NotFound | io::ErrorKind::IsADirectory)
}

/// The files that git tracks or would offer to; `None` without git or outside a repository.
fn known_to_git(root: &Path) -> Option<BTreeSet<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let listing = output.status.success().then_some(output.stdout)?;
    let paths = String::from_utf8(listing).ok()?;
    Some(paths.split_terminator('\0').map(str::to_owned).collect())
}

/// The files below `root`, but for what builds leave behind.
fn walk(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if !entry.file_type()?.is_dir() {
                paths.insert(path);
            } else if name != ".git" && name != "target" {
                folders.push(path);
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::{Tree, walk};

    #[test]
    fn a_folder_is_held_by_the_files_below_it() {
        let tree = Tree::sample(&[("docs/adr/0001-a.md", "")]);
        assert!(tree.holds("docs/adr") && tree.holds("docs/adr/0001-a.md"));
        assert!(!tree.holds("docs/ad") && !tree.holds("docs/adr/0002-b.md"));
    }

    #[test]
    fn without_git_the_folders_are_walked() {
        let paths = walk(&crate::root().join("xtask")).expect("the repository can be read");
        assert!(paths.contains("Cargo.toml") && paths.contains("src/tidy/tree.rs"));
    }
}
