//! T. D. Chandra and S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996, in its simplest form: a process sends a heartbeat in each period, and suspects
//! a process that is silent for longer than the timeout. There are no crashes.

use super::timed::{Bounds, Effects, TimedProcess, shortest};

const BEAT: usize = 0;
const SILENCE: usize = 1;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Beating {
    /// Index of the process that this process monitors.
    peer: usize,
    period: u32,
    timeout: u32,
    suspects: bool,
}

impl Beating {
    fn beat(&self) -> Effects<()> {
        let started = vec![(BEAT, self.period)];
        Effects { sent: vec![(self.peer, ())], started, cancelled: Vec::new() }
    }
}

impl TimedProcess for Beating {
    type Message = ();

    fn boot(&mut self) -> Effects<()> {
        let mut effects = self.beat();
        effects.started.push((SILENCE, self.timeout));
        effects
    }

    fn request(&mut self) -> Option<Effects<()>> {
        None
    }

    fn receive(&mut self, _: usize, (): ()) -> Effects<()> {
        self.suspects = false;
        let started = vec![(SILENCE, self.timeout)];
        Effects { sent: Vec::new(), started, cancelled: Vec::new() }
    }

    fn expire(&mut self, timer: usize) -> Effects<()> {
        if timer == BEAT {
            return self.beat();
        }
        self.suspects = true;
        Effects { sent: Vec::new(), started: Vec::new(), cancelled: Vec::new() }
    }
}

/// Returns the least number of inputs after which one of two live processes suspects the other.
/// Returns `None` if that never happens.
pub(crate) fn false_suspicion(period: u32, timeout: u32, bounds: Bounds) -> Option<usize> {
    let beating = |peer| Beating { peer, period, timeout, suspects: false };
    shortest(vec![beating(1), beating(0)], bounds, |all| all.iter().any(|it| it.suspects))
}
