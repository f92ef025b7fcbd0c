//! Parallel jobs whose results arrive in the order of their numbers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// Runs a job for each number below `jobs` on several threads. Passes the results to `on_result` in
/// the order of the numbers, whichever job finishes first.
///
/// If a result depends only on its number, `on_result` receives the same results as in a plain
/// loop, for any number of threads. At most a few results per thread wait for `on_result`.
/// `threads` is the maximum number of threads; 0 means the number of processors. On targets without
/// threads, the calling thread runs all jobs.
///
/// ```
/// let mut squares = Vec::new();
/// tenure_sim::run_parallel(4, 2, |number| number * number, |square| {
///     squares.push(square);
///     true
/// });
/// assert_eq!(squares, [0, 1, 4, 9]);
/// ```
///
/// If `on_result` returns `false`, no further result is passed to it. Returns the number of results
/// that were passed to `on_result`.
///
/// # Panics
///
/// If a job panics.
pub fn run_parallel<T: Send>(
    jobs: usize,
    threads: usize,
    run: impl Fn(usize) -> T + Sync,
    mut on_result: impl FnMut(T) -> bool,
) -> usize {
    let machine = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if threads == 0 { machine() } else { threads }.min(jobs.max(1));
    let threads = if cfg!(target_family = "wasm") { 1 } else { threads };
    if threads <= 1 {
        let mut taken = 0;
        while taken < jobs {
            taken += 1;
            if !on_result(run(taken - 1)) {
                break;
            }
        }
        return taken;
    }
    let queue = WorkQueue::new(threads * 4);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| queue.work(jobs, &run));
        }
        queue.collect(jobs, &mut on_result)
    })
}

/// Queue that the worker threads and the collecting thread share. It hands out the numbers of the
/// jobs, and keeps each result until the results of all earlier jobs have been collected.
struct WorkQueue<T> {
    /// Number of the job that the next free thread runs.
    next: AtomicUsize,
    /// True if no thread may start a job or wait any more.
    closed: AtomicBool,
    /// Maximum number of results in [`State::ready`].
    window: usize,
    state: Mutex<State<T>>,
    state_changed: Condvar,
}

struct State<T> {
    /// Results that the collecting thread has not taken yet. The result of job `i` is at the index
    /// `i % window`. The thread takes the results in the order of the jobs.
    ready: Vec<Option<T>>,
    /// Number of results that the collecting thread has taken.
    taken: usize,
}

impl<T> WorkQueue<T> {
    fn new(window: usize) -> Self {
        let ready = (0..window).map(|_| None).collect();
        let state = Mutex::new(State { ready, taken: 0 });
        let (next, closed) = (AtomicUsize::new(0), AtomicBool::new(false));
        WorkQueue { next, closed, window, state, state_changed: Condvar::new() }
    }

    fn work(&self, jobs: usize, run: &impl Fn(usize) -> T) {
        // A job that panics must not leave the collector waiting.
        let _closing = CloseOnDrop(self, false);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= jobs || self.closed.load(Ordering::Relaxed) {
                return;
            }
            let result = run(number);
            let mut state = self.lock();
            while number >= state.taken + self.window && !self.closed.load(Ordering::Relaxed) {
                state = self.state_changed.wait(state).unwrap_or_else(|broken| broken.into_inner());
            }
            if number >= state.taken + self.window {
                // The queue is closed, and another result may be in the slot of this job.
                return;
            }
            state.ready[number % self.window] = Some(result);
            drop(state);
            self.state_changed.notify_all();
        }
    }

    fn collect(&self, jobs: usize, on_result: &mut impl FnMut(T) -> bool) -> usize {
        let _closing = CloseOnDrop(self, true);
        for number in 0..jobs {
            let mut state = self.lock();
            let result = loop {
                if let Some(result) = state.ready[number % self.window].take() {
                    break result;
                }
                if self.closed.load(Ordering::Relaxed) {
                    return number;
                }
                state = self.state_changed.wait(state).unwrap_or_else(|broken| broken.into_inner());
            };
            state.taken = number + 1;
            drop(state);
            self.state_changed.notify_all();
            if !on_result(result) {
                return number + 1;
            }
        }
        jobs
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// Guard of a thread that uses the queue in the first field. The second field is true in the thread
/// that collects the results, and false in a thread that runs jobs. When the guard is dropped, it
/// wakes all threads that wait for the queue. If its thread collects the results or panics, the
/// guard also closes the queue.
struct CloseOnDrop<'a, T>(&'a WorkQueue<T>, bool);

impl<T> Drop for CloseOnDrop<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() || self.1 {
            self.0.closed.store(true, Ordering::Relaxed);
        }
        let state = self.0.lock();
        drop(state);
        self.0.state_changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_results_in_order_for_any_threads() {
        for threads in [0, 1, 2, 3, 8] {
            let mut seen = Vec::new();
            let slow = |number: usize| {
                std::thread::sleep(std::time::Duration::from_micros((number as u64 * 7) % 50));
                number
            };
            let taken = run_parallel(200, threads, slow, |number| {
                seen.push(number);
                true
            });
            assert_eq!((taken, seen.len()), (200, 200));
            assert!(seen.into_iter().eq(0..200), "{threads} threads");
        }
    }

    #[test]
    fn stops_when_consumer_returns_false() {
        for threads in [1, 3] {
            let mut seen = 0;
            let taken = run_parallel(
                10_000,
                threads,
                |number| number,
                |_| {
                    seen += 1;
                    seen < 5
                },
            );
            assert_eq!((taken, seen), (5, 5));
        }
    }

    /// The first job panics when the other thread has filled the queue and waits for room.
    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn panic_of_job_wakes_waiting_threads() {
        let started = AtomicUsize::new(0);
        run_parallel(
            100,
            2,
            |number| {
                started.fetch_add(1, Ordering::Relaxed);
                // The window holds the results of 8 jobs.
                while number == 0 && started.load(Ordering::Relaxed) < 9 {
                    std::thread::yield_now();
                }
                assert_ne!(number, 0);
            },
            |()| true,
        );
    }

    /// The collector receives the results of the jobs before the one that panics.
    #[test]
    fn panic_of_job_keeps_earlier_results() {
        for threads in [1, 3] {
            let mut seen = Vec::new();
            let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                // The job that panics waits until the collector has the earlier results.
                let collected = AtomicUsize::new(0);
                run_parallel(
                    100,
                    threads,
                    |number| {
                        while number == 5 && collected.load(Ordering::Relaxed) < 5 {
                            std::thread::yield_now();
                        }
                        assert_ne!(number, 5);
                        number
                    },
                    |number| {
                        seen.push(number);
                        collected.fetch_add(1, Ordering::Relaxed);
                        true
                    },
                )
            }));
            assert!(ran.is_err());
            assert_eq!(seen, [0, 1, 2, 3, 4], "{threads} threads");
        }
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn propagates_panic_of_job() {
        run_parallel(10, 2, |number| assert!(number < 5), |()| true);
    }
}
