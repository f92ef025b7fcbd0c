//! The armed timers of one process, on the system's monotonic clock. On Linux this clock does not
//! count time in which the machine is suspended.

use std::time::{Duration, Instant};

use tenure_core::Delay;

/// Armed timers, with at most one deadline each. Setting a timer again replaces its deadline, and a
/// cancelled timer never fires. Lookups are linear, because a process has only a few timers per
/// peer.
#[derive(Debug)]
pub(crate) struct ProtocolTimers<T> {
    armed: Vec<Armed<T>>,
    set_count: u64,
    /// Timers with changes that wait for a save. The second element is the number of these changes.
    unsaved_changes: Vec<(T, usize)>,
}

#[derive(Debug)]
struct Armed<T> {
    timer: T,
    deadline: Instant,
    /// Sequence number of the call that set the timer. It orders timers with equal deadlines.
    set_number: u64,
    /// Time from the setting of the timer to its first deadline.
    length: Duration,
    /// Total time for which [`ProtocolTimers::defer_silence_timers`] has deferred the timer, each
    /// time counted from the time of the call.
    deferred: Duration,
}

/// Ratio of a timer's length to its shortest first deferral. During the deferral, links can read
/// the data that has arrived. For example, a timer of 250 ms is deferred by at least about 8 ms.
const READ_TIME_DIVISOR: u32 = 32;

/// Ratio of a timer's length to the lateness that permits a further deferral. A timer that was
/// already deferred is deferred again only if it is at least this late.
const LATENESS_DIVISOR: u32 = 16;

/// Ratio of a timer's length to the longest total time by which it is deferred.
const MAX_DEFERRAL_DIVISOR: u32 = 2;

impl<T: Clone + Ord> ProtocolTimers<T> {
    pub(crate) fn new() -> Self {
        ProtocolTimers { armed: Vec::new(), set_count: 0, unsaved_changes: Vec::new() }
    }

    /// Records that an unsaved step sets or cancels `timer`. Disarms the timer at once. The change
    /// itself takes effect after the save.
    pub(crate) fn record_unsaved_change(&mut self, timer: &T) {
        self.cancel(timer);
        match self.unsaved_changes.iter_mut().find(|(kept, _)| kept == timer) {
            Some((_, changes)) => *changes += 1,
            None => self.unsaved_changes.push((timer.clone(), 1)),
        }
    }

    /// Records the save of a step that sets or cancels `timer`. Returns true if this change may
    /// take effect now. Returns false if a later, unsaved step changes the same timer.
    pub(crate) fn record_saved_change(&mut self, timer: &T) -> bool {
        let Some(index) = self.unsaved_changes.iter().position(|(kept, _)| kept == timer) else {
            return true;
        };
        self.unsaved_changes[index].1 -= 1;
        let is_last = self.unsaved_changes[index].1 == 0;
        if is_last {
            self.unsaved_changes.swap_remove(index);
        }
        is_last
    }

    /// Arms a timer to fire after a random time in the range `delay`. A tick of `delay` is a
    /// nanosecond. `random_up_to(x)` returns a random number from 0 to `x`.
    pub(crate) fn set(
        &mut self,
        timer: T,
        delay: Delay,
        now: Instant,
        random_up_to: impl FnOnce(u64) -> u64,
    ) {
        self.cancel(&timer);
        let nanoseconds = delay.min + random_up_to(delay.max - delay.min);
        self.set_count += 1;
        let length = Duration::from_nanos(nanoseconds);
        let (deadline, set_number) = (now + length, self.set_count);
        self.armed.push(Armed { timer, deadline, set_number, length, deferred: Duration::ZERO });
    }

    /// Defers timers: moves their deadlines to a time after `now`. Only a timer that is due and
    /// measures the silence of a peer is deferred. All times of deferral are counted from `now`.
    ///
    /// The first deferral of a timer gives the links enough time to read data that has arrived. If
    /// a timer is very late, this process was probably suspended. The timer is then deferred by as
    /// much time as it is late. All deferrals of a timer together are at most half of its length.
    pub(crate) fn defer_silence_timers(
        &mut self,
        now: Instant,
        measures_silence: impl Fn(&T) -> bool,
    ) {
        for armed in &mut self.armed {
            if armed.deadline > now || !measures_silence(&armed.timer) {
                continue;
            }
            let late = now - armed.deadline;
            let is_first = armed.deferred.is_zero();
            if !is_first && late < armed.length / LATENESS_DIVISOR {
                continue;
            }
            let least = if is_first { armed.length / READ_TIME_DIVISOR } else { Duration::ZERO };
            let left = (armed.length / MAX_DEFERRAL_DIVISOR).saturating_sub(armed.deferred);
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

    /// Returns the earliest deadline of the armed timers that `matches` accepts. Returns `None` if
    /// there is no such timer.
    pub(crate) fn next_deadline_if(&self, matches: impl Fn(&T) -> bool) -> Option<Instant> {
        let matching = self.armed.iter().filter(|armed| matches(&armed.timer));
        matching.map(|armed| armed.deadline).min()
    }

    pub(crate) fn has_due(&self) -> bool {
        let earliest = self.next_deadline_if(|_| true);
        earliest.is_some_and(|deadline| deadline <= Instant::now())
    }

    pub(crate) fn armed(&self) -> impl Iterator<Item = &T> + Clone {
        self.armed.iter().map(|armed| &armed.timer)
    }

    pub(crate) fn take_due(&mut self, now: Instant) -> Option<T> {
        self.take_due_if(now, |_| true)
    }

    pub(crate) fn take_due_if(&mut self, now: Instant, matches: impl Fn(&T) -> bool) -> Option<T> {
        let due = self.armed.iter().enumerate();
        let due = due.filter(|(_, armed)| armed.deadline <= now && matches(&armed.timer));
        let (index, _) = due.min_by_key(|(_, armed)| (armed.deadline, armed.set_number))?;
        Some(self.armed.swap_remove(index).timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_once_in_deadline_order() {
        let start = Instant::now();
        let mut timers = ProtocolTimers::new();
        timers.set("late", Delay::ticks(20), start, |_| 0);
        timers.set("early", Delay::ticks(10), start, |_| 0);
        assert_eq!(timers.take_due(start + Duration::from_nanos(5)), None);
        assert_eq!(timers.take_due(start + Duration::from_nanos(50)), Some("early"));
        assert_eq!(timers.take_due(start + Duration::from_nanos(50)), Some("late"));
        assert_eq!(timers.take_due(start + Duration::from_secs(5)), None);
    }

    #[test]
    fn timer_without_delay_is_due_at_once() {
        let mut timers = ProtocolTimers::new();
        assert!(!timers.has_due());
        timers.set("later", Delay::ticks(3_600_000_000_000), Instant::now(), |_| 0);
        assert!(!timers.has_due());
        timers.set("now", Delay::ZERO, Instant::now(), |_| 0);
        assert!(timers.has_due());
    }

    #[test]
    fn unsaved_change_cancels_at_once_and_arms_after_save() {
        let start = Instant::now();
        let mut timers = ProtocolTimers::new();
        timers.set("beat", Delay::ticks(10), start, |_| 0);
        // One unsaved step sets the timer again, and the next one cancels it.
        timers.record_unsaved_change(&"beat");
        timers.record_unsaved_change(&"beat");
        assert_eq!(timers.take_due(start + Duration::from_secs(1)), None);
        assert!(!timers.record_saved_change(&"beat"), "the second change overrides the first");
        assert!(timers.record_saved_change(&"beat"), "the second change takes effect");
        assert!(
            timers.record_saved_change(&"beat"),
            "a change of a step without unsaved state takes effect"
        );
    }

    #[test]
    fn matching_timers_fire_before_earlier_ones() {
        let start = Instant::now();
        let mut timers = ProtocolTimers::new();
        for (name, after) in [("other", 10), ("lease", 20), ("later lease", 90)] {
            timers.set(name, Delay::ticks(after), start, |_| 0);
        }
        let now = start + Duration::from_nanos(50);
        assert_eq!(timers.take_due_if(now, |name| name.contains("lease")), Some("lease"));
        assert_eq!(timers.take_due_if(now, |name| name.contains("lease")), None);
        assert_eq!(timers.take_due(now), Some("other"));
        assert_eq!(timers.armed().collect::<Vec<_>>(), [&"later lease"]);
    }

    #[test]
    fn late_silence_timer_is_deferred_by_at_most_half_its_length() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let silence = |name: &&str| *name == "silence";
        let mut timers = ProtocolTimers::new();
        for name in ["silence", "other"] {
            timers.set(name, Delay::time_units(320), start, |_| 0);
        }
        timers.defer_silence_timers(at(300), silence);
        assert_eq!(timers.next_deadline_if(|_| true), Some(at(320)), "the timer is not due");
        // The timer is on time: it waits until pending data is read.
        timers.defer_silence_timers(at(320), silence);
        assert_eq!((timers.take_due(at(320)), timers.take_due(at(329))), (Some("other"), None));
        timers.defer_silence_timers(at(331), silence);
        assert_eq!(timers.take_due(at(331)), Some("silence"), "it was deferred and is hardly late");
        // The process was paused for a long time.
        timers.set("silence", Delay::time_units(320), start, |_| 0);
        timers.defer_silence_timers(at(420), silence);
        assert_eq!(timers.take_due(at(519)), None);
        assert_eq!(timers.next_deadline_if(|_| true), Some(at(520)));
        // The process was paused again.
        timers.defer_silence_timers(at(3_000), silence);
        assert_eq!(timers.next_deadline_if(|_| true), Some(at(3_060)), "160 ms in all");
        timers.defer_silence_timers(at(9_000), silence);
        assert_eq!(timers.take_due(at(9_000)), Some("silence"));
        // A message arrived meanwhile and set the timer again.
        timers.set("silence", Delay::time_units(320), start, |_| 0);
        timers.defer_silence_timers(at(400), silence);
        timers.set("silence", Delay::time_units(320), at(410), |_| 0);
        assert_eq!(timers.next_deadline_if(|_| true), Some(at(730)));
    }

    #[test]
    fn reset_or_cancelled_timer_ignores_old_deadline() {
        let start = Instant::now();
        let mut timers = ProtocolTimers::new();
        timers.set("again", Delay::ticks(10), start, |_| 0);
        timers.set("never", Delay::ticks(10), start, |_| 0);
        timers.set("again", Delay { min: 30, max: 50 }, start, |range| range / 2);
        timers.cancel(&"never");
        assert_eq!(timers.take_due(start + Duration::from_nanos(39)), None);
        assert_eq!(timers.next_deadline_if(|_| true), Some(start + Duration::from_nanos(40)));
        assert_eq!(timers.take_due(start + Duration::from_nanos(40)), Some("again"));
        assert_eq!(timers.next_deadline_if(|_| true), None);
    }
}
