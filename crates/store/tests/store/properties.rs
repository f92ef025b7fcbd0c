//! The store beside a model that is too simple to be wrong, over any commands.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any};
use proptest::test_runner::{TestError, TestRunner};
use tenure_store::{
    Answer, At, Bytes, Claim, Command, Event, Forgotten, Found, LeaseChange, Limits, Outcome,
    Range, Reading, Span, Store, Watch,
};

use crate::draw::Draw;
use crate::model::{Change, Did, Keys, Mistake, Model, Told, claims};

fn limits() -> Limits {
    Limits { operations: 6, ..Limits::default() }
}

/// Lets the store and the model take the commands that are in these bytes; says where they differ.
fn agree(bytes: &[u8], mistake: Option<Mistake>) -> Result<(), String> {
    let mut draw = Draw(bytes);
    let (mut store, mut model) = (Store::new(limits()), Model::new(mistake));
    let mut at = At { index: 0, term: 1 };
    let mut begun: Option<(Reading, Found)> = None;
    while !draw.is_empty() {
        at.index += 1;
        at.term += u64::from(draw.below(20) == 1);
        let command = draw.command(at, store.revision());
        let before = model.now().clone();
        let (answer, did) = model.take(at, &command);
        let read = match &command {
            Command::Txn(txn) if txn.is_read_only() => Some(store.reading_txn(txn)),
            _ => None,
        };
        let outcome = store.apply(at, command.clone());
        let told = || format!("{command:?} of {before:?}");
        if let Some(read) = read {
            same("what a transaction read", &read.map(Answer::Txn), &outcome.answer, told)?;
        }
        same("the answer", &outcome.answer.clone().map(Told::of), &answer, told)?;
        same("the revision", &outcome.revision, &model.revision(), told)?;
        compare_outcome(&outcome, &did, told)?;
        compare_moves(&outcome, &model, &before, told)?;
        let range = compare_reads(&mut draw, &store, &model)?;
        if let Some((reading, found)) = begun.take() {
            same("what was read before that", &reading.found(), &found, told)?;
        }
        begun = store.reading(&range).ok().zip(model.range(&range).ok());
    }
    let keys: Keys = store
        .range(&Range::of(Span::all()))
        .map_err(|error| error.to_string())?
        .kvs
        .iter()
        .map(|kv| (kv.key.clone(), (**kv).clone()))
        .collect();
    same("what is there", &keys, model.now(), || "the end".to_owned())?;
    compare_leases(&store, &model)?;
    #[cfg(feature = "snapshot")]
    same(
        "what was read back",
        &Store::decode(&store.snapshot().encode()),
        &Ok(store.clone()),
        String::new,
    )?;
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    ours: &T,
    models: &T,
    told: impl Fn() -> String,
) -> Result<(), String> {
    if ours == models {
        return Ok(());
    }
    Err(format!("{what} is {ours:?} and should be {models:?}, after {}", told()))
}

fn changes(events: &[Event]) -> Vec<Change> {
    let change = |event: &Event| (event.kind, (*event.kv).clone(), event.prev.as_deref().cloned());
    events.iter().map(change).collect()
}

fn compare_outcome(outcome: &Outcome, did: &Did, told: impl Fn() -> String) -> Result<(), String> {
    same("what changed", &changes(&outcome.events), &did.changes, &told)?;
    let sorted = |changes: &[LeaseChange]| {
        let mut texts: Vec<String> = changes.iter().map(|change| format!("{change:?}")).collect();
        texts.sort();
        texts
    };
    same("what became of leases", &sorted(&outcome.leases), &sorted(&did.leases), &told)
}

/// Who is inside, and who claims at all, before and after.
fn compare_moves(
    outcome: &Outcome,
    model: &Model,
    before: &Keys,
    told: impl Fn() -> String,
) -> Result<(), String> {
    type Place = (Bytes, Bytes, u64);
    let inside = |keys: &Keys| -> BTreeSet<Place> {
        let is_inside = |(name, key, _): &Place| model.inside(keys, name).contains(key);
        claims(keys).into_iter().filter(is_inside).collect()
    };
    let places = |claims: &[Claim]| -> BTreeSet<Place> {
        claims.iter().map(|claim| (claim.name.clone(), claim.key.clone(), claim.fence)).collect()
    };
    let admitted = &inside(model.now()) - &inside(before);
    same("whom it lets in", &places(&outcome.admitted), &admitted, &told)?;
    let ended = &claims(before) - &claims(model.now());
    same("whose claims are over", &places(&outcome.ended), &ended, &told)
}

/// Reads keys, and what changed; says which keys.
fn compare_reads(draw: &mut Draw<'_>, store: &Store, model: &Model) -> Result<Range, String> {
    let range = draw.range(store.revision());
    let told = || format!("{range:?} of {:?}", model.now());
    same("what was read", &store.range(&range), &model.range(&range), told)?;
    let from = draw.revision(store.revision());
    let most = usize::from(draw.below(4));
    let watch = Watch { span: range.span.clone(), prev_kv: true, ..Watch::default() };
    let (mut shown, mut next) = (Vec::new(), from);
    while next == from || next <= store.revision() && next > 0 {
        match store.replay(&watch, next, most) {
            Ok(replay) => {
                shown.extend(changes(&replay.events));
                if replay.next <= next {
                    break;
                }
                next = replay.next;
            }
            Err(Forgotten { first }) => {
                return same("the oldest", &first, &model.compacted, told).map(|()| range.clone());
            }
        }
    }
    let all = model
        .changes
        .iter()
        .filter(|(revision, (_, kv, _))| from > 0 && *revision >= from && range.span.has(&kv.key));
    same("what was watched", &shown, &all.map(|(_, change)| change.clone()).collect(), told)?;
    Ok(range)
}

fn compare_leases(store: &Store, model: &Model) -> Result<(), String> {
    let ours: Vec<_> = store
        .leases()
        .map(|(id, lease)| (id, lease.ttl, lease.left, lease.renewed, lease.keys.clone()))
        .collect();
    let models = model.leases.iter();
    let models = models
        .map(|(id, lease)| (*id, lease.ttl, lease.left, lease.renewed, lease.keys.clone()))
        .collect();
    same("the leases", &ours, &models, || "the end".to_owned())
}

/// Tries sequences until one differs, which is made as short as can be.
fn search(sequences: u32, shrinking: u32, mistake: Option<Mistake>) -> Result<(), String> {
    let config = ProptestConfig {
        cases: sequences,
        failure_persistence: None,
        max_shrink_iters: shrinking,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    let difference = TestRunner::new(config).run(&vec(any::<u8>(), 0..400), |bytes| {
        agree(&bytes, mistake).map_err(proptest::test_runner::TestCaseError::fail)
    });
    match difference {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, bytes)) => Err(format!("{why}\nby {bytes:?}")),
        Err(TestError::Abort(why)) => Err(why.to_string()),
    }
}

#[test]
fn the_store_does_what_the_model_does_over_a_hundred_thousand_sequences() {
    search(100_000, 20_000, None).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn a_mistake_of_the_model_is_found() {
    for mistake in Mistake::ALL {
        assert!(search(5_000, 0, Some(mistake)).is_err(), "{mistake:?} was not noticed");
    }
}
