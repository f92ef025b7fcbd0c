//! An HTTP server for pages and data on one machine, with rules for requests and responses.
//!
//! This server serves all pages of the workspace. The same rules hold for all of them:
//!
//! - On a loopback address, a server requires no token. On any other address, a request for data
//!   must contain a random token, which is part of the printed URL.
//! - The `Host` of a request must be `localhost`, a loopback address or the address to which the
//!   server is bound. If this is an unspecified address, such as `0.0.0.0`, any IP address is
//!   accepted. If the server accepted other names, any web page could read the data by DNS
//!   rebinding.
//! - A page of another origin may link to the server. All other requests from such a page are
//!   rejected, if the browser reports the origin of the page (`Sec-Fetch-Site`, `Origin`).
//! - Connections cannot block each other. A server has at most 32 connections at a time. If a
//!   further client connects, the server closes a connection on which it processes no permitted
//!   request. If there are several such connections, it closes the one whose last request is the
//!   oldest. If there is none, it closes the new connection. A request that is rejected, or that
//!   reads a static file, does not keep a connection open. By default, the head of a request must
//!   arrive within 5 seconds, and the body within 20 seconds. A body has at most 16 MiB.
//! - Responses are not cached. A page may run only scripts of the server. The page sends no
//!   referrer, because the URL may contain the token.
//!
#![doc = include_str!("../README.md")]

mod activity;
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
pub use server::{Server, StartError};
