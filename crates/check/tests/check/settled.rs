//! Tests of the bully algorithm that begin in a state in which the highest process already leads.
//! In the literature, many descriptions of failures of the algorithm begin in this state.

use tenure_algorithms::election::bully::{Config, Message, Timer, VariantId};
use tenure_algorithms::election::{Bully, bully};
use tenure_check::Check;
use tenure_core::monitors::{LeaderAgreement, LeaderScope, OneLeader};
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, ConstantEnvironment, EffectBuffer, Effects, Group, PeerVerdict, ProcessId, Protocol,
    TICKS_PER_TIME_UNIT,
};

use crate::by_service::variants;
use crate::catalogue::violated;

/// The bully algorithm with a different initial state: each process has already received the
/// announcement of the highest process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BullyWithLeader(Bully);

impl Protocol for BullyWithLeader {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = <Bully as Protocol>::Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let first = stable.is_none();
        let bully = Bully::boot(group, config, stable, &mut inside(fx));
        if first {
            BullyWithLeader::after_an_election(bully, group, config, fx)
        } else {
            BullyWithLeader(bully)
        }
    }

    fn stable(&self) -> Self::Stable {
        self.0.stable()
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        self.0.on_command(command, &mut inside(fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        self.0.on_message(from, message, &mut inside(fx));
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        self.0.on_timer(timer, &mut inside(fx));
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.0.on_suspicion(peer, verdict, &mut inside(fx));
    }
}

fn inside(fx: &mut impl Effects<BullyWithLeader>) -> impl Effects<Bully> {
    fx.child_effects(|message| message, |timer| timer, Some)
}

impl BullyWithLeader {
    fn after_an_election(
        mut bully: Bully,
        group: Group,
        config: &Config,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let highest = ProcessId(group.size() - 1);
        let mut said = EffectBuffer::<Bully>::new(ConstantEnvironment);
        let mut leader = Bully::boot(Group::new(highest, group.size()), config, None, &mut said);
        leader.on_command(Command::Elect, &mut said);
        if group.me() == highest {
            said.events.drain(..).for_each(|event| fx.emit(event));
            return BullyWithLeader(leader);
        }
        let (_, announcement) =
            said.messages.into_iter().find(|(to, _)| *to == group.me()).expect("it tells all");
        bully.on_message(highest, announcement, &mut inside(fx));
        BullyWithLeader(bully)
    }
}

/// Returns a check in which a process starts an election only if it suspects the leader.
fn bully_with_leader(size: u32, switches: &[VariantId]) -> Check<BullyWithLeader> {
    let plain = bully::Config::with_defaults(size, TICKS_PER_TIME_UNIT);
    let check =
        Check::with_protocol_config(size, bully::Config { variants: variants(switches), ..plain });
    check.detecting_failures().initiators([]).max_term_of(|process| process.0.highest_term(), 3)
}

/// In three variants of the bully algorithm, two processes lead after two steps: a wrong suspicion
/// of the leader, and a timeout. With terms, the processes agree in the end. Without terms, they
/// may disagree in the end if a process accepts a leader with a lower rank than its own. The
/// shortest run that ends in disagreement has six steps.
#[test]
fn b1_two_lead_after_two_steps_and_follow_after_six() {
    for rule in [&[VariantId::NoTerms][..], &[VariantId::NoTerms, VariantId::AcceptLower], &[]] {
        let check = bully_with_leader(2, rule).max_false_suspicions(1);
        let report = check.always(OneLeader::new(LeaderScope::Overall)).run();
        violated(&report, "one-leader-at-a-time", 2);
    }
    let wrong =
        bully_with_leader(2, &[VariantId::NoTerms, VariantId::AcceptLower]).max_false_suspicions(1);
    violated(&wrong.always_and_at_end(LeaderAgreement::new()).run(), "agreement", 6);
    let right = bully_with_leader(2, &[]).max_false_suspicions(1);
    right.always_and_at_end(LeaderAgreement::new()).run().assert_holds();
}

/// After a crash and a recovery of the leader, two processes lead. The shortest run has four steps:
/// crash, suspicion, timeout and recovery. With perfect timeouts, it has a fifth step: the link
/// drops the query to the crashed process.
#[test]
fn b5_recovery_makes_two_leaders_after_four_steps() {
    for rule in [&[VariantId::NoTerms][..], &[VariantId::NoTerms, VariantId::AcceptLower], &[]] {
        let check = || {
            let check = bully_with_leader(2, rule).max_crashes(1).max_recoveries(1);
            check.always(OneLeader::new(LeaderScope::Overall))
        };
        let leader = || check().crashing_only([ProcessId(1)]);
        violated(&leader().run(), "one-leader-at-a-time", 4);
        violated(&leader().synchronous(0..=1).run(), "one-leader-at-a-time", 5);
        // A recovered process queries the processes with higher ranks. If timers fire at any time,
        // its timeout may come before their answers.
        violated(&check().run(), "one-leader-at-a-time", 3);
        violated(&check().synchronous(0..=1).run(), "one-leader-at-a-time", 5);
    }
}
