//! A lock service with its clients: never two inside while clocks keep time, whatever becomes of
//! messages, processes and leaders, and everybody is served; and what it costs to leave out one of
//! its rules.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::Leased;
use tenure_algorithms::mutex::leased::{Config, Switch};
use tenure_check::Judgement;
use tenure_core::monitors::{Fencing, MutualExclusion};
use tenure_core::{ProcessId, TICKS_PER_UNIT};
use tenure_sim::{Configs, Settings, Simulation};
use tenure_trace::{Action, Course, Header, Kind, Record, Service, Source, merge_files};

use crate::among::{Among, with};

/// Two, of whom the first is the service, where time passes for all alike.
fn two(switches: &[Switch]) -> Among<Leased> {
    exclusive(switches).always(Fencing::new())
}

/// Of whom nothing is asked but that.
fn exclusive(switches: &[Switch]) -> Among<Leased> {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let config = Config { rounds: 1, variants, ..Config::plain(TICKS_PER_UNIT) };
    with::<Leased>(2, config).synchronous(0..=1).always(MutualExclusion::new())
}

const P2: [ProcessId; 1] = [ProcessId(1)];

#[test]
fn while_clocks_keep_time_two_are_never_inside_and_both_are_served() {
    two(&[]).starvation_free().run().assert_holds();
    two(&[]).partitioning(P2).run().assert_holds();
}

#[test]
fn who_crashes_inside_is_ended_by_its_lease_however_often_leaders_change() {
    two(&[]).crashing_at(P2).crashing(1).starvation_free().run().assert_holds();
    let full = two(&[Switch::TtlJumpsBack]).crashing_at(P2).crashing(1).starvation_free().run();
    assert_eq!(full.of("starvation-freedom"), Judgement::Violated, "{full}");
}

/// How the card shows it: P2 is inside and has crashed before the search begins, and no time has
/// passed.
#[test]
fn what_is_said_to_happen_before_happens_before_time_passes() {
    let before = "enter p2; deliver p2→p1; deliver p1→p2; deliver p2→p1; deliver p1→p2; crash p2";
    let before = || before.split("; ").map(|action| action.parse().expect("an action"));
    let check =
        |switches: &[Switch]| two(switches).crashing(1).after(before()).starvation_free().run();
    check(&[]).assert_holds();
    let full = check(&[Switch::TtlJumpsBack]);
    assert_eq!(full.of("starvation-freedom"), Judgement::Violated, "{full}");
}

/// What is written later may be forgotten by who leads next, and ends with the lease then.
#[test]
fn who_is_let_in_before_the_end_of_a_lease_is_written_is_alone() {
    let early = || two(&[Switch::EarlyRelease]);
    early().starvation_free().run().assert_holds();
    early().partitioning(P2).run().assert_holds();
    let report = early().duplicating(1).in_flight(2).run();
    report.assert_holds();
    assert_eq!(report.states, 776_843, "{report}");
}

/// The negative controls: each rule is needed.
#[test]
fn without_one_of_its_rules_two_are_inside_or_somebody_is_never_served() {
    use Switch::{DeadlineFromAnswer, DeposedRenews, ExpiryDisregardsRenewal};
    let broken = [
        exclusive(&[DeadlineFromAnswer]).partitioning(P2).run(),
        exclusive(&[DeposedRenews]).run(),
        exclusive(&[ExpiryDisregardsRenewal]).run(),
    ];
    for report in broken {
        assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "{report}");
    }
    let unserved = two(&[Switch::WatchFromWrongRevision]).starvation_free().run();
    assert_eq!(unserved.of("starvation-freedom"), Judgement::Violated, "{unserved}");
}

/// Whether the leader or the one before hears a renewal is drawn. Who follows the course draws the
/// same, wherever that is; with other draws the next step is not possible.
#[test]
fn a_counterexample_in_which_something_is_drawn_happens_again_in_every_engine() {
    let mistake = [Switch::DeadlineFromAnswer];
    let report = exclusive(&mistake).partitioning(P2).run();
    let found = report.counterexample("mutual-exclusion").expect("it is violated");
    let course = Course::of_trace(&found.trace).expect("a course");
    assert_eq!(course.steps(), found.length());
    let variants = Variants::none().with(Switch::DeadlineFromAnswer);
    let config = Config { rounds: 1, variants, ..Config::plain(TICKS_PER_UNIT) };
    let folder = tempfile::tempdir().expect("a folder");
    let header = Header::new("leased", Service::Mutex, 2, Source::Node);
    let nodes =
        tenure_runtime::follow::<Leased>(&course, |_| config.clone(), folder.path(), &header);
    let nodes = merge_files(nodes.expect("each step is possible")).expect("traces of one run");
    let checker = with::<Leased>(2, config.clone()).follow(&course);
    let file = folder.path().join("simulated.ndjson");
    let to = std::fs::File::create(&file).expect("a file");
    let simulation = Simulation::<Leased>::new(Configs::Shared(config), Settings::new(2));
    simulation.follow(&course, to).expect("each step is possible");
    let simulated = merge_files(vec![file]).expect("a trace");
    let told = |records: &[Record]| {
        let of_users = |record: &&Record| matches!(record.kind, Kind::Event(_));
        records.iter().filter(of_users).map(|it| (it.process, it.kind.clone())).collect::<Vec<_>>()
    };
    let wanted = told(&found.trace.records);
    assert_eq!(told(&nodes.records), wanted, "over TCP");
    assert_eq!(told(&simulated.records), wanted, "in the simulator");
    assert_eq!(told(&checker.expect("each step is possible").records), wanted, "in the checker");
    // The negative control: whoever draws something else does not come as far.
    let choose = |at, value: u32| Action::Choose { at, value: 1 - value };
    let others = course.actions.iter().map(|action| match action {
        Action::Choose { at, value } => choose(*at, *value),
        action => action.clone(),
    });
    let other = Course { actions: others.collect(), ..course.clone() };
    assert_ne!(other, course, "something is drawn");
    let variants = Variants::none().with(Switch::DeadlineFromAnswer);
    let config = Config { rounds: 1, variants, ..Config::plain(TICKS_PER_UNIT) };
    assert!(with::<Leased>(2, config).follow(&other).is_err());
}

#[test]
#[ignore = "half a minute"]
fn a_grant_to_a_session_that_is_over_lets_two_in() {
    let check = exclusive(&[Switch::GrantToDeadSession]).entries([2, 1]).losing(3).in_flight(2);
    let report = check.run();
    assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "{report}");
}

#[test]
fn a_message_that_arrives_twice_lets_nobody_in_beside_another() {
    let report = two(&[]).duplicating(1).in_flight(2).run();
    report.assert_holds();
    assert_eq!(report.states, 144_129, "{report}");
}

/// Where a message is lost there is no end within 5 GB, and nothing is violated within 4.8 million
/// worlds.
#[test]
#[ignore = "ten seconds of a core when optimised"]
fn nor_are_they_where_each_enters_twice() {
    two(&[]).entries(2).in_flight(2).starvation_free().run().assert_holds();
}
