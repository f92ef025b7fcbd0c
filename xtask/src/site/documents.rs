//! The book and the documents of the repository as HTML.

use std::path::Path;

use super::{fragment, template};
use crate::page::markdown::Document;
use crate::page::{BOOK_DIRECTORY, LinkTarget, chapter_names, escape};
use crate::tidy::{RepositoryFile, RepositoryTree, resolve_path};

/// Pairs of folders. The first folder is in the repository and contains documents. The second
/// folder is in the site and receives the pages of these documents.
const FOLDERS: [(&str, &str); 2] = [("docs/book/src/", "book/"), ("docs/", "docs/")];

/// Documents at the root of the repository that are part of the site.
const ROOT_DOCUMENTS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md"];

/// Returns the pages of the book and of all documents, with the pictures that they show.
///
/// `repository` is the web address of the repository. If the site does not contain the file to
/// which a link leads, the link leads to the file at this address. If `repository` is `None`, only
/// the text of such a link remains.
pub(super) fn document_pages(
    root: &Path,
    repository: Option<&str>,
) -> Result<Vec<(String, String)>, String> {
    let tree = RepositoryTree::read(root)
        .map_err(|error| format!("cannot read the repository: {error}"))?;
    let chapters = chapter_names(root)?;
    let mut pages = Vec::new();
    let mut listed = Vec::new();
    for file in tree.files() {
        if file.path.ends_with(".svg") && file.path.starts_with(BOOK_DIRECTORY) {
            pages.extend(site_path(&file.path).map(|name| (name, file.text.clone())));
        }
        let Some(name) = page_of(&file.path) else { continue };
        let document = Document::new(&file.text);
        let target = |link: &str| target(&tree, file, link, repository);
        let page = format!("{}page.html", "../".repeat(name.matches('/').count()));
        let after = |commands: &[String]| fragment::command_links(&page, commands);
        let mut body = document.to_html(&target, &|picture| Ok(picture.to_owned()), &after)?;
        if file.path.starts_with(BOOK_DIRECTORY) {
            body += &next_chapter(&file.path, &chapters);
        } else {
            listed.push((name.clone(), document.title()));
        }
        pages.push((name.clone(), template::page(&name, &document.title(), &body)));
    }
    pages.push(("docs/index.html".to_owned(), contents(&listed)));
    Ok(pages)
}

/// Returns the path in the site for a file of the repository. `None` if the site does not contain
/// the file.
fn site_path(path: &str) -> Option<String> {
    if ROOT_DOCUMENTS.contains(&path) {
        return Some(format!("docs/{}", path.to_lowercase()));
    }
    FOLDERS.iter().find_map(|(from, to)| Some(format!("{to}{}", path.strip_prefix(from)?)))
}

/// Returns the path of the page that shows a document of the repository. `None` if the site does
/// not contain such a page.
fn page_of(path: &str) -> Option<String> {
    let name = site_path(path)?;
    (!path.ends_with("SUMMARY.md"))
        .then(|| name.strip_suffix(".md").map(|it| format!("{it}.html")))?
}

/// Returns the target on the site for the link `link` in the document `from`. Returns `None` if the
/// link has no target. The page then shows only the text of the link.
fn target(
    tree: &RepositoryTree,
    from: &RepositoryFile,
    link: &str,
    repository: Option<&str>,
) -> Option<LinkTarget> {
    let plain = |href: String| Some(LinkTarget { href, attributes: String::new() });
    if link.contains("://") || link.starts_with('#') || link.starts_with("mailto:") {
        return plain(link.to_owned());
    }
    let (file, heading) = match link.split_once('#') {
        Some((file, heading)) => (file, format!("#{heading}")),
        None => (link, String::new()),
    };
    let path = resolve_path(&from.path, file)?;
    if let Some(page) = page_of(&path)
        && tree.file(&path).is_some()
    {
        let up = "../".repeat(page_of(&from.path)?.matches('/').count());
        return plain(format!("{up}{page}{heading}"));
    }
    repository.and_then(|host| plain(format!("{host}/{path}{heading}")))
}

/// Returns a link to the chapter that follows the chapter at `path`, as HTML. Returns an empty text
/// if no chapter follows.
fn next_chapter(path: &str, chapters: &[String]) -> String {
    let here = chapters.iter().position(|name| path.ends_with(&format!("/{name}.md")));
    let next = here.and_then(|here| chapters.get(here + 1));
    next.map_or_else(String::new, |name| {
        format!("<p><a href=\"{0}.html\">Next chapter</a></p>\n", escape(name))
    })
}

fn contents(listed: &[(String, String)]) -> String {
    let row = |(name, title): &(String, String)| {
        let name = name.strip_prefix("docs/").unwrap_or(name);
        format!("<li><a href=\"{}\">{}</a></li>\n", escape(name), escape(title))
    };
    let rows: String = listed.iter().map(row).collect();
    template::page(
        "docs/index.html",
        "Documents",
        &format!("<h1>Documents</h1>\n<ul>\n{rows}</ul>\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::{next_chapter, page_of, target};
    use crate::tidy::RepositoryTree;

    fn href(from: &str, link: &str, repository: Option<&str>) -> Option<String> {
        let files = ["docs/lab.md", "docs/book/src/01_a.md", "README.md", "crates/core/src/a.rs"];
        let tree = RepositoryTree::from_files(&files.map(|path| (path, "")));
        target(&tree, tree.file(from).unwrap(), link, repository).map(|target| target.href)
    }

    #[test]
    fn documents_link_to_pages_of_the_site() {
        let of = |from, link| href(from, link, None);
        assert_eq!(of("README.md", "docs/lab.md#keys").unwrap(), "../docs/lab.html#keys");
        assert_eq!(of("docs/lab.md", "book/src/01_a.md").unwrap(), "../book/01_a.html");
        assert_eq!(of("docs/book/src/01_a.md", "../../lab.md").unwrap(), "../docs/lab.html");
        assert_eq!(of("docs/lab.md", "https://a.org").unwrap(), "https://a.org");
        assert_eq!(of("docs/lab.md", "missing.md"), None);
    }

    #[test]
    fn other_files_are_linked_at_their_host() {
        let link = "../crates/core/src/a.rs";
        assert_eq!(href("docs/lab.md", link, None), None);
        let host = Some("https://host.org/blob/main");
        let found = href("docs/lab.md", link, host).unwrap();
        assert_eq!(found, "https://host.org/blob/main/crates/core/src/a.rs");
    }

    #[test]
    fn chapters_lead_to_the_next_one() {
        let chapters = ["01_a".to_owned(), "02_b".to_owned()];
        assert!(next_chapter("docs/book/src/01_a.md", &chapters).contains("02_b.html"));
        assert_eq!(next_chapter("docs/book/src/02_b.md", &chapters), "");
        assert_eq!(page_of("docs/book/src/SUMMARY.md"), None);
        assert_eq!(page_of("crates/lab/README.md"), None);
    }
}
