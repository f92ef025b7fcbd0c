//! Applies a function to all items of a slice in parallel, with one thread per core.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub(crate) fn parallel_map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else { break };
                    let made = work(item);
                    done.lock().expect("the lock is never poisoned").push((place, made));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("the lock is never poisoned");
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::parallel_map;

    #[test]
    fn returns_results_in_order() {
        let items: Vec<u32> = (0..100).collect();
        let made = parallel_map(&items, |item| {
            std::thread::sleep(std::time::Duration::from_micros(u64::from(100 - item)));
            item * 2
        });
        assert_eq!(made, (0..200).step_by(2).collect::<Vec<u32>>());
    }
}
