//! The page.

use tenure_web::Asset;

/// All that the page is made of.
pub(crate) fn assets() -> Vec<Asset> {
    vec![Asset::html("/", include_str!("lab.html"))]
}
