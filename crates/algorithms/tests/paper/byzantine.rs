//! The oral messages algorithm: the paper's examples on single runs. The checker explores every
//! behaviour of the liars (`crates/check/tests/check/byzantine.rs`).

use std::collections::VecDeque;

use tenure_algorithms::Variants;
use tenure_algorithms::byzantine::OralMessagesGeneral;
use tenure_algorithms::byzantine::oral_messages::{Config, VariantId};
use tenure_core::byzantine::{COMMANDER, General, OralMessage, Plan};
use tenure_core::{Group, ProcessId};

/// Runs OM(m), the oral messages algorithm. The commander gives the order `plan`. Before each
/// delivery, the test calls `lie` with the sender, the receiver and the message. `lie` may change
/// the message. Returns the orders that the lieutenants obey, and the number of messages.
fn run(
    size: u32,
    config: Config,
    plan: Plan,
    lie: impl Fn(ProcessId, ProcessId, &mut OralMessage),
) -> (Vec<Plan>, u64) {
    let boot = |at| OralMessagesGeneral::boot(Group::new(ProcessId(at), size), &config);
    let mut generals: Vec<OralMessagesGeneral> = (0..size).map(boot).collect();
    let mut under_way: VecDeque<(ProcessId, ProcessId, OralMessage)> = VecDeque::new();
    let outgoing = generals[0].command(plan);
    under_way.extend(outgoing.into_iter().map(|(to, message)| (COMMANDER, to, message)));
    let mut count = 0;
    while let Some((from, to, mut message)) = under_way.pop_front() {
        count += 1;
        lie(from, to, &mut message);
        assert_eq!(generals[to.index()].decision(), None, "messages are missing");
        let outgoing = generals[to.index()].receive(message);
        under_way.extend(outgoing.into_iter().map(|(next, message)| (to, next, message)));
    }
    let obeyed = generals[1..].iter().map(|it| it.decision().expect("all messages have arrived"));
    (obeyed.collect(), count)
}

const fn config(liars: u32) -> Config {
    Config { tolerated_liars: liars, variants: Variants::none() }
}

const fn honest(_: ProcessId, _: ProcessId, _: &mut OralMessage) {}

#[test]
fn loyal_generals_obey_with_the_stated_number_of_messages() {
    for (size, liars) in [(3, 0), (4, 1), (5, 1), (7, 2)] {
        for plan in Plan::ALL {
            let (obeyed, count) = run(size, config(liars), plan, honest);
            assert!(obeyed.iter().all(|it| *it == plan), "{size} generals: {obeyed:?}");
            assert_eq!(count, OralMessagesGeneral::card(size, liars).message_count);
        }
    }
    assert_eq!(OralMessagesGeneral::card(4, 1).message_count, 9);
    assert_eq!(OralMessagesGeneral::card(7, 2).message_count, 156);
}

#[test]
fn lying_lieutenant_misleads_none_of_four_generals() {
    let liar = ProcessId(3);
    let lie = |from, _, message: &mut OralMessage| {
        if from == liar {
            message.plan = Plan::Retreat;
        }
    };
    let (obeyed, _) = run(4, config(1), Plan::Attack, lie);
    assert_eq!(obeyed[..2], [Plan::Attack, Plan::Attack]);
    // Negative control: the lieutenants ignore the commander's own order. Then each loyal
    // lieutenant has only two reports, and one of them is P3's lie.
    let variants = Variants::none().with(VariantId::LeavesItselfOut);
    let (obeyed, _) = run(4, Config { tolerated_liars: 1, variants }, Plan::Attack, lie);
    assert_eq!(obeyed[..2], [Plan::Retreat, Plan::Retreat]);
}

#[test]
fn lying_commander_gives_all_lieutenants_the_same_values() {
    let lie = |from, to: ProcessId, message: &mut OralMessage| {
        if from == COMMANDER {
            message.plan = if to.display_number() == 2 { Plan::Attack } else { Plan::Retreat };
        }
    };
    let (obeyed, _) = run(4, config(1), Plan::Attack, lie);
    assert_eq!(obeyed, [Plan::Retreat; 3]);
    // Negative control: each lieutenant obeys the commander's order without a vote. Then P2 attacks
    // and the others retreat.
    let variants = Variants::none().with(VariantId::ObeysDirectly);
    let (obeyed, _) = run(4, Config { tolerated_liars: 1, variants }, Plan::Attack, lie);
    assert_eq!(obeyed, [Plan::Attack, Plan::Retreat, Plan::Retreat]);
}

#[test]
fn three_generals_cannot_tell_who_lies() {
    // In the first run, P3 lies about a loyal commander. In the second run, the commander lies. P2
    // receives the same messages in both runs.
    let lieutenant = |from: ProcessId, _, message: &mut OralMessage| {
        if from == ProcessId(2) {
            message.plan = Plan::Retreat;
        }
    };
    let commander = |from, to: ProcessId, message: &mut OralMessage| {
        if from == COMMANDER && to == ProcessId(2) {
            message.plan = Plan::Retreat;
        }
    };
    let (first, _) = run(3, config(1), Plan::Attack, lieutenant);
    let (second, _) = run(3, config(1), Plan::Attack, commander);
    assert_eq!(first[0], second[0], "P2 cannot distinguish the runs");
    assert_eq!(first[0], Plan::Retreat, "and disobeys the loyal commander in the first");
}
