//! Transfer of leadership in every schedule: there are never two leaders at a time, and all
//! processes agree in the end.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::election::{Bully, RaftElection, bully, raft};
use tenure_check::{Check, CheckReport};
use tenure_core::monitors::{LeaderAgreement, LeaderScope, OneLeader};
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, Delay, Effects, Election, Group, Input, PeerVerdict, ProcessId, Protocol,
    Rank, TICKS_PER_TIME_UNIT, TimerRole,
};

use crate::catalogue::{violated, violates};

/// Adapter of an election. If the user of the leader starts another election, the leader resigns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ResigningElection<E: Election> {
    me: ProcessId,
    election: E,
    leads: bool,
    /// True if the leader reports that it resigned, but continues to lead.
    fakes_resignation: bool,
}

impl<E: Election> ResigningElection<E> {
    fn take(&mut self, input: Input<E>, fx: &mut impl Effects<Self>) {
        let ((), news) =
            fx.run_child(|message| message, |timer| timer, |fx| self.election.step(input, fx));
        for event in news {
            match event {
                Event::Elected { leader, .. } => self.leads = leader == self.me,
                Event::Deposed { .. } => self.leads = false,
            }
            fx.emit(event);
        }
    }
}

impl<E: Election> Protocol for ResigningElection<E> {
    type Config = (E::Config, bool);
    type Command = Command;
    type Event = Event;
    type Message = E::Message;
    type Timer = E::Timer;
    type Stable = E::Stable;

    fn boot(
        group: Group,
        (config, fakes_resignation): &Self::Config,
        stable: Option<E::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (election, _) =
            fx.run_child(|message| message, |timer| timer, |fx| E::boot(group, config, stable, fx));
        let (me, fakes_resignation) = (group.me(), *fakes_resignation);
        ResigningElection { me, election, leads: false, fakes_resignation }
    }

    fn stable(&self) -> E::Stable {
        self.election.stable()
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (self.leads, self.fakes_resignation) {
            (false, _) => self.take(Input::Command(command), fx),
            (true, false) => self.take(Input::Command(Command::Resign), fx),
            (true, true) => {
                let mut another = self.election.clone();
                fx.run_child(
                    |message| message,
                    |timer| timer,
                    |fx| another.on_command(Command::Resign, fx),
                );
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: E::Message, fx: &mut impl Effects<Self>) {
        self.take(Input::Message { from, message }, fx);
    }

    fn on_timer(&mut self, timer: E::Timer, fx: &mut impl Effects<Self>) {
        self.take(Input::Timer(timer), fx);
    }

    fn timer_role(timer: &E::Timer) -> TimerRole {
        E::timer_role(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.take(Input::Suspicion { peer, verdict }, fx);
    }
}

impl<E: Election + Algorithm> Algorithm for ResigningElection<E> {
    fn card((config, _): &Self::Config, size: u32) -> Card {
        E::card(config, size)
    }

    fn with_ranks((config, fakes_resignation): &Self::Config, ranks: Arc<[Rank]>) -> Self::Config {
        (E::with_ranks(config, ranks), *fakes_resignation)
    }

    fn highest_term(&self) -> u64 {
        self.election.highest_term()
    }
}

type Resigning = ResigningElection<<RaftElection as SumTypeMember>::Sum>;

fn resigning<E>(config: E::Config, fakes_resignation: bool) -> Check<Resigning>
where
    E: SumTypeMember<Sum = <RaftElection as SumTypeMember>::Sum>,
{
    Check::with_protocol_config(3, (E::to_sum_type_config(config), fakes_resignation))
}

const P1: ProcessId = ProcessId(0);
const P2: ProcessId = ProcessId(1);
const P3: ProcessId = ProcessId(2);

/// Returns a check in synchronous time. The first initiator starts the election. A leader whose
/// user requests an election transfers its leadership.
fn timed(fakes_resignation: bool) -> Check<Resigning> {
    let config = raft::Config {
        election_timeout: Delay::between_time_units(3, 4),
        heartbeat_interval: Delay::time_units(1),
        lease_duration: Delay::time_units(1),
        heartbeat_modulus: 1,
        variants: Variants::none(),
    };
    let check =
        resigning::<RaftElection>(config, fakes_resignation).max_term(2).in_flight_per_link(2);
    check.synchronous(0..=0).initiators([P1, P2])
}

fn one_leader_at_a_time(check: Check<Resigning>) -> CheckReport {
    check.always(OneLeader::new(LeaderScope::Overall)).run()
}

/// A leader transfers its leadership to a successor. A process that votes for the successor breaks
/// its promise not to vote while another process may lead. This is safe, because the old leader
/// steps down before the vote. In the control, the old leader does not step down, and there are two
/// leaders.
#[test]
fn leadership_transfer_never_creates_two_leaders() {
    one_leader_at_a_time(timed(false)).assert_holds();
    violates(&one_leader_at_a_time(timed(true)), "one-leader-at-a-time");
}

/// Checks leadership transfer with lost or duplicated messages, and with timers that fire at any
/// time. One process starts an election. If its user starts another election while the process
/// leads, the process transfers its leadership.
#[test]
#[ignore = "long: 9 s"]
fn leadership_transfer_tolerates_faults_and_any_timers() {
    for (lost, doubled) in [(1, 0), (0, 1)] {
        let faulty = |fakes_resignation| {
            timed(fakes_resignation).initiators([P1]).max_losses(lost).max_duplicates(doubled)
        };
        one_leader_at_a_time(faulty(false)).assert_holds();
        violates(&one_leader_at_a_time(faulty(true)), "one-leader-at-a-time");
    }
    let config = raft::Config {
        heartbeat_modulus: 1,
        ..raft::Config::with_defaults(3, TICKS_PER_TIME_UNIT)
    };
    let anytime =
        resigning::<RaftElection>(config, false).max_term(2).in_flight_per_link(1).initiators([P1]);
    anytime.always(OneLeader::new(LeaderScope::PerTerm)).run().assert_holds();
}

#[test]
#[ignore = "takes a minute on two cores"]
fn leadership_transfer_tolerates_faults_with_two_requests() {
    one_leader_at_a_time(timed(false).max_duplicates(1)).assert_holds();
    one_leader_at_a_time(timed(false).max_losses(1)).assert_holds();
}

/// Returns a check of an election that P1 starts and P3 wins. The user of P3 also starts an
/// election. If P3 is already the leader at this time, P3 transfers its leadership to P2.
fn bullies(fakes_resignation: bool) -> Check<Resigning> {
    let config = bully::Config::with_defaults(3, TICKS_PER_TIME_UNIT);
    let check = resigning::<Bully>(config, fakes_resignation).initiators([P1, P3]);
    check.detecting_failures().synchronous(0..=1).max_term(3)
}

fn eventually_agrees(check: Check<Resigning>) -> CheckReport {
    check.always_and_at_end(LeaderAgreement::new()).check_progress().run()
}

#[test]
fn bully_transfers_leadership_and_all_agree() {
    let one = |check: Check<Resigning>| check.always(OneLeader::new(LeaderScope::Overall));
    eventually_agrees(one(bullies(false))).assert_holds();
    eventually_agrees(one(bullies(false).max_term(2).max_crashes(1))).assert_holds();
    // Negative control: a leader that only claims to resign leads at the same time as its
    // successor.
    violated(&one(bullies(true)).run(), "one-leader-at-a-time", 4);
}

/// If the successor crashes after the transfer, two processes may lead: the old leader, and a
/// process that does not know the successor. When these two processes learn of each other, the
/// process with the smaller rank stops leading.
#[test]
#[ignore = "takes some seconds on two cores"]
fn bully_leads_again_if_its_successor_crashes() {
    eventually_agrees(bullies(false).initiators([P1, P2, P3])).assert_holds();
    let crashing = || bullies(false).max_crashes(1);
    eventually_agrees(crashing()).assert_holds();
    let both = crashing().always(OneLeader::new(LeaderScope::Overall)).run();
    violated(&both, "one-leader-at-a-time", 13);
}
