//! The lab's page: JavaScript modules and a style sheet, without external resources.

use std::sync::OnceLock;

use tenure_trace::diagram::{ELEMENT_HELPERS_JS, PALETTE_CSS};
use tenure_web::Asset;

/// Creates the asset of a JavaScript module. The argument is the name of the file without the
/// extension `.js`.
macro_rules! module {
    ($name:literal) => {
        Asset::script(concat!("/", $name, ".js"), include_str!(concat!($name, ".js")))
    };
}

/// Returns the JavaScript module with the helpers that create elements of the page.
fn elements() -> &'static str {
    // Built once per process.
    static MODULE: OnceLock<String> = OnceLock::new();
    MODULE.get_or_init(|| {
        format!("{ELEMENT_HELPERS_JS}export {{ byId, element, facts, updateChildren }};\n")
    })
}

/// Returns all static files of the page.
pub(crate) fn assets() -> Vec<Asset> {
    vec![
        Asset::html("/", include_str!("lab.html")),
        Asset::css("/palette.css", PALETTE_CSS),
        Asset::css("/lab.css", include_str!("lab.css")),
        Asset::script("/element.js", elements()),
        module!("api"),
        module!("book"),
        module!("check"),
        module!("command"),
        module!("diagram"),
        module!("examples"),
        module!("errors"),
        module!("figures"),
        module!("files"),
        module!("form"),
        module!("geometry"),
        module!("histories"),
        module!("http"),
        module!("keys"),
        module!("lab"),
        module!("menu"),
        module!("messages"),
        module!("module_engine"),
        module!("motion"),
        module!("partition"),
        module!("path"),
        module!("picture"),
        module!("place"),
        module!("processes"),
        module!("questions"),
        module!("session"),
        module!("state"),
        module!("timers"),
        module!("tree"),
        module!("verdicts"),
        module!("views"),
        module!("words"),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn documented_controls_are_on_the_page() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.md");
        let document = fs::read_to_string(path).expect("the document exists").replace("**", "");
        // Emphasized words that begin with a capital letter are controls.
        let emphasized = document.split('*').skip(1).step_by(2);
        let controls: Vec<&str> =
            emphasized.filter(|text| text.starts_with(char::is_uppercase)).collect();
        assert!(controls.contains(&"Next event"), "{controls:?}");
        for control in controls {
            let label = format!(">{control}<");
            assert!(include_str!("lab.html").contains(&label), "no {control} on the page");
        }
    }
}
