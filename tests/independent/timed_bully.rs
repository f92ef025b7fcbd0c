//! The bully election with timeouts of fixed lengths, in units of time. It uses the processes of
//! `bully.rs`.

use super::bully::{Message, Site, sites};
use super::search::{Outbox, Process, Step};
use super::timed::{Bounds, Effects, TimedProcess, shortest};

/// Numbers of the two timers. Timer 0 limits the wait for an answer, by the timeout T. Timer 1
/// limits the wait for the announcement that follows an answer, by the timeout T1.
const TIMERS: [usize; 2] = [0, 1];

#[derive(Clone, PartialEq, Eq, Hash)]
struct TimedSite {
    site: Site,
    /// Durations of the timeouts T and T1, in units of time.
    timeouts: [u32; 2],
    /// True if the user will request an election and has not requested it yet.
    asks: bool,
}

impl TimedSite {
    /// Returns the effects of a step. `before` is the number of the timer that ran before the step.
    /// A process has at most one timer, which starts when the process begins to wait.
    fn effects(&self, before: Option<usize>, sent: Outbox<Message>) -> Effects<Message> {
        let now = self.site.awaits();
        let started = now.filter(|_| now != before).map(|timer| (timer, self.timeouts[timer]));
        let cancelled = TIMERS.into_iter().filter(|timer| now != Some(*timer)).collect();
        Effects { sent, started: started.into_iter().collect(), cancelled }
    }
}

impl TimedProcess for TimedSite {
    type Message = Message;

    fn boot(&mut self) -> Effects<Message> {
        self.effects(None, Vec::new())
    }

    fn request(&mut self) -> Option<Effects<Message>> {
        if !std::mem::take(&mut self.asks) {
            return None;
        }
        let before = self.site.awaits();
        let sent = self.site.execute(Step::Request);
        Some(self.effects(before, sent))
    }

    fn receive(&mut self, from: usize, message: Message) -> Effects<Message> {
        let before = self.site.awaits();
        let sent = self.site.receive(from, message);
        self.effects(before, sent)
    }

    /// Handles the expiry of the timer. The expiry stops the timer. The next wait starts the timer
    /// again.
    fn expire(&mut self, _: usize) -> Effects<Message> {
        let sent = self.site.execute(Step::Expire);
        self.effects(None, sent)
    }

    fn exceeds_bound(&self) -> bool {
        self.site.exceeds_bound()
    }
}

/// Returns the least number of inputs after which two processes lead at the same time. Returns
/// `None` if that never happens. The users of `initiators` request one election each.
pub(crate) fn two_leaders(
    size: usize,
    initiators: &[usize],
    timeouts: [u32; 2],
    bounds: Bounds,
    most: u64,
) -> Option<usize> {
    let timed = |(me, site)| TimedSite { site, timeouts, asks: initiators.contains(&me) };
    let group = sites(size, most).into_iter().enumerate().map(timed).collect();
    shortest(group, bounds, |group| group.iter().filter(|it| it.site.leads()).count() > 1)
}
