//! Every state and step of the code agrees with the model, in small groups.

use tenure_algorithms::mutex::suzuki_kasami::SuzukiKasami;
use tenure_algorithms::mutex::{lamport::Lamport, ricart_agrawala::RicartAgrawala};
use tenure_check::{Check, Checkable};
use tenure_core::Algorithm;
use tenure_prove::{Comparer, Comparison, Mismatch, Model, find};

/// Compares an algorithm with a model, for a group of `size` processes that request once each.
fn compared<P: Algorithm + Checkable>(
    name: &str,
    config: P::Config,
    size: u32,
    change: impl FnOnce(&mut Model),
) -> Comparison {
    let entry = find(name).expect("it has a model");
    let mut model = entry.model();
    change(&mut model);
    let mut comparer = Comparer::new(&model, entry.abstraction.expect("it has one"), size);
    let order = P::card(&config, size).order;
    let check = Check::<P>::with(size, config).configure(|config| config.model.order = order);
    let walk = check.walk(1_000_000, &mut comparer).expect("the configuration is valid");
    comparer.finish(walk)
}

/// Compares groups of one to `largest` processes.
fn assert_agrees<P: Algorithm + Checkable>(name: &str, largest: u32)
where
    P::Config: Default,
{
    for size in 1..=largest {
        let comparison = compared::<P>(name, P::Config::default(), size, |_| {});
        assert!(comparison.agrees() && comparison.is_complete, "{comparison:#?}");
    }
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

/// A model without one of its actions does not explain the steps of the code.
#[test]
fn missing_action_is_noticed() {
    let comparison =
        compared::<RicartAgrawala>("ricart-agrawala", Default::default(), 2, |model| {
            model.actions.retain(|action| action.name != "exit")
        });
    assert!(matches!(comparison.mismatch, Some(Mismatch::Step { .. })), "{comparison:#?}");
}

/// A conjunct that the code does not satisfy is noticed in a reachable state.
#[test]
fn wrong_conjunct_is_noticed() {
    let comparison =
        compared::<RicartAgrawala>("ricart-agrawala", Default::default(), 2, |model| {
            let wrong = model.invariant[0].formula.clone();
            model.invariant[0].formula = !wrong;
        });
    assert!(matches!(comparison.mismatch, Some(Mismatch::State { .. })), "{comparison:#?}");
}
