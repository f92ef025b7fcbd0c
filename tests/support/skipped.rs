//! Reports tests that cannot run on this machine.

use std::io::Write;

/// Reports that a test is skipped. `missing` is a list of what this machine lacks, separated by
/// commas. Each part begins with a name, as in `etcdctl (Debian: etcd-client)`.
///
/// Writes to standard error directly, because the test harness hides the output of `eprintln!` if
/// the test passes.
///
/// # Panics
///
/// If the environment variable `TENURE_REQUIRED` contains one of the names. CI lists the programs
/// that it has found, so that a test of an installed program cannot be skipped.
#[track_caller]
pub(crate) fn report_skip(missing: &str) {
    let required = std::env::var("TENURE_REQUIRED").unwrap_or_default();
    for name in missing.split(", ").filter_map(|part| part.split(' ').next()) {
        let is_required = required.split(',').any(|it| it == name);
        assert!(!is_required, "TENURE_REQUIRED contains {name}, but this test needs {missing}");
    }
    let _ = writeln!(std::io::stderr(), "skipped: needs {missing}");
}
