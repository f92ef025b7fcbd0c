//! A laboratory in the browser: the simulator, step by step, with somebody who meddles.
//!
//! A sitting is one algorithm with the options of a simulation. It has a tree of *moments*; the
//! first is the beginning, each other one was reached from its parent by one *step*: what the
//! simulator would do next, or what somebody did instead. Going back to an old moment and doing
//! something else there makes a branch.
//!
//! A history is data: the settings, the seed, and what was done after which step. Nothing else of a
//! run is kept. To show a moment, the run is made again from its beginning to there, by the
//! simulator that `tenure simulate` uses; so going back costs no more than going on, and what the
//! lab shows is what the command line makes again (`--steer`).
//!
//! The lab does not know the catalogue: whoever serves it brings a [`Workshop`], which turns words
//! into an [`Engine`].
//!
#![doc = include_str!("../README.md")]

mod act;
mod engine;
mod ground;
mod look;
mod page;
mod patience;
mod routes;
mod sitting;
mod view;
mod words;

pub use engine::{Apparatus, Cause, Engine, Mark, Run, Shown, Then, Workshop};
pub use ground::Ground;
pub use patience::Patience;
pub use routes::Lab;
