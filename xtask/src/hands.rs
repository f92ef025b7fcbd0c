//! Work on a list by as many hands as there are cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `work` makes of each item, in the order of the items.
pub(crate) fn on_each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else { break };
                    let made = work(item);
                    done.lock().expect("nobody panics with it").push((place, made));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panicked with it");
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::on_each;

    #[test]
    fn what_is_made_comes_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        let made = on_each(&items, |item| {
            std::thread::sleep(std::time::Duration::from_micros(u64::from(100 - item)));
            item * 2
        });
        assert_eq!(made, (0..200).step_by(2).collect::<Vec<u32>>());
    }
}
