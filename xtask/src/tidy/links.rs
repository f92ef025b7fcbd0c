//! Check: relative links in documents lead to an existing file.

use super::{Finding, RepositoryFile, RepositoryTree};

const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let is_document = |path: &str| {
        DOCUMENTS.contains(&path) || (path.starts_with("docs/") && path.ends_with(".md"))
    };
    tree.files()
        .iter()
        .filter(|file| is_document(&file.path))
        .flat_map(|file| broken(tree, file))
        .collect()
}

fn broken(tree: &RepositoryTree, file: &RepositoryFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut fenced = false;
    for (line, text) in file.lines() {
        let fence = text.trim_start().starts_with("```");
        fenced ^= fence;
        if fenced || fence {
            continue;
        }
        for link in link_targets(text) {
            if !has_target(tree, &file.path, &link) {
                let message = format!("the link to `{link}` has no target");
                let fix = "link to a file of the repository, relative to this one";
                findings.push(Finding::new(&file.path, line, message, fix));
            }
        }
    }
    findings
}

/// Returns the targets of the links `[text](target)` and `[label]: target` in a line, outside
/// inline code.
pub(crate) fn link_targets(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let inline = prose.split("](").skip(1).filter_map(|tail| tail.split(')').next());
    let label = prose.starts_with('[').then(|| prose.split_once("]: ")).flatten();
    let targets = inline.chain(label.map(|(_, target)| target));
    targets.filter_map(|target| target.split_whitespace().next()).map(str::to_owned).collect()
}

fn has_target(tree: &RepositoryTree, from: &str, link: &str) -> bool {
    let link = link.trim_start_matches('<').trim_end_matches('>');
    if link.contains("://") || link.starts_with("mailto:") || link.starts_with('#') {
        return true;
    }
    let target = link.split('#').next().unwrap_or(link);
    resolve_path(from, target).is_some_and(|path| tree.contains(&path))
}

/// Resolves the path `target`, relative to the file `from`. Returns `None` if it is outside of the
/// repository.
pub(crate) fn resolve_path(from: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(text: &str) -> Vec<String> {
        findings(check, &[("docs/book/a.md", text), ("docs/trace.md", ""), ("README.md", "")])
    }

    #[test]
    fn accepts_links_to_files_directories_and_headings() {
        let text = "[a](../trace.md#time), [b](../../README.md \"title\"), [c](..), [d](#here)";
        assert_eq!(found(text), [""; 0]);
        assert_eq!(found("[a]: ../trace.md\n<https://a.org> [b](https://b.org)"), [""; 0]);
    }

    #[test]
    fn finds_link_without_target() {
        assert!(
            found("\n[a](trace.md)")[0].starts_with("docs/book/a.md:2: the link to `trace.md`")
        );
        assert_eq!(found("[a]: missing.md").len(), 1);
    }

    #[test]
    fn finds_link_out_of_repository() {
        assert_eq!(found("[a](../../../b.md) [c](/docs/trace.md)").len(), 2);
    }

    #[test]
    fn ignores_links_in_code() {
        assert_eq!(found("`a[i](b)`\n```rust\na[i](b)\n```\n"), [""; 0]);
    }
}
