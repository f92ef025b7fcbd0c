//! SMT solvers as external programs.

pub(crate) mod process;
pub(crate) mod sexpr;
pub(crate) mod solver_model;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::solver_error::SolverError;

/// Kind of solver that this crate can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverKind {
    /// Z3 of Microsoft Research.
    Z3,
    /// cvc5 of Stanford and Iowa.
    Cvc5,
}

/// Solver program with its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solver {
    /// Path of the program.
    pub program: PathBuf,
    /// Kind of the program.
    pub kind: SolverKind,
    /// First line that the program prints about its version.
    pub version: String,
    /// Time limit of each query. A query that takes longer is undecided.
    pub query_timeout: Duration,
}

/// Default time limit of a query.
pub const DEFAULT_QUERY_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of the first attempt at a query. It is short, because other queries may decide the
/// obligation before a second attempt is needed.
pub(crate) const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

impl Solver {
    /// Finds a solver: `z3`, or else `cvc5`, on the search path.
    ///
    /// # Errors
    ///
    /// Returns [`SolverError::NoSolver`] if there is none, and the errors of [`Solver::from_path`]
    /// if the found program cannot be used.
    pub fn find_on_path() -> Result<Self, SolverError> {
        let names = ["z3", "cvc5"];
        let found = names.iter().find_map(|name| on_path(name));
        Solver::from_path(&found.ok_or(SolverError::NoSolver)?)
    }

    /// Creates a solver that runs `program`. If `program` is a name without a folder, looks for the
    /// program on the search path.
    ///
    /// # Errors
    ///
    /// Returns an error if the program cannot be run, or is neither z3 nor cvc5.
    pub fn from_path(program: &Path) -> Result<Self, SolverError> {
        let program = match program.components().count() {
            1 => on_path(&program.to_string_lossy()).unwrap_or_else(|| program.to_owned()),
            _ => program.to_owned(),
        };
        let output = Command::new(&program).arg("--version").output();
        let output = output.map_err(|error| SolverError::Solver {
            program: program.clone(),
            reason: error.to_string(),
        })?;
        let version = String::from_utf8_lossy(&output.stdout);
        let version = version.lines().next().unwrap_or_default().trim().to_owned();
        let kind = match version.to_lowercase() {
            it if it.contains("z3") => SolverKind::Z3,
            it if it.contains("cvc5") => SolverKind::Cvc5,
            _ => return Err(SolverError::UnknownSolver { program, version }),
        };
        Ok(Solver { program, kind, version, query_timeout: DEFAULT_QUERY_TIMEOUT })
    }

    /// Returns the solver with `limit` as the time limit of each query.
    #[must_use]
    pub fn with_query_timeout(mut self, limit: Duration) -> Self {
        self.query_timeout = limit;
        self
    }

    /// Returns the time limit of each attempt to decide a query. With z3, the first attempt has the
    /// limit [`FIRST_TIMEOUT`], and the second attempt has the whole limit of a query. There is
    /// only one attempt, with the whole limit, if this limit is not longer than [`FIRST_TIMEOUT`],
    /// or if the solver is cvc5, because the limit of a cvc5 process cannot be changed.
    pub(crate) fn attempt_timeouts(&self) -> impl Iterator<Item = Duration> + use<> {
        let is_short = self.kind == SolverKind::Z3 && FIRST_TIMEOUT < self.query_timeout;
        is_short.then_some(FIRST_TIMEOUT).into_iter().chain([self.query_timeout])
    }

    /// Returns the name and version of the solver, for example `z3 4.8.12`.
    pub fn name_and_version(&self) -> String {
        let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let number = self.version.split_whitespace().find(is_version).unwrap_or_default();
        let name = match self.kind {
            SolverKind::Z3 => "z3",
            SolverKind::Cvc5 => "cvc5",
        };
        format!("{name} {number}").trim_end().to_owned()
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
