//! Traces are judged, by the monitors that judge a simulation.

mod agreements;
mod applications;
mod durations;
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

use crate::format::Reader;
use crate::merge::{MergeError, Merged, MergedFiles, Seams};

/// Judges the files at `paths`, one alone or several merged, as they are read: in memory that does
/// not grow with their length.
///
/// # Errors
///
/// [`MergeError`] when they cannot be read or merged; the files are only read.
pub fn verify_files<P: AsRef<Path>>(paths: &[P]) -> Result<Verification, MergeError> {
    if let [path] = paths {
        let mut reader = Reader::open(path)?.skipping_contents();
        let mut judge = Judge::new(reader.header());
        for record in reader.by_ref() {
            judge.read(&record?);
        }
        let torn = reader.torn().then(|| path.as_ref().to_path_buf());
        return Ok(
            judge.finish_with(Seams { torn: torn.into_iter().collect(), ..Seams::default() })
        );
    }
    let mut files = MergedFiles::open(paths)?;
    let mut judge = Judge::new(files.header());
    for record in files.by_ref() {
        judge.read(&record?);
    }
    Ok(judge.finish_with(files.seams()))
}

/// Judges traces that were merged.
pub fn verify(merged: &Merged) -> Verification {
    let mut judge = Judge::new(&merged.header);
    for record in &merged.records {
        judge.read(record);
    }
    let Merged { unmatched, contradictions, ref torn, ref empty, .. } = *merged;
    let (torn, empty) = (torn.clone(), empty.clone());
    judge.finish_with(Seams { unmatched, contradictions, torn, empty })
}
