//! Solvers of the tests.

use std::path::Path;
use std::time::Duration;

use tenure_prove::Solver;

/// Time limit of a query. Each query of these tests is decided much sooner, unless the machine is
/// busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// Returns a solver on the path. Prints that the test is skipped if there is none.
pub(crate) fn solver(name: &str) -> Option<Solver> {
    let found = Solver::at(Path::new(name)).ok().map(|it| it.with_query_timeout(PATIENCE));
    if found.is_none() {
        eprintln!("skipped: needs {name}");
    }
    found
}

pub(crate) fn z3() -> Option<Solver> {
    solver("z3")
}
