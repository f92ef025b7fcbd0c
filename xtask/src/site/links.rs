//! Check of the site's links: each must lead to a file of the site, and to an identifier in that
//! file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::tidy::resolve_path;

/// Matches the address of a link, a picture or a frame.
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\s(?:href|src)="([^"]*)""#).expect("a valid pattern"));
/// Matches the identifier of an element.
static IDENTIFIER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\sid="([^"]*)""#).expect("a valid pattern"));

/// Returns a line for each link of `files` that leads nowhere. Links to other sites are not
/// checked. Files that exist only in the folder `out`, such as the documentation of the library,
/// are valid targets.
pub(super) fn dead_links(out: &Path, files: &[(String, String)]) -> Vec<String> {
    let pages = || files.iter().filter(|(name, _)| name.ends_with(".html"));
    let identifiers: BTreeSet<(&str, &str)> = pages()
        .flat_map(|(name, text)| {
            let found = IDENTIFIER.captures_iter(text);
            found.map(move |found| (name.as_str(), found.get(1).map_or("", |it| it.as_str())))
        })
        .collect();
    let mut dead = Vec::new();
    for (name, text) in pages() {
        for found in ADDRESS.captures_iter(text) {
            let address = found[1].replace("&amp;", "&");
            if is_elsewhere(&address) {
                continue;
            }
            let (file, heading) = address.split_once('#').unwrap_or((&address, ""));
            let target =
                if file.is_empty() { Some(name.clone()) } else { resolve_path(name, file) };
            let is_there = target.is_some_and(|target| {
                let is_known = files.iter().any(|(known, _)| *known == target);
                // Only files of the site have known identifiers. In a link to the page of the
                // simulator, the fragment is a command to open, and not an identifier.
                let has_heading = heading.is_empty()
                    || !is_known
                    || identifiers.contains(&(target.as_str(), heading));
                (is_known || out.join(&target).is_file()) && has_heading
            });
            if !is_there {
                dead.push(format!("{name}: the link to {address} is dead"));
            }
        }
    }
    dead
}

fn is_elsewhere(address: &str) -> bool {
    address.contains("://") || address.starts_with("data:") || address.starts_with("mailto:")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::dead_links;

    fn found(text: &str) -> Vec<String> {
        let page = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let files = [page("docs/a.html", text), page("book/b.html", "<h2 id=\"c\">C</h2>")];
        dead_links(Path::new("/nonexistent"), &files)
    }

    #[test]
    fn accepts_links_to_pages_headings_and_other_sites() {
        let text = "<a href=\"../book/b.html#c\">b</a> <a href=\"https://a.org/x\">x</a> \
                    <i id=\"d\"></i><a href=\"#d\">d</a> <img src=\"data:,\">";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn finds_dead_links() {
        for text in [
            "<a href=\"b.html\">b</a>",
            "<a href=\"../book/b.html#e\">b</a>",
            "<a href=\"#d\">d</a>",
            "<img alt=\"\" src=\"missing.svg\">",
            "<a href=\"../../outside.html\">o</a>",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }
}
