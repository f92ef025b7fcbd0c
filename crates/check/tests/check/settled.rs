//! A bully whose highest leads from the start, as accounts of what can go wrong begin.

use tenure_algorithms::Variants;
use tenure_algorithms::election::bully::{Config, Message, Switch, Timer};
use tenure_algorithms::election::{Bully, bully};
use tenure_check::Check;
use tenure_claims::claims;
use tenure_core::monitors::{Agreement, OneLeader, Scope};
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Batch, Effects, Group, ProcessId, Protocol, Still, TICKS_PER_UNIT, Verdict,
};

use crate::catalogue::violated;

/// The bully, after the highest has announced itself and everybody has heard of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Settled(Bully);

impl Protocol for Settled {
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
        if first { Settled::after_an_election(bully, group, config, fx) } else { Settled(bully) }
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

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        self.0.on_suspicion(peer, verdict, &mut inside(fx));
    }
}

fn inside(fx: &mut impl Effects<Settled>) -> impl Effects<Bully> {
    fx.wrap(|message| message, |timer| timer, Some)
}

impl Settled {
    fn after_an_election(
        mut bully: Bully,
        group: Group,
        config: &Config,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let highest = ProcessId(group.size() - 1);
        let mut said = Batch::<Bully>::new(Still);
        let mut leader = Bully::boot(Group::new(highest, group.size()), config, None, &mut said);
        leader.on_command(Command::Elect, &mut said);
        if group.me() == highest {
            said.events.drain(..).for_each(|event| fx.emit(event));
            return Settled(leader);
        }
        let (_, announcement) =
            said.messages.into_iter().find(|(to, _)| *to == group.me()).expect("it tells all");
        bully.on_message(highest, announcement, &mut inside(fx));
        Settled(bully)
    }
}

/// Nobody starts an election, but whoever misses the leader.
fn settled(size: u32, switches: &[Switch]) -> Check<Settled> {
    let plain = bully::Config::plain(size, TICKS_PER_UNIT);
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let check = Check::with(size, bully::Config { variants, ..plain });
    check.detecting().initiators([]).term_max_by(|settled| settled.0.highest_term(), 3)
}

/// The alarm, and a timeout that comes before the answer.
#[claims("7-B1")]
#[test]
fn b1_two_lead_after_two_steps_and_believe_each_other_after_six() {
    for rule in [&[Switch::NoTerms][..], &[Switch::NoTerms, Switch::AcceptLower], &[]] {
        let check = settled(2, rule).suspecting_falsely(1);
        let report = check.always(OneLeader::new(Scope::Overall)).run();
        violated(&report, "one-leader-at-a-time", 2);
    }
    let wrong = settled(2, &[Switch::NoTerms, Switch::AcceptLower]).suspecting_falsely(1);
    violated(&wrong.in_the_end(Agreement::new()).run(), "agreement", 6);
    let right = settled(2, &[]).suspecting_falsely(1);
    right.in_the_end(Agreement::new()).run().assert_holds();
}

/// Crash, suspicion, timeout, recovery. Before a perfect timeout, what was asked of the one
/// that is down has to find nobody, which is a step as well.
#[claims("7-B5")]
#[test]
fn b5_two_lead_after_four_steps_where_one_comes_back() {
    for rule in [&[Switch::NoTerms][..], &[Switch::NoTerms, Switch::AcceptLower], &[]] {
        let check = || {
            let check = settled(2, rule).crashing(1).recovering(1);
            check.always(OneLeader::new(Scope::Overall))
        };
        let leader = || check().crashing_at([ProcessId(1)]);
        violated(&leader().run(), "one-leader-at-a-time", 4);
        violated(&leader().synchronous(0..=1).run(), "one-leader-at-a-time", 5);
        // Anybody who comes back asks, and where timers fire at any time hears of nobody.
        violated(&check().run(), "one-leader-at-a-time", 3);
        violated(&check().synchronous(0..=1).run(), "one-leader-at-a-time", 5);
    }
}
