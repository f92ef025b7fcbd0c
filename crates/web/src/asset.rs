//! Static files of a page, compiled into the program.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

/// A static file that is compiled into the program. A request for the file needs no token.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    path: &'static str,
    content_type: &'static str,
    body: &'static str,
}

impl Asset {
    /// Creates an asset that is an HTML page. `path` is the path of its URL, such as `/`.
    pub const fn html(path: &'static str, body: &'static str) -> Self {
        Asset { path, content_type: "text/html; charset=utf-8", body }
    }

    /// Creates an asset that is a style sheet.
    pub const fn css(path: &'static str, body: &'static str) -> Self {
        Asset { path, content_type: "text/css; charset=utf-8", body }
    }

    /// Creates an asset that is a script or a JavaScript module.
    pub const fn script(path: &'static str, body: &'static str) -> Self {
        Asset { path, content_type: "text/javascript; charset=utf-8", body }
    }

    /// Creates an asset that is an SVG image.
    pub const fn svg(path: &'static str, body: &'static str) -> Self {
        Asset { path, content_type: "image/svg+xml", body }
    }

    pub(crate) fn add_to_router(self, router: Router) -> Router {
        let Asset { path, content_type, body } = self;
        router.route(path, get(async move || ([(CONTENT_TYPE, content_type)], body)))
    }
}
