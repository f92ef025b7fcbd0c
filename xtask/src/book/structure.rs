//! The book holds together: every page is in its summary, every link and picture has its target.

use std::collections::BTreeSet;

use super::BOOK;
use crate::tidy::{File, Finding, Tree, links, resolve};

/// Where the order of the pages is written.
const SUMMARY: &str = "docs/book/src/SUMMARY.md";
/// Where the pictures lie.
const PICTURES: &str = "docs/book/src/pictures/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let pages: Vec<&File> = tree.files().iter().filter(|file| is_page(&file.path)).collect();
    let mut targets = BTreeSet::new();
    let mut findings = Vec::new();
    for page in &pages {
        for (line, link) in links_of(page) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if path.is_empty() { Some(page.path.clone()) } else { resolve(&page.path, path) };
            if let Err((says, fix)) = leads(tree, target.as_deref(), anchor) {
                let says = format!("the link to `{link}` {says}");
                findings.push(Finding::new(&page.path, line, says, fix));
            }
            targets.extend(target.map(|target| (page.path.clone(), target)));
        }
        findings.extend(includes(tree, page));
    }
    let linked = |from: &str, to: &str| targets.contains(&(from.to_owned(), to.to_owned()));
    for page in pages.iter().filter(|page| page.path != SUMMARY) {
        if !linked(SUMMARY, &page.path) {
            let says = format!("`{SUMMARY}` does not list the page");
            findings.push(Finding::new(&page.path, 1, says, "give it its place there"));
        }
    }
    for file in tree.files().iter().filter(|file| file.path.starts_with(PICTURES)) {
        if !targets.iter().any(|(_, to)| *to == file.path) {
            findings.push(Finding::new(&file.path, 1, "no page shows the picture", "show it"));
        }
    }
    findings.sort();
    findings
}

fn is_page(path: &str) -> bool {
    path.strip_prefix(BOOK).is_some_and(|name| name.ends_with(".md"))
}

/// The lines outside of code, counted from 1.
fn prose(page: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    page.lines().filter(move |(_, line)| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn links_of(page: &File) -> impl Iterator<Item = (usize, String)> {
    prose(page).flat_map(|(line, text)| links(text).into_iter().map(move |link| (line, link)))
}

fn leads(
    tree: &Tree,
    target: Option<&str>,
    anchor: &str,
) -> Result<(), (&'static str, &'static str)> {
    let inside = target.filter(|target| target.starts_with(BOOK));
    let Some(target) = inside else {
        return Err(("leads out of the book", "only what lies in it is part of its site"));
    };
    let Some(file) = tree.file(target) else {
        return Err(("leads nowhere", "link to a page or a picture, relative to this page"));
    };
    if anchor.is_empty() || prose(file).any(|(_, line)| heading(line).as_deref() == Some(anchor)) {
        return Ok(());
    }
    Err(("names no heading of that page", "a heading in small letters, with `-` for spaces"))
}

/// How a heading is named in links.
fn heading(line: &str) -> Option<String> {
    let text = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        letter if letter.is_alphanumeric() || "-_".contains(letter) => Some(letter),
        _ => None,
    };
    Some(text.to_lowercase().chars().filter_map(letter).collect())
}

/// Files that are shown in a page, `{{#include path}}`, and are not there.
fn includes(tree: &Tree, page: &File) -> Vec<Finding> {
    let included = |line: &str| {
        let path = line.split_once("{{#include ")?.1.split_once("}}")?.0;
        Some(path.split(':').next().unwrap_or(path).to_owned())
    };
    let missing =
        |path: &String| resolve(&page.path, path).and_then(|path| tree.file(&path)).is_none();
    page.lines()
        .filter_map(|(line, text)| Some((line, included(text)?)))
        .filter(|(_, path)| missing(path))
        .map(|(line, path)| {
            let says = format!("`{path}` is to be shown here, but there is no such file");
            Finding::new(&page.path, line, says, "name a file, relative to this page")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::Tree;

    /// What is found in a book of a summary, this page and a picture.
    fn found(summary: &str, page: &str) -> Vec<String> {
        let sample = [
            ("docs/book/src/SUMMARY.md", summary),
            ("docs/book/src/01_a.md", page),
            ("docs/book/src/pictures/a.svg", ""),
            ("examples/a.rs", ""),
        ];
        check(&Tree::sample(&sample)).iter().map(ToString::to_string).collect()
    }

    const SUMMARY: &str = "- [A](01_a.md)\n";
    const PAGE: &str = "# What it is, then\n![a](pictures/a.svg) [b](#what-it-is-then)\n\
                        ```rust\n{{#include ../../../examples/a.rs}}\n[c](nowhere.md)\n```\n";

    #[test]
    fn a_book_that_holds_together_passes() {
        assert_eq!(found(SUMMARY, PAGE), [""; 0]);
    }

    #[test]
    fn a_page_that_the_summary_does_not_list_is_found() {
        assert!(found("", PAGE)[0].contains("does not list the page"));
    }

    #[test]
    fn a_dead_link_a_dead_anchor_and_a_link_out_of_the_book_are_found() {
        for (link, says) in [
            ("[x](02_b.md)", "leads nowhere"),
            ("[x](#what)", "names no heading"),
            ("[x](01_a.md#what)", "names no heading"),
            ("[x](../../../examples/a.rs)", "leads out of the book"),
            ("![x](pictures/b.svg)", "leads nowhere"),
            ("{{#include a.rs}}", "no such file"),
        ] {
            let findings = found(SUMMARY, &format!("{PAGE}{link}\n"));
            assert_eq!(findings.len(), 1, "{link}");
            assert!(findings[0].starts_with("docs/book/src/01_a.md:7: "), "{findings:?}");
            assert!(findings[0].contains(says), "{findings:?}");
        }
    }

    #[test]
    fn a_picture_that_no_page_shows_is_found() {
        assert!(found(SUMMARY, "# A\n")[0].contains("no page shows the picture"));
    }
}
