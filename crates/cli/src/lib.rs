//! Leader election and distributed mutual exclusion that you can check, watch and run.
//!
//! An algorithm is written once, as a pure state machine, and the very same code is simulated,
//! exhaustively checked, and run for real over TCP. Here three processes of Ricart and Agrawala's
//! lock are driven by hand; a network is whatever carries their messages:
//!
//! ```
//! use std::collections::VecDeque;
//!
//! use tenure::algorithms::mutex::{RicartAgrawala, ricart_agrawala};
//! use tenure::core::service::mutex::{Command, Event};
//! use tenure::core::{Group, Input, Node, ProcessId, Still};
//!
//! let config = ricart_agrawala::Config::default();
//! let groups = (0..3).map(|me| Group::new(ProcessId(me), 3));
//! let boot = |group| Node::<RicartAgrawala>::boot(group, &config, None, Still);
//! let mut nodes: Vec<_> = groups.map(boot).collect();
//!
//! // P1 and P2 both ask to enter; messages are delivered in the order in which they were sent.
//! let asks = [0, 1].map(|at| (ProcessId(at), Input::Command(Command::Enter)));
//! let mut inputs = VecDeque::from(asks);
//! let mut entered = Vec::new();
//! while let Some((at, input)) = inputs.pop_front() {
//!     let released = nodes[at.index()].step(input).saved();
//!     for (to, message) in released.messages {
//!         inputs.push_back((to, Input::Message { from: at, message }));
//!     }
//!     entered.extend(released.events.map(|event| (at, event)));
//! }
//! // Only P1, whose request comes first, got everybody's permission.
//! assert!(matches!(entered[..], [(ProcessId(0), Event::Entered { .. })]));
//! ```
//!
//! | crate | what for |
//! |---|---|
//! | [`core`] | the vocabulary: protocols, effects, services, monitors, cards |
//! | [`algorithms`] | one file for each published algorithm, and how they are put together |
//! | [`trace`] | what happened: written, merged, shown and judged |
//! | [`sim`] | seeded runs in virtual time, with faults, monitors and metrics |
//! | [`check`] | every schedule of a small group, with shortest counterexamples |
//! | [`runtime`] | a protocol over TCP, with what it saves on disk |
//! | [`daemon`] | a node as a process |
//!
//! A service that wants a lock of its own starts with [`daemon`], and needs none of the features
//! that are on by default; beyond one machine it needs `keys`.
//!
//! | feature | what for |
//! |---|---|
//! | `keys` | nodes beyond this machine: they know each other by keys, and seal what they say |
//! | `file` | configurations that are files |
//! | `page` | a page on which a browser shows what a node does |
//! | `sim`, `check` | the engines of these names |
//! | `command` | all of them, and the command `tenure`, as a program and as a function |
//! | `service` (default) | `command`, and the lock service: `tenure serve`, `run --service` |
//! | `tls` | the same for clients who speak TLS |
//!
//! A program whose `main` is
//! `tenure::main(tenure::catalogue![MyLock])` is that command, with an algorithm of its own in it.
//!
#![doc = include_str!("../README.md")]

#[cfg(feature = "command")]
mod cmd;

/// What the front page shows is compiled.
#[cfg(all(doctest, feature = "command"))]
#[doc = include_str!("../../../README.md")]
struct FrontPage;

#[cfg(feature = "command")]
pub use cmd::main;
pub use serde;
pub use tenure_algorithms as algorithms;
#[cfg(feature = "check")]
pub use tenure_check as check;
pub use tenure_core as core;
pub use tenure_daemon as daemon;
#[cfg(feature = "command")]
pub use tenure_instances::{Catalogue, applications, catalogue};
pub use tenure_runtime as runtime;
#[cfg(feature = "sim")]
pub use tenure_sim as sim;
pub use tenure_trace as trace;
