//! The armed timers of one process, on the system's monotonic clock.

use std::time::{Duration, Instant};

use tenure_core::Delay;

/// At most one deadline per name; setting again replaces, and what was cancelled never fires.
/// There are a few for each peer, so they are looked through.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    armed: Vec<Armed<T>>,
    settings: u64,
    /// How many changes of steps that are not saved yet there are, of those with any.
    kept_back: Vec<(T, usize)>,
}

#[derive(Debug)]
struct Armed<T> {
    timer: T,
    deadline: Instant,
    /// Which setting this is: it keeps equal deadlines apart.
    setting: u64,
    /// Time between setting and deadline.
    length: Duration,
    /// Time by which the deadline was moved by [`Timers::defer_late`].
    deferred: Duration,
}

/// Part of a timer's length that its first deferral lasts at least: time for the links to read
/// what has arrived. At the default election timeout of 250 ms this is 8 ms.
const READING: u32 = 32;

/// Part of a timer's length by which it must be late to be deferred again.
const LATE: u32 = 16;

/// Part of a timer's length that all its deferrals last together at most.
const MOST_DEFERRED: u32 = 2;

impl<T: Clone + Ord> Timers<T> {
    pub(crate) fn new() -> Self {
        Timers { armed: Vec::new(), settings: 0, kept_back: Vec::new() }
    }

    /// A timer is changed by a step that is not saved yet. What it was set to before never fires.
    pub(crate) fn keep_back(&mut self, timer: &T) {
        self.cancel(timer);
        match self.kept_back.iter_mut().find(|(kept, _)| kept == timer) {
            Some((_, changes)) => *changes += 1,
            None => self.kept_back.push((timer.clone(), 1)),
        }
    }

    /// A change that was kept back takes place now, unless a later one that still is overrules it:
    /// says which.
    pub(crate) fn let_go(&mut self, timer: &T) -> bool {
        let Some(index) = self.kept_back.iter().position(|(kept, _)| kept == timer) else {
            return true;
        };
        self.kept_back[index].1 -= 1;
        let is_last = self.kept_back[index].1 == 0;
        if is_last {
            self.kept_back.swap_remove(index);
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
        let length = Duration::from_nanos(nanoseconds);
        let (deadline, setting) = (now + length, self.settings);
        self.armed.push(Armed { timer, deadline, setting, length, deferred: Duration::ZERO });
    }

    /// Moves the deadlines of due timers that measure the silence of a peer.
    ///
    /// Each is deferred once for long enough to read what has arrived. A timer that is late is
    /// deferred by as much as it is late, as this process was not scheduled for that time. All
    /// deferrals of a timer together last for at most half of its length.
    pub(crate) fn defer_late(&mut self, now: Instant, measures_silence: impl Fn(&T) -> bool) {
        for armed in &mut self.armed {
            if armed.deadline > now || !measures_silence(&armed.timer) {
                continue;
            }
            let late = now - armed.deadline;
            let is_first = armed.deferred.is_zero();
            if !is_first && late < armed.length / LATE {
                continue;
            }
            let least = if is_first { armed.length / READING } else { Duration::ZERO };
            let left = (armed.length / MOST_DEFERRED).saturating_sub(armed.deferred);
            let wait = late.max(least).min(left);
            armed.deferred += wait;
            armed.deadline = if wait.is_zero() { armed.deadline } else { now + wait };
        }
    }

    pub(crate) fn cancel(&mut self, timer: &T) {
        if let Some(index) = self.armed.iter().position(|armed| armed.timer == *timer) {
            self.armed.swap_remove(index);
        }
    }

    /// When the next one fires.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.armed.iter().map(|armed| armed.deadline).min()
    }

    /// Whether one should fire now.
    pub(crate) fn are_due(&self) -> bool {
        self.next().is_some_and(|deadline| deadline <= Instant::now())
    }

    /// The names of those that are armed, in no order.
    pub(crate) fn armed(&self) -> impl Iterator<Item = &T> + Clone {
        self.armed.iter().map(|armed| &armed.timer)
    }

    /// Takes the next one whose time has come; it is no longer armed.
    pub(crate) fn fire(&mut self, now: Instant) -> Option<T> {
        self.fire_if(now, |_| true)
    }

    /// Takes the next one of these whose time has come; it is no longer armed.
    pub(crate) fn fire_if(&mut self, now: Instant, of_these: impl Fn(&T) -> bool) -> Option<T> {
        let due = self.armed.iter().enumerate();
        let due = due.filter(|(_, armed)| armed.deadline <= now && of_these(&armed.timer));
        let (index, _) = due.min_by_key(|(_, armed)| (armed.deadline, armed.setting))?;
        Some(self.armed.swap_remove(index).timer)
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
    fn a_timer_without_a_delay_is_due_at_once() {
        let mut timers = Timers::new();
        assert!(!timers.are_due());
        timers.set("later", Delay::ticks(3_600_000_000_000), Instant::now(), |_| 0);
        assert!(!timers.are_due());
        timers.set("now", Delay::NONE, Instant::now(), |_| 0);
        assert!(timers.are_due());
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
    fn late_silence_timer_is_deferred_by_at_most_half_its_length() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let silence = |name: &&str| *name == "silence";
        let mut timers = Timers::new();
        for name in ["silence", "other"] {
            timers.set(name, Delay::units(320), start, |_| 0);
        }
        timers.defer_late(at(300), silence);
        assert_eq!(timers.next(), Some(at(320)), "it is not due");
        // Punctual: it waits until what has arrived is read.
        timers.defer_late(at(320), silence);
        assert_eq!((timers.fire(at(320)), timers.fire(at(329))), (Some("other"), None));
        timers.defer_late(at(331), silence);
        assert_eq!(timers.fire(at(331)), Some("silence"), "it was deferred, and is hardly late");
        // The process was stopped for a long time.
        timers.set("silence", Delay::units(320), start, |_| 0);
        timers.defer_late(at(420), silence);
        assert_eq!((timers.fire(at(519)), timers.next()), (None, Some(at(520))));
        // And again.
        timers.defer_late(at(3_000), silence);
        assert_eq!(timers.next(), Some(at(3_060)), "160 ms in all");
        timers.defer_late(at(9_000), silence);
        assert_eq!(timers.fire(at(9_000)), Some("silence"));
        // A message has arrived meanwhile, which sets it anew.
        timers.set("silence", Delay::units(320), start, |_| 0);
        timers.defer_late(at(400), silence);
        timers.set("silence", Delay::units(320), at(410), |_| 0);
        assert_eq!(timers.next(), Some(at(730)));
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
