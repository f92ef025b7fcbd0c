//! The armed timers of one process, on the system's monotonic clock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_core::Delay;

/// At most one deadline per name; setting again replaces, and what was cancelled never fires.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    /// By name: its deadline, and which setting that belongs to.
    armed: BTreeMap<T, (Instant, u64)>,
    /// In the order of firing. The setting's number keeps equal deadlines apart.
    due: BTreeMap<(Instant, u64), T>,
    settings: u64,
    /// By name, how many changes of steps that are not saved yet there are.
    kept_back: BTreeMap<T, usize>,
}

impl<T: Clone + Ord> Timers<T> {
    pub(crate) fn new() -> Self {
        let (armed, due) = (BTreeMap::new(), BTreeMap::new());
        Timers { armed, due, settings: 0, kept_back: BTreeMap::new() }
    }

    /// A timer is changed by a step that is not saved yet. What it was set to before never fires.
    pub(crate) fn keep_back(&mut self, timer: &T) {
        self.cancel(timer);
        *self.kept_back.entry(timer.clone()).or_default() += 1;
    }

    /// A change that was kept back takes place now, unless a later one that still is overrules it:
    /// says which.
    pub(crate) fn let_go(&mut self, timer: &T) -> bool {
        let Some(left) = self.kept_back.get_mut(timer) else { return true };
        *left -= 1;
        let is_last = *left == 0;
        if is_last {
            self.kept_back.remove(timer);
        }
        is_last
    }

    /// Arms a timer somewhere within `after` of `now`; `draw` gives a number up to its argument.
    pub(crate) fn set(
        &mut self,
        timer: T,
        after: Delay,
        now: Instant,
        draw: impl FnOnce(u64) -> u64,
    ) {
        self.cancel(&timer);
        let nanoseconds = after.min + draw(after.max - after.min);
        self.settings += 1;
        let deadline = (now + Duration::from_nanos(nanoseconds), self.settings);
        self.armed.insert(timer.clone(), deadline);
        self.due.insert(deadline, timer);
    }

    pub(crate) fn cancel(&mut self, timer: &T) {
        if let Some(deadline) = self.armed.remove(timer) {
            self.due.remove(&deadline);
        }
    }

    /// When the next one fires.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// The names of those that are armed.
    pub(crate) fn armed(&self) -> impl Iterator<Item = &T> + Clone {
        self.armed.keys()
    }

    /// Takes the next one whose time has come; it is no longer armed.
    pub(crate) fn fire(&mut self, now: Instant) -> Option<T> {
        self.fire_if(now, |_| true)
    }

    /// Takes the next one of these whose time has come; it is no longer armed.
    pub(crate) fn fire_if(&mut self, now: Instant, of_these: impl Fn(&T) -> bool) -> Option<T> {
        let mut due = self.due.iter().take_while(|((deadline, _), _)| *deadline <= now);
        let (_, timer) = due.find(|(_, timer)| of_these(timer))?;
        let timer = timer.clone();
        self.cancel(&timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_the_order_of_their_deadlines_and_only_once() {
        let start = Instant::now();
        let mut timers = Timers::new();
        timers.set("late", Delay::ticks(20), start, |_| 0);
        timers.set("early", Delay::ticks(10), start, |_| 0);
        assert_eq!(timers.fire(start + Duration::from_nanos(5)), None);
        assert_eq!(timers.fire(start + Duration::from_nanos(50)), Some("early"));
        assert_eq!(timers.fire(start + Duration::from_nanos(50)), Some("late"));
        assert_eq!(timers.fire(start + Duration::from_secs(5)), None);
    }

    #[test]
    fn what_a_step_does_that_is_not_saved_ends_a_timer_at_once_and_begins_it_later() {
        let start = Instant::now();
        let mut timers = Timers::new();
        timers.set("beat", Delay::ticks(10), start, |_| 0);
        // One step sets it anew, the next one cancels it: neither is saved.
        timers.keep_back(&"beat");
        timers.keep_back(&"beat");
        assert_eq!(timers.fire(start + Duration::from_secs(1)), None);
        assert!(!timers.let_go(&"beat"), "the first of them, of which the second knows better");
        assert!(timers.let_go(&"beat"), "the second");
        assert!(timers.let_go(&"beat"), "one of a step that had nothing to save");
    }

    #[test]
    fn of_those_that_are_due_some_are_taken_before_earlier_ones() {
        let start = Instant::now();
        let mut timers = Timers::new();
        for (name, after) in [("other", 10), ("lease", 20), ("later lease", 90)] {
            timers.set(name, Delay::ticks(after), start, |_| 0);
        }
        let now = start + Duration::from_nanos(50);
        assert_eq!(timers.fire_if(now, |name| name.contains("lease")), Some("lease"));
        assert_eq!(timers.fire_if(now, |name| name.contains("lease")), None);
        assert_eq!(timers.fire(now), Some("other"));
        assert_eq!(timers.armed().collect::<Vec<_>>(), [&"later lease"]);
    }

    #[test]
    fn a_timer_that_is_set_again_or_cancelled_does_not_fire_at_its_old_time() {
        let start = Instant::now();
        let mut timers = Timers::new();
        timers.set("again", Delay::ticks(10), start, |_| 0);
        timers.set("never", Delay::ticks(10), start, |_| 0);
        timers.set("again", Delay { min: 30, max: 50 }, start, |range| range / 2);
        timers.cancel(&"never");
        assert_eq!(timers.fire(start + Duration::from_nanos(39)), None);
        assert_eq!(timers.next(), Some(start + Duration::from_nanos(40)));
        assert_eq!(timers.fire(start + Duration::from_nanos(40)), Some("again"));
        assert_eq!(timers.next(), None);
    }
}
