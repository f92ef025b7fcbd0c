//! Files of the repository, read once.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::Command;

use super::source::RustSource;

/// All files of the repository that git tracks, and new files that git does not ignore.
#[derive(Debug)]
pub(crate) struct RepositoryTree {
    files: Vec<RepositoryFile>,
}

#[derive(Debug)]
pub(crate) struct RepositoryFile {
    /// Path relative to the root, with `/`.
    pub(crate) path: String,
    /// Content; empty if it is not text.
    pub(crate) text: String,
    /// Source of a Rust file, prepared for the checks. `None` for other files.
    pub(crate) source: Option<RustSource>,
}

impl RepositoryFile {
    fn new(path: String, text: String) -> Self {
        let source = path.ends_with(".rs").then(|| RustSource::new(&text));
        RepositoryFile { path, text, source }
    }

    /// Returns the lines of the text, numbered from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

impl RepositoryTree {
    pub(crate) fn read(root: &Path) -> io::Result<RepositoryTree> {
        let paths = match known_to_git(root) {
            Some(paths) => paths,
            None => walk(root)?,
        };
        let mut files = Vec::new();
        for path in paths {
            match std::fs::read(root.join(&path)) {
                Ok(bytes) => {
                    let text = String::from_utf8(bytes).unwrap_or_default();
                    files.push(RepositoryFile::new(path, text));
                }
                Err(error) if is_no_file(error.kind()) => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
            }
        }
        Ok(RepositoryTree { files })
    }

    #[cfg(test)]
    pub(crate) fn from_files(files: &[(&str, &str)]) -> RepositoryTree {
        let file =
            |(path, text): &(&str, &str)| RepositoryFile::new((*path).into(), (*text).into());
        RepositoryTree { files: files.iter().map(file).collect() }
    }

    /// Returns all files, ordered by path.
    pub(crate) fn files(&self) -> &[RepositoryFile] {
        &self.files
    }

    pub(crate) fn file(&self, path: &str) -> Option<&RepositoryFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns true if `path` is a file of the repository, or a directory that contains a file of
    /// the repository.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let below = format!("{path}/");
        path.is_empty()
            || self.files.iter().any(|file| file.path == path || file.path.starts_with(&below))
    }

    pub(crate) fn rust_sources(&self) -> impl Iterator<Item = (&RepositoryFile, &RustSource)> {
        self.files.iter().filter_map(|file| Some((file, file.source.as_ref()?)))
    }

    /// Returns all Cargo manifests that can be parsed. Omits invalid manifests, because Cargo
    /// reports them.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&RepositoryFile, toml::Table)> {
        self.files
            .iter()
            .filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"))
            .filter_map(|file| Some((file, file.text.parse().ok()?)))
    }
}

/// Returns true if an error shows that a path in Git's list leads to no file. This happens if the
/// file was deleted, or if a symbolic link leads to a directory.
fn is_no_file(error: io::ErrorKind) -> bool {
    matches!(error, io::ErrorKind::NotFound | io::ErrorKind::IsADirectory)
}

/// Returns the files that git tracks, and new files that git does not ignore. `None` without git or
/// outside a repository.
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

/// Returns the files below `root`, without build output.
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
    use super::{RepositoryTree, walk};

    #[test]
    fn contains_directories_of_files() {
        let tree = RepositoryTree::from_files(&[("docs/adr/0001-a.md", "")]);
        assert!(tree.contains("docs/adr") && tree.contains("docs/adr/0001-a.md"));
        assert!(!tree.contains("docs/ad") && !tree.contains("docs/adr/0002-b.md"));
    }

    #[test]
    fn walks_directories_without_git() {
        let paths = walk(&crate::root().join("xtask")).expect("readable repository");
        assert!(paths.contains("Cargo.toml") && paths.contains("src/tidy/tree.rs"));
    }
}
