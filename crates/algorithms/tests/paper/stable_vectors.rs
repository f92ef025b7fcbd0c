//! Renaming: processes that share a stable vector pick distinct names.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::StableVectors;
use tenure_algorithms::agreement::stable_vectors::{Config, VariantId};
use tenure_core::monitors::{NamesInRange, UniqueNames};
use tenure_core::service::renaming::{Command, Event, largest_name};
use tenure_core::{ChannelOrder, Monitor, ProcessId, Rank};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

use crate::support::{command_and_drain, events, p, pass_all};

/// Lets all processes request a name at random moments, and crashes `crashes` of them. Delivery is
/// random. Returns the names of the live processes. A violation is returned as an error.
fn run(config: Config, crashes: u32, seed: u64) -> Result<Vec<Option<u32>>, String> {
    let size = config.originals.len() as u32;
    let mut cluster =
        TestCluster::<StableVectors>::with_same_config(size, ChannelOrder::Reordered, config);
    let (mut unique, mut small) = (UniqueNames::default(), NamesInRange::new(size));
    let (mut rng, mut crashes) = (SplitMix64(seed), crashes);
    let mut silent: Vec<ProcessId> = cluster.process_ids();
    let mut names = vec![None; size as usize];
    loop {
        for (at, seen) in cluster.take_events() {
            unique.observe(at, seen.to_observation()).map_err(|violation| violation.message)?;
            small.observe(at, seen.to_observation()).map_err(|violation| violation.message)?;
            if let ProcessEvent::Event(Event::Named { name }) = seen {
                names[at.index()] = Some(name);
            }
        }
        let links = cluster.links_in_use();
        if links.is_empty() && silent.is_empty() {
            return Ok(cluster.live_processes().into_iter().map(|at| names[at.index()]).collect());
        }
        if crashes > 0 && rng.one_in(10) {
            let dead = *rng.pick(&cluster.live_processes()).expect("a process is up");
            silent.retain(|at| *at != dead);
            cluster.crash(dead);
            crashes -= 1;
        } else if !silent.is_empty() && (links.is_empty() || rng.one_in(5)) {
            let at = silent.remove(rng.below(silent.len()));
            cluster.issue_command(at, Command::Rename);
        } else if let Some(link) = rng.pick(&links) {
            cluster.deliver(*link, &mut rng);
        }
    }
}

#[test]
fn single_process_gets_the_first_name() {
    let originals = [900, 17, 404].map(Rank::from_id).into();
    let config = Config { originals, ..Config::with_defaults(3) };
    let mut cluster =
        TestCluster::<StableVectors>::with_same_config(3, ChannelOrder::Reordered, config);
    command_and_drain(&mut cluster, 1, Command::Rename);
    assert_eq!(events(&mut cluster), [(1, Event::Named { name: 1 })]);
}

#[test]
fn decides_only_on_a_vector_shared_by_a_majority() {
    let mut cluster = TestCluster::<StableVectors>::with_same_config(
        5,
        ChannelOrder::Reordered,
        Config::with_defaults(5),
    );
    cluster.issue_command(p(1), Command::Rename);
    let version = |cluster: &TestCluster<StableVectors>| {
        format!("{:?}", cluster.messages_on_link((p(1), p(5))).last())
    };
    let first = version(&cluster);
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    assert_eq!(version(&cluster), first, "two of five are no majority");
    pass_all(&mut cluster, &[(1, 3), (3, 1)]);
    assert_ne!(version(&cluster), first, "three of five are a majority");
}

#[test]
fn live_processes_get_unique_small_names() {
    let mut largest = 0;
    for seed in 0..600 {
        let size = 1 + seed as u32 % 7;
        let crashes = seed as u32 / 7 % (1 + (size - 1) / 2);
        let names = run(Config::with_defaults(size), crashes, seed);
        let names = names.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(names.len() as u32 >= size - crashes, "seed {seed}");
        assert!(names.iter().all(Option::is_some), "seed {seed}: {names:?}");
        assert!(names.iter().flatten().all(|name| *name <= largest_name(size)));
        largest = largest.max(names.into_iter().flatten().max().unwrap_or(0));
    }
    assert!(largest > 7, "some name is larger than the group");
}

#[test]
fn each_mistake_is_caught() {
    for (switch, size) in [(VariantId::Impatient, 2), (VariantId::Keeps, 3)] {
        let variants = Variants::none().with(switch);
        let config = Config { variants, ..Config::with_defaults(size) };
        let found = (0..3000).find_map(|seed| run(config.clone(), 0, seed).err());
        assert!(found.is_some_and(|error| error.contains("as P")), "{switch:?}");
    }
}

/// An undecided process suggests a name only if it is one of the first t + 1 undecided processes,
/// where t is the number of tolerated crashes. With the variant `all-suggest`, every process
/// suggests a name, and some name exceeds the largest allowed number.
#[test]
fn all_suggesting_exceeds_the_name_bound() {
    let caught = |switch: Option<VariantId>| {
        let variants = switch.into_iter().fold(Variants::none(), Variants::with);
        let config = Config { variants, ..Config::with_defaults(2) };
        (0..300).find_map(|seed| run(config.clone(), 0, seed).err())
    };
    assert_eq!(caught(None), None);
    let error = caught(Some(VariantId::AllSuggest)).expect("the mistake is found");
    assert!(error.ends_with("is named 3, and the largest name is 2"), "{error}");
}
