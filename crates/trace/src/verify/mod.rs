//! Verification of traces, by the monitors that the simulator also uses.

mod agreements;
mod alternation;
mod applications;
mod critical_section;
mod durations;
mod elections;
mod findings;
mod message_counts;
mod resource;
mod verification;
mod verifier;

use std::path::Path;

pub use elections::{ElectionCause, MeasuredElection};
pub use message_counts::MessageCounts;
pub use resource::{ResourceAccessCounts, ResourceCounterResult};
pub use tenure_core::Judgement;
pub use verification::{Quantiles, TraceViolation, Verification};
pub use verifier::TraceVerifier;

use crate::merge::{MergeError, MergeReport, MergedFiles, MergedTrace};

/// Merges the files at `paths` and verifies their records while it reads them. Memory does not grow
/// with the length of the files.
///
/// # Errors
///
/// Returns a [`MergeError`] if the files cannot be read or merged.
pub fn verify_files<P: AsRef<Path>>(paths: &[P]) -> Result<Verification, MergeError> {
    let mut files = MergedFiles::open(paths)?;
    let mut verifier = TraceVerifier::new(files.common_header());
    for record in files.by_ref() {
        verifier.verify_record(&record?);
    }
    Ok(verifier.finish_with(files.merge_report()))
}

/// Verifies traces that are already merged.
pub fn verify(merged: &MergedTrace) -> Verification {
    let mut verifier = TraceVerifier::new(&merged.header);
    for record in &merged.records {
        verifier.verify_record(record);
    }
    let MergedTrace { unmatched, contradictions, ref torn, ref empty, .. } = *merged;
    let (torn, empty) = (torn.clone(), empty.clone());
    verifier.finish_with(MergeReport { unmatched, contradictions, torn, empty })
}
