//! Checks the structure of the book: the summary lists every page, and every link and picture
//! exists.

use std::collections::BTreeSet;

use super::BOOK;
use crate::tidy::{Finding, RepositoryFile, RepositoryTree, link_targets, resolve_path};

/// File that lists the pages of the book in order.
const SUMMARY: &str = "docs/book/src/SUMMARY.md";
const PICTURES: &str = "docs/book/src/pictures/";

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let pages: Vec<&RepositoryFile> =
        tree.files().iter().filter(|file| is_page(&file.path)).collect();
    let mut targets = BTreeSet::new();
    let mut findings = Vec::new();
    for page in &pages {
        for (line, link) in links_of(page) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() {
                Some(page.path.clone())
            } else {
                resolve_path(&page.path, path)
            };
            if let Err((message, fix)) = check_target(tree, target.as_deref(), anchor) {
                let message = format!("the link to `{link}` {message}");
                findings.push(Finding::new(&page.path, line, message, fix));
            }
            targets.extend(target.map(|target| (page.path.clone(), target)));
        }
        findings.extend(includes(tree, page));
    }
    let linked = |from: &str, to: &str| targets.contains(&(from.to_owned(), to.to_owned()));
    for page in pages.iter().filter(|page| page.path != SUMMARY) {
        if !linked(SUMMARY, &page.path) {
            let message = format!("`{SUMMARY}` does not list the page");
            findings.push(Finding::new(&page.path, 1, message, "add it"));
        }
    }
    for file in tree.files().iter().filter(|file| file.path.starts_with(PICTURES)) {
        if !targets.iter().any(|(_, to)| *to == file.path) {
            findings.push(Finding::new(
                &file.path,
                1,
                "no page shows the picture",
                "show or remove it",
            ));
        }
    }
    findings.sort();
    findings
}

fn is_page(path: &str) -> bool {
    path.strip_prefix(BOOK).is_some_and(|name| name.ends_with(".md"))
}

/// Returns the lines of a page outside of code blocks, with their numbers from 1.
fn prose(page: &RepositoryFile) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.lines().filter(move |(_, line)| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn links_of(page: &RepositoryFile) -> impl Iterator<Item = (usize, String)> {
    prose(page)
        .flat_map(|(line, text)| link_targets(text).into_iter().map(move |link| (line, link)))
}

fn check_target(
    tree: &RepositoryTree,
    target: Option<&str>,
    anchor: &str,
) -> Result<(), (&'static str, &'static str)> {
    let inside = target.filter(|target| target.starts_with(BOOK));
    let Some(target) = inside else {
        return Err(("leads out of the book", "only files of the book are part of its site"));
    };
    let Some(file) = tree.file(target) else {
        return Err(("has no target", "link to a page or a picture, relative to this page"));
    };
    if anchor.is_empty() || prose(file).any(|(_, line)| heading(line).as_deref() == Some(anchor)) {
        return Ok(());
    }
    Err(("names no heading of that page", "write the heading in lower case, with `-` for spaces"))
}

/// Returns the anchor of a heading; `None` if the line is no heading.
fn heading(line: &str) -> Option<String> {
    let text = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        letter if letter.is_alphanumeric() || "-_".contains(letter) => Some(letter),
        _ => None,
    };
    Some(text.to_lowercase().chars().filter_map(letter).collect())
}

/// Returns a finding for each `{{#include path}}` of a missing file.
fn includes(tree: &RepositoryTree, page: &RepositoryFile) -> Vec<Finding> {
    let included = |line: &str| {
        let path = line.split_once("{{#include ")?.1.split_once("}}")?.0;
        Some(path.split(':').next().unwrap_or(path).to_owned())
    };
    let missing =
        |path: &String| resolve_path(&page.path, path).and_then(|path| tree.file(&path)).is_none();
    page.lines()
        .filter_map(|(line, text)| Some((line, included(text)?)))
        .filter(|(_, path)| missing(path))
        .map(|(line, path)| {
            let message = format!("the included file `{path}` does not exist");
            Finding::new(&page.path, line, message, "name a file, relative to this page")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::RepositoryTree;

    /// Returns the findings for a sample book, which consists of this summary, this page and one
    /// picture.
    fn found(summary: &str, page: &str) -> Vec<String> {
        let sample = [
            ("docs/book/src/SUMMARY.md", summary),
            ("docs/book/src/01_a.md", page),
            ("docs/book/src/pictures/a.svg", ""),
            ("examples/a.rs", ""),
        ];
        check(&RepositoryTree::from_files(&sample)).iter().map(ToString::to_string).collect()
    }

    const SUMMARY: &str = "- [A](01_a.md)\n";
    const PAGE: &str = "# What it is, then\n![a](pictures/a.svg) [b](#what-it-is-then)\n\
                        ```rust\n{{#include ../../../examples/a.rs}}\n[c](nowhere.md)\n```\n";

    #[test]
    fn accepts_consistent_book() {
        assert_eq!(found(SUMMARY, PAGE), [""; 0]);
    }

    #[test]
    fn finds_page_missing_in_summary() {
        assert!(found("", PAGE)[0].contains("does not list the page"));
    }

    #[test]
    fn finds_broken_links_and_anchors() {
        for (link, message) in [
            ("[x](02_b.md)", "has no target"),
            ("[x](#what)", "names no heading"),
            ("[x](01_a.md#what)", "names no heading"),
            ("[x](../../../examples/a.rs)", "leads out of the book"),
            ("![x](pictures/b.svg)", "has no target"),
            ("{{#include a.rs}}", "does not exist"),
        ] {
            let findings = found(SUMMARY, &format!("{PAGE}{link}\n"));
            assert_eq!(findings.len(), 1, "{link}");
            assert!(findings[0].starts_with("docs/book/src/01_a.md:7: "), "{findings:?}");
            assert!(findings[0].contains(message), "{findings:?}");
        }
    }

    #[test]
    fn finds_unused_picture() {
        assert!(found(SUMMARY, "# A\n")[0].contains("no page shows the picture"));
    }
}
