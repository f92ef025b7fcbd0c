//! Leader election and distributed mutual exclusion that you can check, watch and run.
//!
//! An algorithm is written once, as a pure state machine. The same code is simulated, exhaustively
//! checked, and run over TCP. The following example drives three processes of Ricart and Agrawala's
//! lock by hand. The queue of inputs is the network:
//!
//! ```
//! use std::collections::VecDeque;
//!
//! use tenure::algorithms::mutex::{RicartAgrawala, ricart_agrawala};
//! use tenure::core::service::mutex::{Command, Event};
//! use tenure::core::{ConstantEnvironment, Group, Input, Node, ProcessId};
//!
//! let config = ricart_agrawala::Config::default();
//! let groups = (0..3).map(|me| Group::new(ProcessId(me), 3));
//! let boot = |group| Node::<RicartAgrawala>::boot(group, &config, None, ConstantEnvironment);
//! let mut nodes: Vec<_> = groups.map(boot).collect();
//!
//! // P1 and P2 both request the critical section; messages are delivered in the order of sending.
//! let requests = [0, 1].map(|at| (ProcessId(at), Input::Command(Command::Enter)));
//! let mut inputs = VecDeque::from(requests);
//! let mut entered = Vec::new();
//! while let Some((at, input)) = inputs.pop_front() {
//!     let released = nodes[at.index()].step(input).mark_saved();
//!     for (to, message) in released.messages {
//!         inputs.push_back((to, Input::Message { from: at, message }));
//!     }
//!     entered.extend(released.events.map(|event| (at, event)));
//! }
//! // Only P1, whose request is the earliest, has the permission of all processes.
//! assert!(matches!(entered[..], [(ProcessId(0), Event::Entered { .. })]));
//! ```
//!
//! | crate | purpose |
//! |---|---|
//! | [`core`] | the common types: protocols, effects, services, monitors, cards |
//! | [`algorithms`] | one file for each published algorithm, and their compositions |
//! | [`trace`] | recorded runs: writing, merging, drawing and judging them |
//! | [`sim`] | simulation in virtual time from a seed, with faults, monitors and metrics |
//! | [`check`] | model checking of small groups, with shortest counterexamples |
//! | [`runtime`] | running a protocol over TCP, with its state on disk |
//! | [`daemon`] | a node as an operating-system process |
//! | [`lab`] | the simulator in a browser, with faults that the user injects |
//!
//! To embed a lock in a service, start with [`daemon`]. It needs none of the default features.
//! Nodes on more than one machine need the feature `keys`.
//!
//! | feature | purpose |
//! |---|---|
//! | `keys` | nodes on several machines: authentication and encryption by keys |
//! | `file` | configuration files |
//! | `page` | the status page of a node, for a browser |
//! | `sim`, `check` | the simulator and the checker |
//! | `command` | all features above, and the command `tenure` as a program and as a function |
//! | `plots` (default) | plots of sweeps as PNG and PDF, not only as SVG |
//! | `service` (default) | `command`, and the lock service: `tenure serve`, `run --service` |
//! | `tls` | the lock service and its clients over TLS |
//! | `otel` | spans of the lock service for an OpenTelemetry collector |
//!
//! A program whose `main` is `tenure::main(tenure::catalogue![MyLock], tenure::monitors![])` is
//! the command `tenure` with an additional algorithm. Monitors in the second list judge every
//! algorithm of their service.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(
    target_family = "wasm",
    allow(dead_code, reason = "a page has no sockets, processes or terminal")
)]

#[cfg(feature = "command")]
mod cmd;
#[cfg(feature = "command")]
mod lessons;
#[cfg(feature = "command")]
mod nearest;

/// Contains the README, so that its examples are compiled as doctests.
#[cfg(all(doctest, feature = "command"))]
#[doc = include_str!("../../../README.md")]
struct FrontPage;

#[cfg(feature = "command")]
pub use cmd::{embedded, main};
pub use serde;
pub use tenure_algorithms as algorithms;
#[cfg(feature = "check")]
pub use tenure_check as check;
pub use tenure_core as core;
#[cfg(not(target_family = "wasm"))]
pub use tenure_daemon as daemon;
#[cfg(feature = "command")]
pub use tenure_instances::{CustomAlgorithms, CustomMonitors, applications, catalogue, monitors};
#[cfg(feature = "command")]
pub use tenure_lab as lab;
#[cfg(not(target_family = "wasm"))]
pub use tenure_runtime as runtime;
#[cfg(feature = "sim")]
pub use tenure_sim as sim;
pub use tenure_trace as trace;
