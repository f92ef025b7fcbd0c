//! Traces are judged, by the monitors that judge a simulation.

mod applications;
mod elections;
mod entries;
mod findings;
mod judge;
mod resource;
mod traffic;
mod verification;

use std::path::Path;

pub use elections::{Cause, Election};
pub use judge::Judge;
pub use resource::{Accesses, Counter};
pub use tenure_core::Judgement;
pub use traffic::Traffic;
pub use verification::{Quantiles, Verification, Violated};

use crate::{MergeError, Merged, Reader, merge_files};

/// Judges the files at `paths`: one alone as it is read, however long; several merged.
///
/// # Errors
///
/// [`MergeError`] when they cannot be read or merged; the files are only read.
pub fn verify_files<P: AsRef<Path>>(paths: &[P]) -> Result<Verification, MergeError> {
    let [path] = paths else { return Ok(verify(&merge_files(paths)?)) };
    let mut reader = Reader::open(path)?.skipping_contents();
    let mut judge = Judge::new(reader.header());
    for record in reader.by_ref() {
        judge.read(&record?);
    }
    let torn = reader.torn().then(|| path.as_ref().to_path_buf());
    Ok(Verification { torn: torn.into_iter().collect(), ..judge.finish() })
}

/// Judges traces that were merged.
pub fn verify(merged: &Merged) -> Verification {
    let mut judge = Judge::new(&merged.header);
    for record in &merged.records {
        judge.read(record);
    }
    let mut verification = judge.finish();
    if merged.contradictions > 0 {
        verification.contradicts_itself();
    }
    Verification {
        torn: merged.torn.clone(),
        empty: merged.empty.clone(),
        unmatched: merged.unmatched,
        contradictions: merged.contradictions,
        ..verification
    }
}
