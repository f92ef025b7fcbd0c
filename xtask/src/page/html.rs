//! HTML of the page. The page is the HTML of the lab, which is the web interface of Tenure. It
//! contains the style sheets and scripts that the lab would load. It also contains parts that the
//! lab does not load: the engine as WebAssembly with its worker, the questions and the book.

/// Content security policy of the page. The policy permits the scripts of the page, and a worker
/// that runs the engine. The policy does not permit the page to send requests.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; \
                      worker-src blob:; style-src 'unsafe-inline'; img-src data: blob:; \
                      connect-src 'none'; form-action 'none'; base-uri 'none'";

/// Parts that the page embeds into the HTML of the lab.
pub(super) struct EmbeddedParts {
    pub(super) styles: String,
    pub(super) script: String,
    /// Script of the worker that calls the WebAssembly module.
    pub(super) worker: String,
    /// WebAssembly module, compressed and in base64.
    pub(super) module: String,
    /// Questions, as JSON.
    pub(super) questions: String,
    /// Chapters of the book, as JSON.
    pub(super) book: String,
}

/// Returns the HTML of the page: the HTML of the lab, into which the function embeds `parts`.
///
/// # Errors
///
/// Returns an error if the HTML of the lab lacks a place for a part, or contains a place twice.
/// Also returns an error if a script contains the text `</script`, because a browser would end the
/// script at this text.
pub(super) fn embed_parts(lab_html: &str, parts: &EmbeddedParts) -> Result<String, String> {
    let EmbeddedParts { styles, script, worker, module, questions, book } = parts;
    for (name, text) in [("script", script), ("worker", worker)] {
        if text.to_ascii_lowercase().contains("</script") {
            return Err(format!("the {name} contains the end of a script"));
        }
    }
    let start = lab_html.find("<meta http-equiv=\"Content-Security-Policy\"");
    let start = start.ok_or("the lab's HTML has no content security policy")?;
    let end = start + lab_html[start..].find('>').ok_or("the policy has no end")? + 1;
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">");
    let mut page = [&lab_html[..start], &policy, &lab_html[end..]].concat();
    let data = |id: &str, json: &str| {
        let json = json.replace('<', "\\u003c");
        format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n")
    };
    let text =
        |id: &str, text: &str| format!("<script type=\"text/plain\" id=\"{id}\">{text}</script>\n");
    let body = [
        &data("questions-data", questions),
        &data("book-data", book),
        &text("engine-worker", worker),
        &text("engine-module", module),
        &format!("<script type=\"module\">\n{script}</script>\n</body>"),
    ]
    .map(String::as_str)
    .concat();
    let replacements = [
        ("<link rel=\"stylesheet\" href=\"palette.css\">\n", ""),
        ("<link rel=\"stylesheet\" href=\"lab.css\">", &format!("<style>\n{styles}</style>")),
        ("<script type=\"module\" src=\"lab.js\"></script>\n", ""),
        ("<title>Tenure lab</title>", "<title>Tenure</title>"),
        ("<h1>Tenure lab</h1>", "<h1>Tenure</h1>"),
        ("</body>", &body),
    ];
    for (old, new) in replacements {
        if page.matches(old).count() != 1 {
            return Err(format!("expected {old:?} once in the lab's HTML"));
        }
        page = page.replacen(old, new, 1);
    }
    Ok(page)
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{EmbeddedParts, embed_parts};

    const LAB: &str = include_str!("../../../crates/lab/src/page/lab.html");

    fn parts(script: &str) -> EmbeddedParts {
        let text = |text: &str| text.to_owned();
        EmbeddedParts {
            styles: text("body{}"),
            script: text(script),
            worker: text("onmessage = () => {};"),
            module: text("AAAA"),
            questions: text("[\"</script>\"]"),
            book: text("[]"),
        }
    }

    #[test]
    fn page_loads_nothing() {
        let page = embed_parts(LAB, &parts("run();\n")).unwrap();
        for loaded in ["<link rel=\"stylesheet\"", " src=", "'self'", "http://", "https://"] {
            assert!(!page.contains(loaded), "{loaded}");
        }
        assert!(page.contains("connect-src 'none'"));
        assert!(page.contains("<style>\nbody{}</style>") && page.contains("\nrun();\n</script>"));
        assert!(page.contains("[\"\\u003c/script>\"]"), "data cannot end its script");
    }

    #[test]
    fn rejects_script_that_ends_early() {
        assert!(embed_parts(LAB, &parts("'</SCRIPT>'")).is_err());
        assert!(embed_parts("<html></html>", &parts("")).is_err());
    }
}
