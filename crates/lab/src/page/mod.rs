//! The page: plain modules of JavaScript, one sheet of styles, nothing from elsewhere.

use std::sync::OnceLock;

use tenure_trace::diagram::{ELEMENTS, PALETTE};
use tenure_web::Asset;

/// A module of the page.
macro_rules! module {
    ($name:literal) => {
        Asset::script(concat!("/", $name, ".js"), include_str!(concat!($name, ".js")))
    };
}

/// What every page of the house is put together with, as a module.
fn elements() -> &'static str {
    // Once, for as long as the program runs.
    static MODULE: OnceLock<String> = OnceLock::new();
    MODULE.get_or_init(|| format!("{ELEMENTS}export {{ byId, element, facts, updateChildren }};\n"))
}

/// All that the page is made of.
pub(crate) fn assets() -> Vec<Asset> {
    vec![
        Asset::html("/", include_str!("lab.html")),
        Asset::css("/palette.css", PALETTE),
        Asset::css("/lab.css", include_str!("lab.css")),
        Asset::script("/element.js", elements()),
        module!("api"),
        module!("diagram"),
        module!("examples"),
        module!("failing"),
        module!("figures"),
        module!("files"),
        module!("form"),
        module!("geometry"),
        module!("histories"),
        module!("keys"),
        module!("lab"),
        module!("menu"),
        module!("messages"),
        module!("processes"),
        module!("session"),
        module!("stage"),
        module!("state"),
        module!("tree"),
        module!("verdicts"),
        module!("words"),
    ]
}
