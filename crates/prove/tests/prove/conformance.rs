//! Compares every state and step of the implementation with the model, in small groups.

use tenure_algorithms::election::chang_roberts::{self, ChangRoberts};
use tenure_algorithms::mutex::{
    central::Central, lamport::Lamport, maekawa, majority, ricart_agrawala::RicartAgrawala,
    suzuki_kasami::SuzukiKasami, token_ring::TokenRing,
};
use tenure_check::{Check, Checkable};
use tenure_core::Algorithm;
use tenure_core::quorum::QuorumKind;
use tenure_prove::{
    ConformanceChecker, ConformanceMismatch, ConformanceReport, Model, first_model_entry_of,
};

/// Compares an algorithm with a model, in a group of `size` processes. Each process requests once.
fn compared<P: Algorithm + Checkable>(
    name: &str,
    config: P::Config,
    size: u32,
    change: impl FnOnce(&mut Model),
) -> ConformanceReport {
    compared_with_crashes::<P>(name, config, (size, 0), change)
}

fn compared_with_crashes<P: Algorithm + Checkable>(
    name: &str,
    config: P::Config,
    (size, crashes): (u32, u32),
    change: impl FnOnce(&mut Model),
) -> ConformanceReport {
    let entry = first_model_entry_of(name).expect("it has a model");
    let mut model = entry.model();
    change(&mut model);
    let mut comparer =
        ConformanceChecker::new(&model, entry.abstraction.expect("it has one"), size);
    let order = P::card(&config, size).order;
    let check = Check::<P>::with_protocol_config(size, config).configure(|config| {
        config.model.order = order;
        config.faults.crashes = crashes;
    });
    let walk =
        check.visit_reachable_states(1_000_000, &mut comparer).expect("the configuration is valid");
    comparer.finish(walk)
}

/// Asserts that code and model agree in groups of one to `largest` processes.
fn assert_agrees<P: Algorithm + Checkable>(name: &str, largest: u32)
where
    P::Config: Default,
{
    (1..=largest).for_each(|size| assert_size_agrees::<P>(name, P::Config::default(), size));
}

fn assert_size_agrees<P: Algorithm + Checkable>(name: &str, config: P::Config, size: u32) {
    let comparison = compared::<P>(name, config, size, |_| {});
    assert!(comparison.agrees() && comparison.is_complete, "{comparison:#?}");
}

fn maekawa(size: u32) -> maekawa::Config {
    maekawa::Config::with_quorum_kind(QuorumKind::Grid, size).expect("there are grids")
}

fn majority(size: u32) -> majority::Config {
    majority::Config::with_quorum_kind(QuorumKind::Majority, size).expect("there are majorities")
}

#[test]
fn ricart_agrawala_agrees_with_its_model() {
    assert_agrees::<RicartAgrawala>("ricart-agrawala", 2);
}

#[test]
fn lamport_agrees_with_its_model() {
    assert_agrees::<Lamport>("lamport", 2);
}

#[test]
fn suzuki_kasami_agrees_with_its_model() {
    assert_agrees::<SuzukiKasami>("suzuki-kasami", 3);
}

#[test]
fn central_agrees_with_its_model() {
    assert_agrees::<Central>("central", 4);
}

#[test]
fn token_ring_agrees_with_its_model() {
    assert_agrees::<TokenRing>("token-ring", 4);
}

#[test]
fn chang_roberts_agrees_with_its_model() {
    for size in 1..=3 {
        let config = chang_roberts::Config::with_defaults(size);
        assert_size_agrees::<ChangRoberts>("chang-roberts", config, size);
    }
}

#[test]
fn maekawa_agrees_with_its_model() {
    (1..=2).for_each(|size| {
        assert_size_agrees::<maekawa::Maekawa>("maekawa", maekawa(size), size);
    });
}

#[test]
fn majority_agrees_with_its_model() {
    (1..=2).for_each(|size| {
        assert_size_agrees::<majority::FaultTolerantMaekawa>("majority", majority(size), size);
    });
}

/// Compares the code with the model in runs in which a process crashes outside the critical
/// section. The vote of this process is lost.
#[test]
fn majority_agrees_with_its_model_after_a_crash() {
    let comparison = compared_with_crashes::<majority::FaultTolerantMaekawa>(
        "majority",
        majority(2),
        (2, 1),
        |_| {},
    );
    assert!(comparison.agrees() && comparison.is_complete, "{comparison:#?}");
    assert!(comparison.actions.contains_key("crash"), "{comparison:#?}");
}

#[test]
#[ignore = "takes minutes: cargo test -p tenure-prove -- --ignored"]
fn larger_groups_agree_with_their_models() {
    assert_size_agrees::<ChangRoberts>("chang-roberts", chang_roberts::Config::with_defaults(4), 4);
    assert_size_agrees::<RicartAgrawala>("ricart-agrawala", Default::default(), 3);
    assert_size_agrees::<maekawa::Maekawa>("maekawa", maekawa(3), 3);
    assert_size_agrees::<majority::FaultTolerantMaekawa>("majority", majority(3), 3);
}

#[test]
fn missing_action_is_noticed() {
    let comparison =
        compared::<RicartAgrawala>("ricart-agrawala", Default::default(), 2, |model| {
            model.actions.retain(|action| action.name != "exit")
        });
    assert!(
        matches!(comparison.mismatch, Some(ConformanceMismatch::Step { .. })),
        "{comparison:#?}"
    );
}

#[test]
fn wrong_conjunct_is_noticed() {
    let comparison =
        compared::<RicartAgrawala>("ricart-agrawala", Default::default(), 2, |model| {
            let wrong = model.invariant[0].formula.clone();
            model.invariant[0].formula = !wrong;
        });
    assert!(
        matches!(comparison.mismatch, Some(ConformanceMismatch::State { .. })),
        "{comparison:#?}"
    );
}
