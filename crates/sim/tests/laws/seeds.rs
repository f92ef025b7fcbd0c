//! Laws that hold for every order of the processes on a ring, and for every seed.

use crate::support::election::{all_processes, elect, process_with_id, ranks};
use crate::support::mutex::{Plan, run_as};
use crate::support::{p, permutations};
use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{self, AlgorithmVisitor, MUTEXES, Parameters};
use tenure_algorithms::election::{
    ChangRoberts, HirschbergSinclair, chang_roberts, hirschberg_sinclair,
};
use tenure_core::service::election::Command;
use tenure_core::{Agreement, Algorithm, ChannelOrder, Election, Mutex, ProcessId, Variant};
use tenure_trace::TestCluster;

/// Lets all processes start an election at the same time, and asserts that the largest id wins.
/// Returns the number of messages.
fn messages<P: Election>(ids: &[u32], order: ChannelOrder, config: P::Config, seed: u64) -> u64 {
    let size = ids.len() as u32;
    let (cluster, beliefs) = elect::<P>(size, order, config, &all_processes(size), 0, seed);
    assert!(
        beliefs.iter().all(|belief| *belief == process_with_id(size, ids)),
        "{ids:?} seed {seed}"
    );
    cluster.total_sent()
}

/// Returns a sum over all processes. Each process adds its distance on the ring to the next process
/// with a larger id. The process with the largest id adds the number of processes, N.
fn distances(ids: &[u32]) -> u64 {
    let n = ids.len();
    let larger = |at: usize, hops: usize| ids[(at + hops) % n] > ids[at];
    let distance = |at| (1..n).find(|hops| larger(at, *hops)).unwrap_or(n) as u64;
    (0..n).map(distance).sum()
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

#[test]
fn chang_roberts_mean_is_n_times_harmonic_number() {
    for size in 2..=7_u32 {
        let n = u64::from(size);
        let (mut seed, mut total, mut worst, mut best) = (0, 0, 0, u64::MAX);
        permutations(size, |ids| {
            seed += 1;
            let config = chang_roberts::Config::with_ranks(ranks(ids), Variants::none());
            let elections = messages::<ChangRoberts>(ids, ChannelOrder::Fifo, config, seed) - n;
            assert_eq!(elections, distances(ids), "{ids:?}");
            total += elections;
            worst = worst.max(elections);
            best = best.min(elections);
        });
        // `harmonic` is N!·H(N), where H(N) is the harmonic number. This product is an integer. The
        // mean number of messages is N·H(N).
        let harmonic: u64 = (1..=n).map(|k| factorial(n) / k).sum();
        assert_eq!(total, n * harmonic, "the average of {size}");
        assert_eq!((worst, best), (n * (n + 1) / 2, 2 * n - 1));
    }
}

#[test]
fn chang_roberts_single_initiator_mean_matches_formula() {
    for size in 2..=6_u32 {
        let n = u64::from(size);
        let mut total = 0;
        permutations(size, |ids| {
            let config = chang_roberts::Config::with_ranks(ranks(ids), Variants::none());
            let (cluster, _) =
                elect::<ChangRoberts>(size, ChannelOrder::Fifo, config, &[p(1)], 0, 1);
            let largest = process_with_id(size, ids).map_or(0, ProcessId::index) as u64;
            assert_eq!(cluster.total_sent(), largest + 2 * n, "{ids:?}");
            total += cluster.total_sent();
        });
        assert_eq!(2 * total, factorial(n) * (4 * n + n - 1));
    }
}

#[test]
fn hirschberg_sinclair_cost_is_schedule_independent() {
    for size in 1..=7_u32 {
        let cost = hirschberg_sinclair::Config::with_defaults(size);
        let cost = HirschbergSinclair::card(&cost, size).messages;
        let range = cost.least..=cost.most.unwrap_or(u64::MAX);
        let mut seed = 0;
        permutations(size, |ids| {
            seed += 1;
            let config = hirschberg_sinclair::Config::with_ranks(ranks(ids));
            let count =
                |order, seed| messages::<HirschbergSinclair>(ids, order, config.clone(), seed);
            let fifo = count(ChannelOrder::Fifo, seed);
            assert_eq!(fifo, count(ChannelOrder::Reordered, seed + 1), "{ids:?} seed {seed}");
            assert!(range.contains(&fifo), "{ids:?}: {fifo}");
        });
        let config = hirschberg_sinclair::Config::with_defaults(size);
        let (cluster, _) =
            elect::<HirschbergSinclair>(size, ChannelOrder::Fifo, config, &[p(size)], 0, 1);
        assert_eq!(cluster.total_sent(), cost.least, "the largest alone starts");
    }
}

/// Checks the 7! rings of eight processes. The process with the largest id has a fixed place, and
/// the other ids have all 7! orders. In each ring, the process with the largest id must win in
/// phase 3.
#[test]
fn largest_leads_in_phase_3_on_all_rings_of_eight() {
    permutations(7, |others| {
        let mut ids = others.to_vec();
        ids.push(8);
        let config = hirschberg_sinclair::Config::with_ranks(ranks(&ids));
        let mut cluster =
            TestCluster::<HirschbergSinclair>::with_same_config(8, ChannelOrder::Fifo, config);
        all_processes(8).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
        let (mut last_phase, mut in_phase) = (0, [0_u64; 8]);
        while let Some(link) = cluster.links_in_use().first().copied() {
            use tenure_algorithms::election::hirschberg_sinclair::Message::{Probe, Reply};
            if let Probe { phase, .. } | Reply { phase, .. } = cluster.messages_on_link(link)[0] {
                last_phase = last_phase.max(*phase);
                in_phase[usize::from(*phase)] += 1;
            }
            cluster.deliver_at(link, 0);
        }
        assert_eq!(last_phase, 3, "{ids:?}");
        assert_eq!((in_phase[0], in_phase[3]), (24, 16), "{ids:?}");
        assert!(in_phase[1..3].iter().sum::<u64>() + 24 + 16 + 8 < 223, "{ids:?}");
        let beliefs = crate::support::election::beliefs(&mut cluster);
        assert!(beliefs.iter().all(|belief| *belief == Some(p(8))), "{ids:?}");
    });
}

/// Visitor that runs a lock of the catalogue once for each seed. At most `losses` messages are
/// lost. If the lock tolerates duplicates, some messages are also duplicated.
struct LockRuns {
    parameters: Parameters,
    seeds: u64,
    losses: u32,
}

impl LockRuns {
    fn of(size: u32, seeds: u64) -> Self {
        LockRuns { parameters: Parameters::with_defaults(size), seeds, losses: 0 }
    }
}

/// Result for one lock: the first failure, the number of messages and the number of entries.
#[derive(Debug, Default)]
struct LockResult {
    failure: Option<String>,
    messages: u64,
    entries: u64,
}

impl AlgorithmVisitor for LockRuns {
    type Output = LockResult;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> LockResult {
        let size = self.parameters.size;
        let card = P::card(&config, size);
        let mut result = LockResult::default();
        for seed in 0..self.seeds {
            let duplicates = if card.faults.duplication { (seed % 4) as u32 } else { 0 };
            let entries = vec![2 + (seed % 2) as u32; size as usize];
            let plan = Plan { order: card.order, entries, duplicates, losses: self.losses, seed };
            match run_as::<P>(&card, config.clone(), &plan) {
                Ok(outcome) if duplicates == 0 => {
                    result.messages += outcome.messages;
                    result.entries += outcome.entries;
                }
                Ok(_) => {}
                Err(message) => {
                    result.failure = Some(format!("{} of {size}, {plan:?}: {message}", card.name));
                    return result;
                }
            }
        }
        result
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) -> LockResult {
        unreachable!("only locks are visited")
    }

    fn agreement<P: Agreement + Algorithm>(self, _: P::Config) -> LockResult {
        unreachable!("only locks are visited")
    }
}

#[test]
fn locks_keep_card_promises_and_costs() {
    // Skips leases. In these runs timers fire at any time, so a holder would renew its lease much
    // too often.
    for name in MUTEXES.iter().filter(|name| !["lease", "leased"].contains(name)) {
        for size in 1..=5 {
            let locks = LockRuns::of(size, 200);
            let cost = catalogue::card(name, &locks.parameters).unwrap().messages;
            let result = catalogue::visit(name, &locks.parameters.clone(), locks).unwrap();
            assert!(result.failure.is_none(), "{result:?}");
            let LockResult { messages, entries, .. } = result;
            assert!(messages >= cost.least * entries, "{name} {size}: {messages} for {entries}");
            let most = cost.most.map(|most| most * entries);
            assert!(most.is_none_or(|most| messages <= most), "{name} {size}: {messages}");
        }
    }
}

/// Checks a lock over the reliable channel, in groups of two and three processes. The links lose at
/// most five messages.
fn is_safe_and_live_over_fifo(lock: &str, seeds: u64) {
    for size in 2..=3 {
        let locks = LockRuns { losses: 5, ..LockRuns::of(size, seeds) };
        let name = format!("fifo:{lock}");
        let result = catalogue::visit(&name, &locks.parameters.clone(), locks).unwrap();
        assert!(result.failure.is_none(), "{result:?}");
    }
}

#[test]
fn locks_survive_lossy_links_over_fifo() {
    // Skips algorithms that send messages whenever a timer fires. In this test timers fire at any
    // time, so these algorithms send faster than a reliable channel can deliver.
    let endless = ["dijkstra-ring", "lease", "leased"];
    let locks =
        MUTEXES.iter().filter(|name| !endless.contains(name) && !MESSAGE_HEAVY.contains(name));
    for name in locks.chain(&["coordinated:chang-roberts"]) {
        is_safe_and_live_over_fifo(name, 60);
    }
}

/// Algorithms that send many messages whenever a timer fires. In these tests, timers fire as often
/// as messages arrive, so a run of these algorithms takes a hundred times as long. Therefore the
/// tests use fewer seeds for these algorithms.
const MESSAGE_HEAVY: [&str; 2] = ["edge-chasing", "coordinated:bully"];

#[test]
#[ignore = "long: 7 s"]
fn edge_chasing_survives_lossy_links_over_fifo() {
    is_safe_and_live_over_fifo(MESSAGE_HEAVY[0], 20);
}

#[test]
fn coordinated_bully_survives_lossy_links_over_fifo() {
    is_safe_and_live_over_fifo(MESSAGE_HEAVY[1], 20);
}

#[test]
#[ignore = "a minute: cargo test -p tenure-sim --test laws -- --ignored over_fifo"]
fn long_runs_survive_lossy_links_over_fifo() {
    for name in MESSAGE_HEAVY {
        is_safe_and_live_over_fifo(name, 60);
    }
}

/// Runs variants of each lock under random schedules. If a variant is declared as unsound, at least
/// one schedule must violate a property. Otherwise, no schedule may. Variants whose mistake needs a
/// crash or a special schedule are skipped.
#[test]
fn lock_variants_match_declared_soundness() {
    // Skips leases. They need timers that keep time, but in this test timers fire at any time.
    for name in MUTEXES.iter().filter(|name| !["lease", "leased"].contains(name)) {
        let variants = catalogue::card(name, &Parameters::with_defaults(4)).unwrap().variants;
        // Skips variants that need a crash, because these runs have none. Also skips the variants
        // in `elsewhere`. Their mistakes show in properties that this test does not judge, or in a
        // cycle that a random schedule does not repeat for ever.
        let elsewhere = ["backwards", "keeps-token", "replies-again", "talkative", "yields-clean"];
        let shown =
            |it: &&Variant| !it.shown_by.contains("--crash") && !elsewhere.contains(&it.name);
        for variant in variants.iter().filter(shown) {
            let caught = (2..=4).any(|size| {
                let mut locks = LockRuns::of(size, if variant.sound { 300 } else { 3000 });
                locks.parameters.variants = vec![variant.name.into()];
                let result = catalogue::visit(name, &locks.parameters.clone(), locks).unwrap();
                result.failure.is_some()
            });
            assert_eq!(caught, !variant.sound, "{name} {variant:?}");
        }
    }
}
