//! Parallel jobs, each with solver processes of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::solver_error::SolverError;

/// Runs a job for each index below `count`, on as many threads as the machine has, and returns the
/// results in the order of the indices.
///
/// # Errors
///
/// Returns an error if a job failed.
pub(crate) fn parallel_map<T: Send>(
    count: usize,
    job: impl Fn(usize) -> Result<T, SolverError> + Sync,
) -> Result<Vec<T>, SolverError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let work = || -> Result<(), SolverError> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return Ok(());
            }
            let result = job(index)?;
            results.lock().expect("no thread panics while it stores")[index] = Some(result);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(count);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a job does not panic"))
    })?;
    let results = results.into_inner().expect("no thread panicked");
    Ok(results.into_iter().flatten().collect())
}
