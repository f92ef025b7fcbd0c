//! Errors of the SMT solver.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Error of the SMT solver, which prevented or ended a proof attempt.
#[derive(Debug, Error)]
pub enum SolverError {
    /// Neither z3 nor cvc5 is on the search path.
    #[error(
        "no SMT solver on the path: install z3 (`apt install z3`, `brew install z3` or `pip \
         install z3-solver`), or cvc5"
    )]
    NoSolver,
    /// The solver program cannot be run. For example, the file does not exist.
    #[error("{}: {reason}", program.display())]
    Solver {
        /// Path of the solver program.
        program: PathBuf,
        /// Error of the operating system.
        reason: String,
    },
    /// The solver program is neither z3 nor cvc5.
    #[error("{} is neither z3 nor cvc5: it says {version:?}", program.display())]
    UnknownSolver {
        /// Path of the solver program.
        program: PathBuf,
        /// First line that the solver program prints about its version.
        version: String,
    },
    /// The solver process could not be started, or communication with it failed.
    #[error("the solver failed: {0}")]
    Io(#[from] io::Error),
}
