//! What a process must find again after a crash: its stable projection and its session.
//!
//! A [`Store`] is a directory that one node at a time owns. Every [`Store::save`] replaces the
//! state as a whole and is durable when it returns; at any moment of a crash the directory holds
//! either the state before or the state after, and damage is told apart from absence. All calls
//! block on the disk: a caller on an asynchronous runtime decides where they run.
//!
//! `docs/wire.md` describes the file byte by byte.

mod file;
mod image;

pub use file::{OpenError, SaveError, Store};
pub use image::{Damage, FORMAT_VERSION, Owner};
