//! HTML that surrounds the content of each page of the site.

use std::fs;
use std::path::Path;

use crate::page::escape;

/// Returns a page of the site. `name` is the path of the page in the site. The page's relative
/// links start from this path.
pub(super) fn page(name: &str, title: &str, body: &str) -> String {
    let up = "../".repeat(name.matches('/').count());
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<link rel=\"stylesheet\" href=\"{up}site.css\">\n</head>\n<body>\n\
         <nav aria-label=\"Site\"><a href=\"{up}index.html\">Tenure</a> \
         <a href=\"{up}page.html\">Simulator and checker</a> \
         <a href=\"{up}book/introduction.html\">Book</a> \
         <a href=\"{up}algorithms/index.html\">Algorithms</a> \
         <a href=\"{up}docs/index.html\">Documents</a></nav>\n\
         <main id=\"chapter\">\n{body}</main>\n</body>\n</html>\n"
    )
}

/// Returns the first page of the site. `algorithms` contains the names of the algorithms.
pub(super) fn front(algorithms: &[String], has_api: bool) -> String {
    let count = algorithms.len();
    let api = if has_api {
        "<li><a href=\"api/tenure/index.html\">Library</a>: the interface for Rust.</li>\n"
    } else {
        ""
    };
    let body = format!(
        "<h1>Tenure</h1>\n<p>Leader election and distributed mutual exclusion that you can check, \
         watch and run.</p>\n<ul>\n\
         <li><a href=\"page.html\">Simulator and checker</a>: one file that works in any browser, \
         also without a network.</li>\n\
         <li><a href=\"book/introduction.html\">Book</a>: from one step to a real cluster.</li>\n\
         <li><a href=\"algorithms/index.html\">Algorithms</a>: all {count}, each with a live \
         picture.</li>\n\
         <li><a href=\"docs/index.html\">Documents</a>: the lock service, its operation, and the \
         formats.</li>\n{api}</ul>\n"
    );
    page("index.html", "Tenure", &body)
}

/// Returns the style sheet: the colours of all pages, and the form of texts.
pub(super) fn styles(root: &Path) -> Result<String, String> {
    let palette = root.join("crates/trace/src/diagram/html/viewer/palette.css");
    let lab = root.join("crates/lab/src/page/lab.css");
    let read = |file: &Path| {
        fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
    };
    Ok([read(&palette)?, read(&lab)?, OWN.to_owned()].concat())
}

const OWN: &str = "\
body>nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin-bottom:14px}
body>nav a:first-child{font-weight:bold}
#chapter{margin:0 auto}
.live{width:100%;height:820px;border:1px solid var(--faint);border-radius:6px}
.links{position:static}
";
