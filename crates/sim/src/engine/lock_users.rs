//! Users of the lock, and the times at which each user requests and releases the lock.

use tenure_core::ProcessId;
use tenure_core::service::mutex;

use crate::engine::random::Random;
use crate::engine::random::RandomStream;
use crate::engine::schedule::{EventQueue, ScheduledEvent};
use crate::settings::Settings;
use crate::settings::workload::{LockWorkload, RequestPattern};

/// Users of the lock, one per process. Each user repeats four steps: the user waits for a while,
/// requests the lock, holds the lock, and releases the lock.
#[derive(Debug)]
pub(crate) struct LockUsers {
    locking: LockWorkload,
    users: Vec<User>,
    /// Number of connected users that hold the lock, wait for it, or have requests left to issue. A
    /// user is connected if its process is up and not cut off.
    busy: u64,
    /// Number of requests in a sequential pattern that are not assigned to a user yet.
    unassigned: u64,
    random: Random,
}

#[derive(Clone, Copy, Debug)]
struct User {
    /// Time at which the present phase began, in ticks.
    since: u64,
    /// Time at which the next command of the user is due, in ticks.
    due: u64,
    /// Time of the next arrival in an open pattern, in ticks. A scheduled arrival with another time
    /// has no effect: it was scheduled before the process crashed.
    next_arrival: u64,
    left: u32,
    backlog: u32,
    requests: u32,
    entries: u32,
    phase: LockUserPhase,
    up: bool,
    /// True if partitions that never end separate the process from a majority. The user then need
    /// not be served.
    is_cut_off: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockUserPhase {
    Outside,
    Waiting,
    Inside,
    Leaving,
}

impl LockUsers {
    pub(crate) fn new(locking: LockWorkload, settings: &Settings, up: &[bool]) -> Self {
        let sequential = matches!(locking.pattern, RequestPattern::Sequential { .. });
        let user = |(place, up): (usize, &bool)| {
            let listed = locking.entries.of(ProcessId::from_index(place));
            let left = if sequential { 0 } else { listed };
            let phase = LockUserPhase::Outside;
            let (since, due, next_arrival) = (0, 0, 0);
            let (backlog, requests, entries) = (0, 0, 0);
            User {
                since,
                due,
                next_arrival,
                left,
                backlog,
                requests,
                entries,
                phase,
                up: *up,
                is_cut_off: false,
            }
        };
        let users: Vec<User> = up.iter().enumerate().map(user).collect();
        let busy = users.iter().filter(|user| user.is_busy()).count() as u64;
        let unassigned = match locking.pattern {
            RequestPattern::Sequential { total } => total,
            _ => 0,
        };
        let random = Random::stream(settings.seed, RandomStream::Workload);
        LockUsers { locking, users, busy, unassigned, random }
    }

    /// Returns true if no request will follow and no connected user holds or requests the lock.
    pub(crate) fn is_served(&self) -> bool {
        self.busy == 0 && (self.unassigned == 0 || !self.users.iter().any(User::is_connected))
    }

    /// Marks the users of these processes as cut off from a majority for ever.
    pub(crate) fn set_cut_off(&mut self, cut_off: &[ProcessId]) {
        for process in cut_off {
            self.change(*process, |user| user.is_cut_off = true);
        }
    }

    /// Returns the number of entries that the users will still make if no process crashes.
    pub(crate) fn remaining_entries(&self) -> u64 {
        self.unassigned + self.users.iter().map(|user| u64::from(user.left)).sum::<u64>()
    }

    /// Schedules the first request of a user. Returns true if the request is due at once.
    pub(crate) fn schedule_first_request(
        &mut self,
        process: ProcessId,
        now: u64,
        event_queue: &mut EventQueue,
    ) -> bool {
        if self.users[process.index()].left == 0 || !self.users[process.index()].up {
            return false;
        }
        match self.locking.pattern {
            RequestPattern::Closed { think } => {
                let due = now.saturating_add(think.draw(&mut self.random));
                self.users[process.index()].due = due;
                if due > now {
                    event_queue.push(
                        due,
                        ScheduledEvent::UserCommand { process, command: mutex::Command::Enter },
                    );
                }
                due == now
            }
            RequestPattern::Open { every } => {
                let first = now.saturating_add(every.draw(&mut self.random));
                self.users[process.index()].next_arrival = first;
                event_queue.push(first, ScheduledEvent::RequestArrival { process });
                false
            }
            RequestPattern::Sequential { .. } => false,
        }
    }

    /// Returns true if the next request of a sequential pattern is due, and a user can issue it.
    /// The caller must then draw the user that issues the request.
    pub(crate) fn can_draw_requester(&self) -> bool {
        self.unassigned > 0 && self.busy == 0 && self.users.iter().any(User::is_connected)
    }

    /// Draws a connected user that will issue the next request of a sequential pattern. Returns
    /// `None` if no request is due.
    pub(crate) fn draw_requester(&mut self) -> Option<ProcessId> {
        if !self.can_draw_requester() {
            return None;
        }
        let count = self.users.iter().filter(|user| user.is_connected()).count() as u64;
        let chosen = usize::try_from(self.random.below(count)).ok()?;
        let connected = self.users.iter().enumerate().filter(|(_, user)| user.is_connected());
        let process = ProcessId::from_index(connected.map(|(place, _)| place).nth(chosen)?);
        self.unassigned -= 1;
        self.change(process, |user| user.left = 1);
        Some(process)
    }

    /// Returns true if the scheduled command of a user is still valid and due now.
    pub(crate) fn is_command_due(
        &self,
        process: ProcessId,
        command: mutex::Command,
        now: u64,
    ) -> bool {
        let user = &self.users[process.index()];
        let phase = match command {
            mutex::Command::Enter => user.phase == LockUserPhase::Outside && user.left > 0,
            mutex::Command::Exit => user.phase == LockUserPhase::Inside,
        };
        user.up && phase && user.due == now
    }

    /// Returns true if the user has not issued its next request yet, and a message from another
    /// user may make it issue the request early.
    pub(crate) fn can_request_early(&self, process: ProcessId) -> bool {
        let user = &self.users[process.index()];
        let closed = matches!(self.locking.pattern, RequestPattern::Closed { .. });
        closed && user.up && user.phase == LockUserPhase::Outside && user.left > 0
    }

    /// Returns true if a request arrives at the time `now`. Returns false if the scheduled arrival
    /// is no longer valid, for example after a crash.
    pub(crate) fn is_arrival_due(&self, process: ProcessId, now: u64) -> bool {
        let user = &self.users[process.index()];
        user.up && user.next_arrival == now && user.has_arrivals_left()
    }

    /// Handles the arrival of a request at a process. Returns true if the process issues the
    /// request at once, and false if the request must wait or is dropped. Requests arrive only
    /// under the pattern [`RequestPattern::Open`]. Under any other pattern, returns false.
    pub(crate) fn on_request_arrival(
        &mut self,
        process: ProcessId,
        now: u64,
        event_queue: &mut EventQueue,
    ) -> bool {
        let RequestPattern::Open { every } = self.locking.pattern else { return false };
        if !self.is_arrival_due(process, now) {
            return false;
        }
        let next = now.saturating_add(every.draw(&mut self.random));
        let user = &mut self.users[process.index()];
        user.backlog += 1;
        if user.has_arrivals_left() {
            user.next_arrival = next;
            event_queue.push(next, ScheduledEvent::RequestArrival { process });
        }
        self.take_backlog(process)
    }

    pub(crate) fn record_enter_request(&mut self, process: ProcessId, now: u64) {
        self.change(process, |user| {
            user.phase = LockUserPhase::Waiting;
            user.since = now;
            user.requests += 1;
        });
    }

    pub(crate) fn record_exit_request(&mut self, process: ProcessId, now: u64) {
        self.change(process, |user| {
            user.phase = LockUserPhase::Leaving;
            user.since = now;
        });
    }

    /// Records that a process enters the critical section. Returns the time since the user's
    /// request, in ticks. Returns `None` if the user had not requested the lock.
    pub(crate) fn record_entry(
        &mut self,
        process: ProcessId,
        now: u64,
        event_queue: &mut EventQueue,
    ) -> Option<u64> {
        let due = now.saturating_add(self.locking.hold.draw(&mut self.random));
        event_queue
            .push(due, ScheduledEvent::UserCommand { process, command: mutex::Command::Exit });
        let waited = self.users[process.index()].waited(LockUserPhase::Waiting, now);
        self.change(process, |user| {
            user.phase = LockUserPhase::Inside;
            user.since = now;
            user.due = due;
            user.entries += 1;
            user.left = user.left.saturating_sub(1);
        });
        waited
    }

    /// Records that a process exits the critical section. Returns a duration and a flag. The
    /// duration is the time since the user requested the exit, in ticks, or `None` if the user did
    /// not request it. The flag is true if the user's next request is due now.
    pub(crate) fn record_exit(
        &mut self,
        process: ProcessId,
        now: u64,
        event_queue: &mut EventQueue,
    ) -> (Option<u64>, bool) {
        let took = self.users[process.index()].waited(LockUserPhase::Leaving, now);
        self.change(process, |user| user.phase = LockUserPhase::Outside);
        let due = match self.locking.pattern {
            RequestPattern::Open { .. } => self.take_backlog(process).then_some(now),
            RequestPattern::Closed { think } if self.users[process.index()].left > 0 => {
                Some(now.saturating_add(think.draw(&mut self.random)))
            }
            _ => None,
        };
        if let Some(due) = due
            && due > now
        {
            self.users[process.index()].due = due;
            event_queue
                .push(due, ScheduledEvent::UserCommand { process, command: mutex::Command::Enter });
        }
        (took, due == Some(now))
    }

    /// Records that `process` crashed, and returns the phase of its user before the crash.
    pub(crate) fn record_crash(&mut self, process: ProcessId) -> LockUserPhase {
        let phase = self.users[process.index()].phase;
        self.change(process, |user| {
            user.phase = LockUserPhase::Outside;
            user.up = false;
        });
        phase
    }

    pub(crate) fn record_recovery(&mut self, process: ProcessId) {
        self.change(process, |user| {
            user.up = true;
            user.backlog = 0;
            // Requests that the crash interrupted are issued again.
            user.requests = user.entries;
        });
    }

    pub(crate) fn phase(&self, process: ProcessId) -> LockUserPhase {
        self.users[process.index()].phase
    }

    /// Returns the number of requests and entries of a user.
    pub(crate) fn request_and_entry_counts(&self, process: ProcessId) -> (u32, u32) {
        let user = &self.users[process.index()];
        (user.requests, user.entries)
    }

    /// Returns the connected users that wait to enter the critical section or to complete their
    /// exit.
    pub(crate) fn waiting_users(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let stuck = |user: &User| {
            user.is_connected()
                && matches!(user.phase, LockUserPhase::Waiting | LockUserPhase::Leaving)
        };
        let users = self.users.iter().enumerate();
        users.filter(move |(_, user)| stuck(user)).map(|(place, _)| ProcessId::from_index(place))
    }

    fn take_backlog(&mut self, process: ProcessId) -> bool {
        let user = &mut self.users[process.index()];
        let ready = user.up && user.phase == LockUserPhase::Outside && user.backlog > 0;
        user.backlog -= u32::from(ready);
        ready
    }

    fn change(&mut self, process: ProcessId, change: impl FnOnce(&mut User)) {
        let user = &mut self.users[process.index()];
        self.busy -= u64::from(user.is_busy());
        change(user);
        if !user.is_connected() && matches!(self.locking.pattern, RequestPattern::Sequential { .. })
        {
            // Another user is drawn for a request that a crash or a partition interrupts.
            self.unassigned += u64::from(std::mem::take(&mut user.left));
        }
        self.busy += u64::from(user.is_busy());
    }
}

impl User {
    fn is_connected(&self) -> bool {
        self.up && !self.is_cut_off
    }

    fn is_busy(&self) -> bool {
        self.is_connected() && (self.left > 0 || self.phase != LockUserPhase::Outside)
    }

    /// Returns true if more requests will arrive for this user. In total, one request arrives for
    /// each entry that the workload configures.
    fn has_arrivals_left(&self) -> bool {
        self.requests + self.backlog < self.entries + self.left
    }

    fn waited(&self, phase: LockUserPhase, now: u64) -> Option<u64> {
        (self.phase == phase).then(|| now - self.since)
    }
}
