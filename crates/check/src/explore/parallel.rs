//! Parallel jobs with results in the order of the jobs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the number of threads of a search: the requested number, but at least one. Without a
/// request, returns one per core. On targets without threads, always returns one.
pub(super) fn thread_count(requested: Option<usize>) -> usize {
    if cfg!(target_family = "wasm") {
        return 1;
    }
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    requested.unwrap_or_else(cores).max(1)
}

/// Runs `count` jobs on the given workers and returns the results in order. The assignment of jobs
/// to workers is arbitrary, so a result must not depend on it.
pub(super) fn run_jobs<W: Send, R: Send>(
    workers: &mut [W],
    count: usize,
    job: impl Fn(&mut W, usize) -> R + Sync,
) -> Vec<R> {
    if count <= 1 || workers.len() == 1 {
        let worker = workers.first_mut().expect("a search has a worker");
        return (0..count).map(|number| job(worker, number)).collect();
    }
    let next = AtomicUsize::new(0);
    let (next, job) = (&next, &job);
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .map(|worker| {
                scope.spawn(move || {
                    let mut done = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return done;
                        }
                        done.push((number, job(worker, number)));
                    }
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<(usize, R)>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Applies `job` to the index and the content of each part, on this number of threads. Returns the
/// results in the order of the parts.
pub(crate) fn map_in_parallel<T: Send, R: Send>(
    threads: usize,
    parts: impl IntoIterator<Item = T>,
    job: impl Fn(usize, T) -> R + Sync,
) -> Vec<R> {
    let parts: Vec<Mutex<Option<T>>> = parts.into_iter().map(|it| Mutex::new(Some(it))).collect();
    run_jobs(&mut vec![(); threads], parts.len(), |(), number| {
        let part = parts[number].lock().ok().and_then(|mut part| part.take());
        job(number, part.expect("each part is taken once"))
    })
}

#[cfg(test)]
mod tests {
    use super::{map_in_parallel, run_jobs};

    #[test]
    fn returns_results_in_order_of_jobs() {
        let mut workers = [0u32; 3];
        let squares = run_jobs(&mut workers, 100, |done, number| {
            *done += 1;
            number * number
        });
        assert!(squares.into_iter().eq((0..100).map(|number| number * number)));
        assert_eq!(workers.iter().sum::<u32>(), 100);
    }

    #[test]
    fn maps_parts_in_order_and_with_their_content() {
        for threads in [1, 3] {
            let mut counts = [0; 10];
            let ends =
                map_in_parallel(threads, counts.chunks_mut(3), |number, part: &mut [usize]| {
                    part.fill(number);
                    number * 3 + part.len()
                });
            assert_eq!((ends, counts), (vec![3, 6, 9, 10], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]));
        }
    }
}
