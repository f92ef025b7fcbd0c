//! Users of the lock, and the times at which each user requests and releases the lock.

use tenure_core::ProcessId;
use tenure_core::service::mutex;

use crate::engine::random::Random;
use crate::engine::random::RandomStream;
use crate::engine::scheduled_event::{EventQueue, ScheduledEvent};
use crate::settings::Settings;
use crate::settings::workload::{LockWorkload, RequestPattern};

/// Users of the lock, one per process. Each user repeats four steps: the user waits for a while,
/// requests the lock, holds the lock, and releases the lock.
#[derive(Debug)]
pub(crate) struct LockUsers {
    locking: LockWorkload,
    users: Vec<User>,
    /// Number of connected users that are not outside the critical section, or have entries left to
    /// make. A user is connected if its process is up and not cut off from a majority.
    busy: u64,
    /// Number of requests of a sequential pattern that no user has been drawn for yet.
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
    /// has no effect, because it was scheduled before the process crashed.
    next_arrival: u64,
    /// Number of entries that the user has yet to make.
    left: u32,
    /// Number of requests that have arrived in an open pattern and are not issued yet.
    backlog: u32,
    /// Number of requests that the user has issued. After a recovery, a request that the crash
    /// interrupted is not counted.
    requests: u32,
    /// Number of entries that the user has made.
    entries: u32,
    phase: LockUserPhase,
    up: bool,
    /// True if partitions that never end separate the process from a majority. The user then need
    /// not be served.
    is_cut_off: bool,
}

/// Phase of a user of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockUserPhase {
    /// The user neither holds nor requests the lock.
    Outside,
    /// The user has requested the lock and has not entered the critical section yet.
    Waiting,
    /// The user is inside the critical section.
    Inside,
    /// The user has requested the exit, and the exit is not complete.
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

    /// Returns true if no request will follow, and no connected user is inside the critical
    /// section, waits for the lock, or waits for the end of its exit.
    pub(crate) fn is_served(&self) -> bool {
        self.busy == 0 && (self.unassigned == 0 || !self.users.iter().any(User::is_connected))
    }

    /// Marks the users of these processes as cut off from a majority for ever.
    pub(crate) fn set_cut_off(&mut self, cut_off: &[ProcessId]) {
        for process in cut_off {
            self.change(*process, |user| user.is_cut_off = true);
        }
    }

    /// Returns the number of entries that the users will still make if no crash or partition
    /// disturbs them.
    pub(crate) fn remaining_entries(&self) -> u64 {
        self.unassigned + self.users.iter().map(|user| u64::from(user.left)).sum::<u64>()
    }

    /// Schedules the first request of a user after its process has booted. Returns true if the
    /// request is due at once; the caller then issues it. Schedules nothing if the user has no
    /// entries left, if the process is down, or if the pattern is sequential.
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

    /// Returns true if the next request of a sequential pattern is due, and a connected user
    /// exists. The caller then calls [`Self::draw_requester`].
    pub(crate) fn can_draw_requester(&self) -> bool {
        self.unassigned > 0 && self.busy == 0 && self.users.iter().any(User::is_connected)
    }

    /// Draws the connected user that issues the next request of a sequential pattern, and assigns
    /// the request to this user. Returns `None` if no request is left, if a connected user has an
    /// unfinished entry, or if no user is connected.
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

    /// Returns true if the scheduled command of a user is still valid and due at the time `now`.
    /// The user may have issued the command early, or may have crashed.
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

    /// Returns true if the user could issue its next request now, before the scheduled time. A
    /// message from another user may be the reason to do so. This is possible only under the
    /// pattern [`RequestPattern::Closed`].
    pub(crate) fn can_request_early(&self, process: ProcessId) -> bool {
        let user = &self.users[process.index()];
        let closed = matches!(self.locking.pattern, RequestPattern::Closed { .. });
        closed && user.up && user.phase == LockUserPhase::Outside && user.left > 0
    }

    /// Returns true if a scheduled arrival of a request at the time `now` is still valid. A crash
    /// makes it invalid.
    pub(crate) fn is_arrival_due(&self, process: ProcessId, now: u64) -> bool {
        let user = &self.users[process.index()];
        user.up && user.next_arrival == now && user.has_arrivals_left()
    }

    /// Handles the arrival of a request at a process, and schedules the next arrival. Returns true
    /// if the user issues a request at once. Returns false if the request must wait, or if the
    /// arrival is no longer valid. Requests arrive only under the pattern [`RequestPattern::Open`].
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

    /// Records that a process enters the critical section, and schedules its exit. Returns the time
    /// since the user's request, in ticks. Returns `None` if the user had not requested the lock.
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

    /// Records that a process exits the critical section, and schedules the user's next request.
    /// Returns a duration and a flag. The duration is the time since the user requested the exit,
    /// in ticks, or `None` if the user did not request it. The flag is true if the next request is
    /// due now; the caller then issues it.
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

    /// Returns the numbers of requests and entries of a user. A request that a crash interrupted is
    /// not counted after the recovery.
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

    /// If the user is up and outside, and a request waits in the backlog, removes this request and
    /// returns true. The caller then issues the request.
    fn take_backlog(&mut self, process: ProcessId) -> bool {
        let user = &mut self.users[process.index()];
        let ready = user.up && user.phase == LockUserPhase::Outside && user.backlog > 0;
        user.backlog -= u32::from(ready);
        ready
    }

    /// Changes a user and updates the counts of busy users and of unassigned requests.
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
    /// Returns true if the process is up and not cut off from a majority.
    fn is_connected(&self) -> bool {
        self.up && !self.is_cut_off
    }

    /// Returns true if the user counts in [`LockUsers::busy`].
    fn is_busy(&self) -> bool {
        self.is_connected() && (self.left > 0 || self.phase != LockUserPhase::Outside)
    }

    /// Returns true if more requests will arrive for this user in an open pattern. One request
    /// arrives for each entry that the workload configures. After a recovery from a crash, requests
    /// arrive again for all entries that the user has not made yet.
    fn has_arrivals_left(&self) -> bool {
        self.requests + self.backlog < self.entries + self.left
    }

    /// Returns the time since the user entered its phase, in ticks. Returns `None` if the user is
    /// not in the phase `phase`.
    fn waited(&self, phase: LockUserPhase, now: u64) -> Option<u64> {
        (self.phase == phase).then(|| now - self.since)
    }
}
