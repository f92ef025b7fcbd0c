//! Tests of the guards, recipes and programs in `examples`, with real processes and a real lock
//! service.
//!
//! A test that needs a missing program prints `skipped: needs …` and passes.
#![cfg(target_os = "linux")]

mod databases;
mod guards;
mod holder;
#[path = "../support/killed.rs"]
mod killed;
mod kubernetes;
mod languages;
mod machines;
#[path = "../support/member.rs"]
mod member;
mod service;
#[path = "../support/skipped.rs"]
mod skipped;
mod systemd;

#[allow(dead_code, reason = "an example has a main function")]
#[path = "../../examples/08_fenced_service.rs"]
mod fenced_service;
#[allow(dead_code, reason = "an example has a main function")]
#[path = "../../examples/07_object_store.rs"]
mod object_store;
