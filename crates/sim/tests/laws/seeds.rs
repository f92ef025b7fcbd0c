//! Laws: what holds for every arrangement of a ring, and for every seed.

use crate::support::election::{elect, everybody, place_of, ranks};
use crate::support::mutex::{Plan, run_as};
use crate::support::{p, permutations};
use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{self, MUTEXES, Parameters, Visitor};
use tenure_algorithms::election::{
    ChangRoberts, HirschbergSinclair, chang_roberts, hirschberg_sinclair,
};
use tenure_claims::claims;
use tenure_core::service::election::Command;
use tenure_core::{Agreement, Algorithm, Election, Mutex, Order, ProcessId, Variant};
use tenure_trace::Stage;

/// All start at once and agree on the largest; how many messages that takes.
fn messages<P: Election>(ids: &[u32], order: Order, config: P::Config, seed: u64) -> u64 {
    let size = ids.len() as u32;
    let (stage, beliefs) = elect::<P>(size, order, config, &everybody(size), 0, seed);
    assert!(beliefs.iter().all(|belief| *belief == place_of(size, ids)), "{ids:?} seed {seed}");
    stage.total_sent()
}

/// By each process: how far it is to the next larger one, and N for the largest.
fn distances(ids: &[u32]) -> u64 {
    let n = ids.len();
    let larger = |at: usize, hops: usize| ids[(at + hops) % n] > ids[at];
    let distance = |at| (1..n).find(|hops| larger(at, *hops)).unwrap_or(n) as u64;
    (0..n).map(distance).sum()
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

#[claims("A-CR")]
#[test]
fn chang_roberts_sends_the_sum_of_distances_and_n_times_the_harmonic_number_on_average() {
    for size in 2..=7_u32 {
        let n = u64::from(size);
        let (mut seed, mut total, mut worst, mut best) = (0, 0, 0, u64::MAX);
        permutations(size, |ids| {
            seed += 1;
            let config = chang_roberts::Config::of(ranks(ids), Variants::none());
            let elections = messages::<ChangRoberts>(ids, Order::Fifo, config, seed) - n;
            assert_eq!(elections, distances(ids), "{ids:?}");
            total += elections;
            worst = worst.max(elections);
            best = best.min(elections);
        });
        // N·H(N), times N! to stay whole.
        let harmonic: u64 = (1..=n).map(|k| factorial(n) / k).sum();
        assert_eq!(total, n * harmonic, "the average of {size}");
        assert_eq!((worst, best), (n * (n + 1) / 2, 2 * n - 1));
    }
}

#[test]
fn chang_roberts_with_one_initiator_sends_two_laps_and_half_of_n_minus_one_on_average() {
    for size in 2..=6_u32 {
        let n = u64::from(size);
        let mut total = 0;
        permutations(size, |ids| {
            let config = chang_roberts::Config::of(ranks(ids), Variants::none());
            let (stage, _) = elect::<ChangRoberts>(size, Order::Fifo, config, &[p(1)], 0, 1);
            let largest = place_of(size, ids).map_or(0, ProcessId::index) as u64;
            assert_eq!(stage.total_sent(), largest + 2 * n, "{ids:?}");
            total += stage.total_sent();
        });
        assert_eq!(2 * total, factorial(n) * (4 * n + n - 1));
    }
}

#[test]
fn hirschberg_sinclair_sends_the_same_in_every_schedule_and_stays_within_its_card() {
    for size in 1..=7_u32 {
        let cost = hirschberg_sinclair::Config::plain(size);
        let cost = HirschbergSinclair::card(&cost, size).messages;
        let range = cost.least..=cost.most.unwrap_or(u64::MAX);
        let mut seed = 0;
        permutations(size, |ids| {
            seed += 1;
            let config = hirschberg_sinclair::Config::of(ranks(ids));
            let count =
                |order, seed| messages::<HirschbergSinclair>(ids, order, config.clone(), seed);
            let fifo = count(Order::Fifo, seed);
            assert_eq!(fifo, count(Order::Reordered, seed + 1), "{ids:?} seed {seed}");
            assert!(range.contains(&fifo), "{ids:?}: {fifo}");
        });
        let config = hirschberg_sinclair::Config::plain(size);
        let (stage, _) = elect::<HirschbergSinclair>(size, Order::Fifo, config, &[p(size)], 0, 1);
        assert_eq!(stage.total_sent(), cost.least, "the largest alone starts");
    }
}

/// All 7! rings.
#[claims("W-18")]
#[test]
fn on_every_ring_of_eight_the_eighth_leads_in_phase_3() {
    permutations(7, |others| {
        let mut ids = others.to_vec();
        ids.push(8);
        let config = hirschberg_sinclair::Config::of(ranks(&ids));
        let mut stage = Stage::<HirschbergSinclair>::alike(8, Order::Fifo, config);
        everybody(8).into_iter().for_each(|at| stage.command(at, Command::Elect));
        let (mut last_phase, mut in_phase) = (0, [0_u64; 8]);
        while let Some(link) = stage.busy_links().first().copied() {
            use tenure_algorithms::election::hirschberg_sinclair::Message::{Probe, Reply};
            if let Probe { phase, .. } | Reply { phase, .. } = stage.queue(link)[0] {
                last_phase = last_phase.max(*phase);
                in_phase[usize::from(*phase)] += 1;
            }
            stage.pass(link, 0);
        }
        assert_eq!(last_phase, 3, "{ids:?}");
        assert_eq!((in_phase[0], in_phase[3]), (24, 16), "{ids:?}");
        assert!(in_phase[1..3].iter().sum::<u64>() + 24 + 16 + 8 < 223, "{ids:?}");
        let beliefs = crate::support::election::beliefs(&mut stage);
        assert!(beliefs.iter().all(|belief| *belief == Some(p(8))), "{ids:?}");
    });
}

/// Runs a lock of the catalogue under many seeds, with what its card allows.
struct Locks {
    parameters: Parameters,
    seeds: u64,
    losses: u32,
}

impl Locks {
    fn of(size: u32, seeds: u64) -> Self {
        Locks { parameters: Parameters::plain(size), seeds, losses: 0 }
    }
}

/// How one lock did: the first failure, the messages and the entries.
#[derive(Debug, Default)]
struct Did {
    failure: Option<String>,
    messages: u64,
    entries: u64,
}

impl Visitor for Locks {
    type Output = Did;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Did {
        let size = self.parameters.size;
        let card = P::card(&config, size);
        let mut did = Did::default();
        for seed in 0..self.seeds {
            let duplicates = if card.faults.duplication { (seed % 4) as u32 } else { 0 };
            let entries = vec![2 + (seed % 2) as u32; size as usize];
            let plan = Plan { order: card.order, entries, duplicates, losses: self.losses, seed };
            match run_as::<P>(&card, config.clone(), &plan) {
                Ok(outcome) if duplicates == 0 => {
                    did.messages += outcome.messages;
                    did.entries += outcome.entries;
                }
                Ok(_) => {}
                Err(says) => {
                    did.failure = Some(format!("{} of {size}, {plan:?}: {says}", card.name));
                    return did;
                }
            }
        }
        did
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) -> Did {
        unreachable!("only locks are visited")
    }

    fn agreement<P: Agreement + Algorithm>(self, _: P::Config) -> Did {
        unreachable!("only locks are visited")
    }
}

#[test]
fn every_lock_is_safe_and_live_and_costs_what_its_card_says() {
    // A lease is renewed for as long as it is held; here timers fire at any time, so often.
    for name in MUTEXES.iter().filter(|name| !["lease", "leased"].contains(name)) {
        for size in 1..=5 {
            let locks = Locks::of(size, 200);
            let cost = catalogue::card(name, &locks.parameters).unwrap().messages;
            let did = catalogue::visit(name, &locks.parameters.clone(), locks).unwrap();
            assert!(did.failure.is_none(), "{did:?}");
            let Did { messages, entries, .. } = did;
            assert!(messages >= cost.least * entries, "{name} {size}: {messages} for {entries}");
            let most = cost.most.map(|most| most * entries);
            assert!(most.is_none_or(|most| messages <= most), "{name} {size}: {messages}");
        }
    }
}

/// Groups of two and three, over a channel that is not reliable by itself: it loses five messages.
fn is_safe_and_live_over_a_channel_that_was_made_reliable(lock: &str, seeds: u64) {
    for size in 2..=3 {
        let locks = Locks { losses: 5, ..Locks::of(size, seeds) };
        let name = format!("fifo:{lock}");
        let did = catalogue::visit(&name, &locks.parameters.clone(), locks).unwrap();
        assert!(did.failure.is_none(), "{did:?}");
    }
}

#[test]
fn every_lock_is_safe_and_live_over_a_channel_that_was_made_reliable() {
    // Dijkstra's ring says everything again by itself, and a lease is renewed; where timers fire at
    // any time, that is faster than a channel that keeps everything can pass it on.
    let endless = ["dijkstra-ring", "lease", "leased"];
    let locks = MUTEXES.iter().filter(|name| !endless.contains(name) && !LONG.contains(name));
    for name in locks.chain(&["coordinated:chang-roberts"]) {
        is_safe_and_live_over_a_channel_that_was_made_reliable(name, 60);
    }
}

/// Those that say much at every timer. Timers fire as often as messages arrive here, and what is
/// not acknowledged is said again: a run of these takes as long as a hundred of the others, so they
/// get a third of the seeds. Each has hundreds of its own, beside this or in tests of its paper.
const LONG: [&str; 2] = ["edge-chasing", "coordinated:bully"];

#[test]
fn edge_chasing_is_safe_and_live_over_a_channel_that_was_made_reliable() {
    is_safe_and_live_over_a_channel_that_was_made_reliable(LONG[0], 20);
}

#[test]
fn a_lock_at_a_bully_is_safe_and_live_over_a_channel_that_was_made_reliable() {
    is_safe_and_live_over_a_channel_that_was_made_reliable(LONG[1], 20);
}

#[test]
#[ignore = "a minute: cargo test -p tenure-sim --test laws -- --ignored made_reliable"]
fn also_those_whose_runs_are_long_over_a_channel_that_was_made_reliable() {
    for name in LONG {
        is_safe_and_live_over_a_channel_that_was_made_reliable(name, 60);
    }
}

/// A variant is declared sound or unsound, and the judges find out which.
#[test]
fn every_variant_of_a_lock_is_what_it_is_declared_to_be() {
    // A lease needs timers that keep time; here they fire at any time.
    for name in MUTEXES.iter().filter(|name| !["lease", "leased"].contains(name)) {
        let variants = catalogue::card(name, &Parameters::plain(4)).unwrap().variants;
        // What only a crash shows, only the checker shows: nobody crashes here. Nor is it judged
        // here which way round a token goes, who is passed by, and what entries cost that are not
        // the first.
        let elsewhere = ["backwards", "keeps-token", "replies-again", "talkative"];
        let shown =
            |it: &&Variant| !it.shown_by.contains("--crash") && !elsewhere.contains(&it.name);
        for variant in variants.iter().filter(shown) {
            let caught = (2..=4).any(|size| {
                let mut locks = Locks::of(size, if variant.sound { 300 } else { 3000 });
                locks.parameters.variants = vec![variant.name.into()];
                let did = catalogue::visit(name, &locks.parameters.clone(), locks).unwrap();
                did.failure.is_some()
            });
            assert_eq!(caught, !variant.sound, "{name} {variant:?}");
        }
    }
}
