//! Browser laboratory: the simulator, step by step, with interventions by the user.
//!
//! A session is one run of an algorithm with the options of a simulation. The session has a tree of
//! *moments*. The root is the beginning of the run. Each other moment is reached from its parent by
//! one *transition*: the next step of the simulator, or an action of the user. A user who goes back
//! to an earlier moment and acts differently creates a branch.
//!
//! The history of a run is stored as data: the settings, the seed, and the actions with the steps
//! after which they happened. To show a moment, the lab repeats the run from its beginning with the
//! simulator of `tenure simulate`. Going back therefore costs no more than going forward, and the
//! command line reproduces everything that the lab shows (`--steer`).
//!
//! The lab does not depend on the catalogue of algorithms. Its host provides a [`RunSource`], which
//! creates an [`Engine`] from command-line arguments or from a trace. [`Lab::handle`] is the
//! interface of the page. The server (feature `server`) forwards requests of the page over HTTP to
//! this function.
#![doc = include_str!("../README.md")]

mod act;
mod deadline;
mod engine;
mod graph_layout;
mod handle;
mod layout;
#[cfg(feature = "server")]
mod page;
#[cfg(feature = "server")]
mod routes;
mod run_state;
mod session;
mod sessions;
mod view;
mod words;

pub use deadline::Deadline;
pub use engine::{
    Engine, MomentView, ReachedMoment, RunContinuation, RunSource, RunSpec, SimulationEngine,
    Transition,
};
pub use handle::{Lab, LabError, LabMethod, LabResponse};
pub use layout::NodeLayout;
pub use session::validate_group_size;
pub use words::split as split_words;
