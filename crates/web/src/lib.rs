//! Pages and data for a browser: who may ask, and what an answer may do there.
//!
//! Whatever this workspace shows in a browser is served from here, so that the rules are written
//! once:
//!
//! - A server listens on this machine alone. One that listens beyond it demands a token, which is
//!   drawn at random and part of the address that is printed.
//! - A request names the server by a number or as `localhost`. A name that somebody else's domain
//!   server resolves is refused, or any page could read what is served here (DNS rebinding).
//! - Pages of other sites may lead here and do nothing else: where a browser tells which site asks
//!   (`Sec-Fetch-Site`, `Origin`), it has to be this one.
//! - Nobody holds up anybody: there are 32 connections at a time, of which those that never asked
//!   anything make room, a head has 5 seconds, and what a request carries has 20 and 16 MiB.
//! - Answers are kept by nobody, run no script but the server's own, and tell no other site the
//!   address, which may hold the token.
//!
#![doc = include_str!("../README.md")]

mod asset;
mod carried;
mod guard;
mod refusal;
mod server;
mod token;
mod visitors;

pub use asset::Asset;
pub use axum;
pub use refusal::Refusal;
pub use server::{Server, WebError};
