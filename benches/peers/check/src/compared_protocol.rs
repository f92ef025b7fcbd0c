//! Protocols of the comparison, each with its users and its property. All model checkers of the
//! comparison explore them in this form.

use std::fmt::Debug;
use std::hash::Hash;

use tenure_check::{Check, CheckReport, Checkable};
use tenure_core::monitors::{self, MutualExclusion, OneLeader};
use tenure_core::service::{election, mutex};
use tenure_core::{Never, Protocol};

use crate::protocols::chang_roberts::ChangRoberts;
use crate::protocols::maekawa::Maekawa;
use crate::protocols::raft_election::RaftElection;
use crate::protocols::ricart_agrawala::{Mistake, Textbook};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) size: u32,
    /// Number of entries of each user of a lock.
    pub(crate) times: u32,
    /// True for the control experiment, in which processes follow a mistaken rule.
    pub(crate) is_mistaken: bool,
}

/// A user of one process, which issues commands.
pub(crate) trait User: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    type Command: Clone;
    type Event;

    /// Creates a user. The user of a lock enters `times` times. The user of an election starts one
    /// election.
    fn new(times: u32) -> Self;
    fn enabled(&self) -> Option<Self::Command>;
    fn on_command(&mut self);
    fn on_event(&mut self, event: &Self::Event);
}

/// Protocol of the comparison, with its users and its property.
pub(crate) trait ComparedProtocol:
    Protocol<Config: Default, Timer = Never, Stable = (), Message: PartialEq> + Checkable
{
    type User: User<Command = Self::Command, Event = Self::Event>;

    /// Returns the configuration of the processes. In a control experiment, the configuration
    /// contains a mistake that violates the property.
    fn config(_: Scope) -> Self::Config {
        Self::Config::default()
    }

    fn is_safe(processes: &[Self], users: &[Self::User]) -> bool;

    fn check(scope: Scope, with_progress: bool) -> CheckReport;
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LockUser {
    position: Position,
    /// Number of entries that the user has not requested yet.
    left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Position {
    Outside,
    Waiting,
    Inside,
}

impl LockUser {
    pub(crate) fn is_inside(&self) -> bool {
        self.position == Position::Inside
    }
}

impl User for LockUser {
    type Command = mutex::Command;
    type Event = mutex::Event;

    fn new(times: u32) -> Self {
        LockUser { position: Position::Outside, left: times }
    }

    fn enabled(&self) -> Option<mutex::Command> {
        match self.position {
            Position::Outside if self.left > 0 => Some(mutex::Command::Enter),
            Position::Inside => Some(mutex::Command::Exit),
            Position::Outside | Position::Waiting => None,
        }
    }

    fn on_command(&mut self) {
        if self.position == Position::Outside {
            self.left -= 1;
            self.position = Position::Waiting;
        }
    }

    fn on_event(&mut self, event: &mutex::Event) {
        self.position = match event {
            mutex::Event::Entered { .. } => Position::Inside,
            mutex::Event::Exited => Position::Outside,
        };
    }
}

/// User that starts the election once, at any moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ElectionUser {
    can_start: bool,
    knowledge: Knowledge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Knowledge {
    None,
    Awaited,
    Leader,
}

impl User for ElectionUser {
    type Command = election::Command;
    type Event = election::Event;

    fn new(_: u32) -> Self {
        ElectionUser { can_start: true, knowledge: Knowledge::None }
    }

    fn enabled(&self) -> Option<election::Command> {
        self.can_start.then_some(election::Command::Elect)
    }

    fn on_command(&mut self) {
        *self = ElectionUser { can_start: false, knowledge: Knowledge::Awaited };
    }

    fn on_event(&mut self, event: &election::Event) {
        self.knowledge = match event {
            election::Event::Elected { .. } => Knowledge::Leader,
            election::Event::Deposed { .. } => Knowledge::Awaited,
        };
    }
}

fn is_exclusive(users: &[LockUser]) -> bool {
    users.iter().filter(|user| user.is_inside()).count() <= 1
}

/// Explores a lock over links that keep the order of messages.
fn check_lock<P>(scope: Scope, config: P::Config, with_progress: bool) -> CheckReport
where
    P: Checkable + Protocol<Command = mutex::Command, Event = mutex::Event>,
{
    let check = Check::<P>::with_protocol_config(scope.size, config)
        .request_limits(scope.times)
        .fifo()
        .threads(1);
    let check = check.always(MutualExclusion::new());
    if with_progress { check.check_starvation_freedom() } else { check }.run()
}

/// Explores an election over links that keep the order of messages.
fn check_election<P>(size: u32, one: monitors::LeaderScope, with_progress: bool) -> CheckReport
where
    P: Checkable + Protocol<Command = election::Command, Event = election::Event, Config: Default>,
{
    let check = Check::<P>::new(size).fifo().threads(1).always(OneLeader::new(one));
    if with_progress { check.check_progress() } else { check }.run()
}

impl ComparedProtocol for Textbook {
    type User = LockUser;

    fn is_safe(_: &[Self], users: &[LockUser]) -> bool {
        is_exclusive(users)
    }

    fn config(scope: Scope) -> Mistake {
        if scope.is_mistaken { Mistake::NoTieBreakReply } else { Mistake::None }
    }

    fn check(scope: Scope, with_progress: bool) -> CheckReport {
        check_lock::<Textbook>(scope, Self::config(scope), with_progress)
    }
}

impl ComparedProtocol for Maekawa {
    type User = LockUser;

    fn is_safe(_: &[Self], users: &[LockUser]) -> bool {
        is_exclusive(users)
    }

    fn check(scope: Scope, with_progress: bool) -> CheckReport {
        check_lock::<Maekawa>(scope, (), with_progress)
    }
}

impl ComparedProtocol for ChangRoberts {
    type User = ElectionUser;

    fn is_safe(processes: &[Self], _: &[ElectionUser]) -> bool {
        processes.iter().filter(|process| process.leads()).count() <= 1
    }

    fn check(scope: Scope, with_progress: bool) -> CheckReport {
        check_election::<ChangRoberts>(scope.size, monitors::LeaderScope::Overall, with_progress)
    }
}

impl ComparedProtocol for RaftElection {
    type User = ElectionUser;

    fn is_safe(processes: &[Self], _: &[ElectionUser]) -> bool {
        let mut terms: Vec<u64> = processes.iter().filter_map(RaftElection::led_term).collect();
        terms.sort_unstable();
        terms.is_sorted_by(|one, other| one < other)
    }

    fn check(scope: Scope, with_progress: bool) -> CheckReport {
        check_election::<RaftElection>(scope.size, monitors::LeaderScope::PerTerm, with_progress)
    }
}
