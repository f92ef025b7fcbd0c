//! An HTTP server for pages and data on one machine, with rules for requests and responses.
//!
//! All pages of this workspace are served by it, so the rules are written once:
//!
//! - A server listens on loopback only. Beyond loopback it requires a random token, which is part
//!   of the printed URL.
//! - The `Host` of a request must be an IP address of the server or `localhost`. With other names
//!   any web page could read the data by DNS rebinding.
//! - Pages of other sites may link to the server and do nothing else. If the browser reports the
//!   site of a request (`Sec-Fetch-Site`, `Origin`), it must be this one.
//! - Connections cannot block each other. There are 32 at a time, and those that have sent no
//!   request make room. The head of a request must arrive within 5 seconds, its body within 20, and
//!   a body has at most 16 MiB.
//! - Responses are not cached, run no scripts but those of the server, and send no referrer,
//!   because the URL may contain the token.
//!
#![doc = include_str!("../README.md")]

mod asset;
mod body;
mod connections;
mod http_error;
mod request_policy;
mod server;
mod token;

pub use asset::Asset;
pub use axum;
pub use http_error::HttpError;
pub use server::{Server, WebError};
