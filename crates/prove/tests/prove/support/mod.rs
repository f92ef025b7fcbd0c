//! Solvers for the tests.

use std::path::Path;
use std::time::Duration;

use tenure_prove::Solver;

use crate::skipped::report_skip;

/// Time limit of a query. Each query of these tests is decided much sooner, unless the machine is
/// busy.
const QUERY_TIMEOUT: Duration = Duration::from_secs(300);

/// Returns the solver `name` on the search path. If there is none, prints that the test is skipped
/// and returns `None`.
pub(crate) fn solver(name: &str) -> Option<Solver> {
    let found =
        Solver::from_path(Path::new(name)).ok().map(|it| it.with_query_timeout(QUERY_TIMEOUT));
    if found.is_none() {
        report_skip(name);
    }
    found
}

pub(crate) fn z3() -> Option<Solver> {
    solver("z3")
}
