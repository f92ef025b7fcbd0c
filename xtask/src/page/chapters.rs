//! Chapters of the book as HTML, for the page.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::html::escape;
use super::markdown::{Document, LinkTarget};
use crate::tidy::link_targets;

pub(crate) const BOOK_DIRECTORY: &str = "docs/book/src";

/// Returns the names of the book's files, without `.md`, in the order in which the summary of the
/// book lists them.
pub(crate) fn chapter_names(root: &Path) -> Result<Vec<String>, String> {
    let summary = read(&root.join(BOOK_DIRECTORY).join("SUMMARY.md"))?;
    let all = summary.lines().flat_map(link_targets);
    Ok(all.filter_map(|link| link.strip_suffix(".md").map(str::to_owned)).collect())
}

/// Returns all chapters as JSON: their names, titles and HTML.
pub(super) fn chapters_json(root: &Path) -> Result<String, String> {
    let folder = root.join(BOOK_DIRECTORY);
    let names = chapter_names(root)?;
    let chapter = |name: &String| {
        let document = Document::new(&read(&folder.join(format!("{name}.md")))?);
        let picture = |file: &str| -> Result<String, String> {
            let bytes = fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
            Ok(format!("data:image/svg+xml;base64,{}", STANDARD.encode(bytes)))
        };
        let html = document.to_html(&|link| target(link, &names), &picture, &|_| String::new())?;
        Ok(json!({ "name": name, "title": document.title(), "html": html }))
    };
    let chapters: Result<Vec<_>, String> = names.iter().map(chapter).collect();
    Ok(json!(chapters?).to_string())
}

/// Returns the target of a link in a chapter: another chapter, a heading, or another site. `None`
/// for other files of the repository, which are not part of the page.
fn target(link: &str, names: &[String]) -> Option<LinkTarget> {
    if link.contains("://") {
        return Some(LinkTarget { href: link.to_owned(), attributes: String::new() });
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let name = file.strip_suffix(".md").unwrap_or(file);
    if !name.is_empty() && !names.iter().any(|known| known == name) {
        return None;
    }
    let heading_part = if heading.is_empty() { "" } else { "&heading=" };
    let attributes =
        format!(" data-chapter=\"{}\" data-heading=\"{}\"", escape(name), escape(heading));
    Some(LinkTarget { href: format!("#book={name}{heading_part}{heading}"), attributes })
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn links_lead_to_chapters_headings_and_sites() {
        let names = ["06_rings".to_owned()];
        let of = |link: &str| target(link, &names);
        let rings = of("06_rings.md#the-worst-order").unwrap();
        assert_eq!(rings.href, "#book=06_rings&heading=the-worst-order");
        assert!(rings.attributes.contains("data-chapter=\"06_rings\""), "{}", rings.attributes);
        assert!(of("#here").unwrap().attributes.contains("data-heading=\"here\""));
        assert_eq!(of("https://example.org/a").unwrap().href, "https://example.org/a");
        assert!(of("../../lab.md").is_none() && of("missing.md").is_none());
    }
}
