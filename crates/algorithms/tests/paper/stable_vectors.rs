//! All know the same for a moment, and pick different names by it.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::StableVectors;
use tenure_algorithms::agreement::stable_vectors::{Config, Switch};
use tenure_core::monitors::{SmallNames, UniqueNames};
use tenure_core::service::renaming::{Command, Event, largest_name};
use tenure_core::{Monitor, Order, ProcessId, Rank};
use tenure_trace::{Dice, Seen, Stage};

use crate::support::p;

/// Everybody asks at some moment, `crashes` die on the way, and everything happens in random order.
/// What was violated, if anything, and the names of those who are up, by process.
fn run(config: Config, crashes: u32, seed: u64) -> Result<Vec<Option<u32>>, String> {
    let size = config.originals.len() as u32;
    let mut stage = Stage::<StableVectors>::alike(size, Order::Reordered, config);
    let (mut unique, mut small) = (UniqueNames::new(), SmallNames::new(size));
    let (mut dice, mut crashes) = (Dice(seed), crashes);
    let mut silent: Vec<ProcessId> = stage.everybody();
    let mut names = vec![None; size as usize];
    loop {
        for (at, seen) in stage.take_seen() {
            unique.observe(at, seen.observed()).map_err(|violation| violation.says)?;
            small.observe(at, seen.observed()).map_err(|violation| violation.says)?;
            if let Seen::Event(Event::Named { name }) = seen {
                names[at.index()] = Some(name);
            }
        }
        let links = stage.busy_links();
        if links.is_empty() && silent.is_empty() {
            return Ok(stage.live().into_iter().map(|at| names[at.index()]).collect());
        }
        if crashes > 0 && dice.one_in(10) {
            let dead = *dice.pick(&stage.live()).expect("somebody is up");
            silent.retain(|at| *at != dead);
            stage.crash(dead);
            crashes -= 1;
        } else if !silent.is_empty() && (links.is_empty() || dice.one_in(5)) {
            let at = silent.remove(dice.below(silent.len()));
            stage.command(at, Command::Rename);
        } else if let Some(link) = dice.pick(&links) {
            stage.deliver(*link, &mut dice);
        }
    }
}

#[test]
fn who_is_alone_in_wanting_one_gets_the_first_name() {
    let originals = [900, 17, 404].map(Rank::of_id).into();
    let config = Config { originals, ..Config::plain(3) };
    let mut stage = Stage::<StableVectors>::alike(3, Order::Reordered, config);
    stage.command(p(1), Command::Rename);
    stage.drain(&mut Dice(0));
    let named = |(at, seen)| match seen {
        Seen::Event(Event::Named { name }) => Some((at, name)),
        _ => None,
    };
    let named: Vec<_> = stage.take_seen().into_iter().filter_map(named).collect();
    assert_eq!(named, [(p(1), 1)]);
}

#[test]
fn nothing_is_decided_without_a_majority_that_knows_the_same() {
    let mut stage = Stage::<StableVectors>::alike(5, Order::Reordered, Config::plain(5));
    stage.command(p(1), Command::Rename);
    let version = |stage: &Stage<StableVectors>| format!("{:?}", stage.queue((p(1), p(5))).last());
    let first = version(&stage);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(version(&stage), first, "two of five are no majority");
    stage.pass((p(1), p(3)), 0);
    stage.pass((p(3), p(1)), 0);
    assert_ne!(version(&stage), first, "three are");
}

#[test]
fn names_are_unique_and_small_and_all_who_stay_up_get_one() {
    let mut largest = 0;
    for seed in 0..600 {
        let size = 1 + seed as u32 % 7;
        let crashes = seed as u32 / 7 % (1 + (size - 1) / 2);
        let names = run(Config::plain(size), crashes, seed);
        let names = names.unwrap_or_else(|says| panic!("seed {seed}: {says}"));
        assert!(names.len() as u32 >= size - crashes, "seed {seed}");
        assert!(names.iter().all(Option::is_some), "seed {seed}: {names:?}");
        assert!(names.iter().flatten().all(|name| *name <= largest_name(size)));
        largest = largest.max(names.into_iter().flatten().max().unwrap_or(0));
    }
    assert!(largest > 7, "some name is larger than the group");
}

#[test]
fn who_does_not_wait_and_who_keeps_a_name_that_is_taken_are_caught() {
    for (switch, size) in [(Switch::Impatient, 2), (Switch::Keeps, 3)] {
        let variants = Variants::none().with(switch);
        let config = Config { variants, ..Config::plain(size) };
        let found = (0..3000).find_map(|seed| run(config.clone(), 0, seed).err());
        assert!(found.is_some_and(|says| says.contains("as P")), "{switch:?}");
    }
}

/// Who is not among the first t + 1 waits until one of those has decided.
#[test]
fn if_everybody_suggests_some_name_is_too_large() {
    let caught = |switch: Option<Switch>| {
        let variants = switch.into_iter().fold(Variants::none(), Variants::with);
        let config = Config { variants, ..Config::plain(2) };
        (0..300).find_map(|seed| run(config.clone(), 0, seed).err())
    };
    assert_eq!(caught(None), None);
    let says = caught(Some(Switch::AllSuggest)).expect("it is seen");
    assert!(says.ends_with("is named 3, and the largest name is 2"), "{says}");
}
