//! Comparison of the store with a simple model, on random commands.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any};
use proptest::test_runner::{TestError, TestRunner};
use tenure_store::{
    ApplyOutcome, Bytes, Claim, CollectedRead, Command, CommandResult, Event, HistoryCompacted,
    KeySpan, LeaseChange, LogPosition, RangeRead, RangeResult, Store, StoreLimits, WatchFilter,
};

use crate::draw::Draw;
use crate::model::{Change, Changes, FinishedResult, Keys, Mistake, Model, claims};

fn limits() -> StoreLimits {
    StoreLimits { max_operations: 6, ..StoreLimits::default() }
}

/// Applies the commands that `bytes` encode to the store and to the model. Returns an error that
/// describes the first difference.
fn compare_with_model(bytes: &[u8], mistake: Option<Mistake>) -> Result<(), String> {
    let mut draw = Draw(bytes);
    let (mut store, mut model) = (Store::new(limits()), Model::new(mistake));
    let mut at = LogPosition { index: 0, term: 1 };
    let mut pending: Option<(CollectedRead, RangeResult)> = None;
    while !draw.is_empty() {
        at.index += 1;
        at.term += u64::from(draw.below(20) == 1);
        let command = draw.command(at, store.revision());
        let before = model.now().clone();
        let (answer, changes_made) = model.apply(at, &command);
        let read = match &command {
            Command::Txn(txn) if txn.is_read_only() => {
                Some(store.collect_read_only_txn(txn).map(CommandResult::Txn))
            }
            _ => None,
        };
        let outcome = store.apply(at, command.clone());
        let context = || format!("{command:?} of {before:?}");
        if let Some(read) = read {
            expect_equal("the read of a transaction", &read, &outcome.result, context)?;
        }
        let result = outcome.result.clone().map(FinishedResult::of);
        expect_equal("the result", &result, &answer, context)?;
        expect_equal("the revision", &outcome.revision, &model.revision(), context)?;
        compare_outcome(&outcome, &changes_made, context)?;
        compare_claims(&outcome, &model, &before, context)?;
        let range = compare_reads(&mut draw, &store, &model)?;
        if let Some((reading, found)) = pending.take() {
            expect_equal("the read before the command", &reading.finish(), &found, context)?;
        }
        pending = store.collect_range(&range).ok().zip(model.range(&range).ok());
    }
    let keys: Keys = store
        .range(&RangeRead::at_current_revision(KeySpan::all()))
        .map_err(|error| error.to_string())?
        .kvs
        .iter()
        .map(|kv| (kv.key.clone(), (**kv).clone()))
        .collect();
    expect_equal("the final state", &keys, model.now(), || "the end".to_owned())?;
    compare_leases(&store, &model)?;
    #[cfg(feature = "snapshot")]
    expect_equal(
        "the decoded snapshot",
        &Store::decode_snapshot(&store.snapshot().encode()),
        &Ok(store.clone()),
        String::new,
    )?;
    Ok(())
}

fn expect_equal<T: PartialEq + std::fmt::Debug>(
    subject: &str,
    ours: &T,
    expected: &T,
    context: impl Fn() -> String,
) -> Result<(), String> {
    if ours == expected {
        return Ok(());
    }
    Err(format!("{subject} is {ours:?} and should be {expected:?}, after {}", context()))
}

fn changes(events: &[Event]) -> Vec<Change> {
    let change = |event: &Event| (event.kind, (*event.kv).clone(), event.prev.as_deref().cloned());
    events.iter().map(change).collect()
}

fn compare_outcome(
    outcome: &ApplyOutcome,
    changes_made: &Changes,
    context: impl Fn() -> String,
) -> Result<(), String> {
    expect_equal("the list of events", &changes(&outcome.events), &changes_made.events, &context)?;
    let sorted = |changes: &[LeaseChange]| {
        let mut texts: Vec<String> = changes.iter().map(|change| format!("{change:?}")).collect();
        texts.sort();
        texts
    };
    let (ours, models) = (sorted(&outcome.lease_changes), sorted(&changes_made.leases));
    expect_equal("the list of lease changes", &ours, &models, &context)
}

/// Compares the store with the model after a command. Both must have granted the same claims, and
/// ended the same claims. `before` contains the keys before the command.
fn compare_claims(
    outcome: &ApplyOutcome,
    model: &Model,
    before: &Keys,
    context: impl Fn() -> String,
) -> Result<(), String> {
    type Place = (Bytes, Bytes, u64);
    let inside = |keys: &Keys| -> BTreeSet<Place> {
        let is_inside = |(name, key, _): &Place| model.holders(keys, name).contains(key);
        claims(keys).into_iter().filter(is_inside).collect()
    };
    let places = |claims: &[Claim]| -> BTreeSet<Place> {
        claims.iter().map(|claim| (claim.name.clone(), claim.key.clone(), claim.fence)).collect()
    };
    let admitted = &inside(model.now()) - &inside(before);
    expect_equal("the set of granted claims", &places(&outcome.granted), &admitted, &context)?;
    let ended = &claims(before) - &claims(model.now());
    expect_equal("the set of ended claims", &places(&outcome.ended), &ended, &context)
}

/// Performs a random read on the store and on the model, and compares the results. Also compares
/// the past events of the range. Returns the range that was read.
fn compare_reads(draw: &mut Draw<'_>, store: &Store, model: &Model) -> Result<RangeRead, String> {
    let range = draw.range(store.revision());
    let context = || format!("{range:?} of {:?}", model.now());
    expect_equal("the result of a read", &store.range(&range), &model.range(&range), context)?;
    let from = draw.revision(store.revision());
    let most = usize::from(draw.below(4));
    let watch = WatchFilter { span: range.span.clone(), prev_kv: true, ..WatchFilter::default() };
    let (mut shown, mut next) = (Vec::new(), from);
    while next == from || next <= store.revision() && next > 0 {
        match store.past_events(&watch, next, most) {
            Ok(past) => {
                shown.extend(changes(&past.events));
                if past.next_revision <= next {
                    break;
                }
                next = past.next_revision;
            }
            Err(HistoryCompacted { oldest_revision: first }) => {
                return expect_equal("the oldest revision", &first, &model.compacted, context)
                    .map(|()| range.clone());
            }
        }
    }
    let all = model.changes.iter().filter(|(revision, (_, kv, _))| {
        from > 0 && *revision >= from && range.span.contains(&kv.key)
    });
    let all = all.map(|(_, change)| change.clone()).collect();
    expect_equal("the list of replayed events", &shown, &all, context)?;
    Ok(range)
}

fn compare_leases(store: &Store, model: &Model) -> Result<(), String> {
    let ours: Vec<_> = store
        .leases()
        .map(|(id, lease)| (id, lease.ttl, lease.left, lease.renewal_index, lease.keys.clone()))
        .collect();
    let models = model.leases.iter();
    let models = models
        .map(|(id, lease)| (*id, lease.ttl, lease.left, lease.renewal_index, lease.keys.clone()))
        .collect();
    expect_equal("the set of leases", &ours, &models, || "the end".to_owned())
}

/// Compares store and model on up to `sequences` random sequences of commands. If they differ,
/// shrinks the sequence in at most `shrinking` steps, and returns the difference as an error.
fn search(sequences: u32, shrinking: u32, mistake: Option<Mistake>) -> Result<(), String> {
    let config = ProptestConfig {
        cases: sequences,
        failure_persistence: None,
        max_shrink_iters: shrinking,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    let difference = TestRunner::new(config).run(&vec(any::<u8>(), 0..400), |bytes| {
        compare_with_model(&bytes, mistake).map_err(proptest::test_runner::TestCaseError::fail)
    });
    match difference {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, bytes)) => Err(format!("{why}\nby {bytes:?}")),
        Err(TestError::Abort(why)) => Err(why.to_string()),
    }
}

#[test]
fn store_agrees_with_model_on_random_commands() {
    search(20_000, 20_000, None).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
#[ignore = "long: 20 s"]
fn store_agrees_with_model_on_many_random_commands() {
    search(100_000, 20_000, None).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn each_mistake_of_the_model_is_detected() {
    for mistake in Mistake::ALL {
        assert!(search(5_000, 0, Some(mistake)).is_err(), "{mistake:?} was not detected");
    }
}
