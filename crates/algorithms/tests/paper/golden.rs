//! Compares runs of the algorithms with the golden files (*stories*) under `tests/golden`. Each
//! algorithm has a folder with its name. The name of a folder for a variant consists of the name of
//! the algorithm and the name of the variant.

use std::any::Any;
use std::fs;
use std::sync::Arc;

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_algorithms::channel::{FifoChannel, fifo};
use tenure_algorithms::compose::{CoordinatedLock, NamedLocks};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::dijkstra_ring::State;
use tenure_algorithms::mutex::{Central, KStateTokenRing, central, dijkstra_ring};
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::TreeShape;
use tenure_core::{
    Agreement, Algorithm, Delay, Election, Graph, Group, Mutex, Protocol, Rank, TICKS_PER_TIME_UNIT,
};
use tenure_trace::run_golden_scripts;

use crate::support::election::ranks;
use crate::support::p;

/// Folder whose stories another test checks. [`Parameters`] cannot set the initial states of the
/// algorithm in this folder.
const EXCLUDED_FOLDER: &str = "dijkstra_ring";

macro_rules! each {
    ($($file:ident)+) => {
        $(#[test]
        fn $file() {
            check_stories_of(stringify!($file));
        })+
    };
}

tenure_algorithms::each_lock!();
tenure_algorithms::each_election!();
tenure_algorithms::each_agreement!();

/// Returns the algorithm to which a folder of golden files belongs: the name of the folder begins
/// with the name of the algorithm. If this holds for several algorithms, returns the longest name.
fn algorithm_of(folder: &str) -> Option<String> {
    let names = [catalogue::MUTEXES, catalogue::ELECTIONS, catalogue::AGREEMENTS].concat();
    let files = names.iter().map(|name| name.replace('-', "_"));
    let begins = |file: &String| {
        folder.strip_prefix(&**file).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    files.filter(begins).max_by_key(String::len)
}

fn check_stories_of(file: &str) {
    let mut found = 0;
    for entry in fs::read_dir("golden").unwrap() {
        let folder = entry.unwrap().file_name().into_string().unwrap();
        let is_of_algorithm = algorithm_of(&folder).as_deref() == Some(file);
        if is_of_algorithm && folder != EXCLUDED_FOLDER {
            let name = file.replace('_', "-");
            let story = Story { name: &name, folder: &folder };
            catalogue::visit(&name, &story.parameters(3), story).unwrap();
        }
        found += u32::from(is_of_algorithm);
    }
    assert!(found > 0, "`{file}` has no story: add one in crates/algorithms/tests/golden/{file}");
}

/// Returns the line P1 –1– P2 –3– P3 –2– P4, or the part of this line with the first `size`
/// processes. The edges of the line have the weights 1, 3 and 2.
fn weighted_line(size: u32) -> Graph {
    let edges = [(p(1), p(2), 1), (p(2), p(3), 3), (p(3), p(4), 2)];
    Graph::new(size, edges.into_iter().take(size as usize - 1)).expect("a line is a graph")
}

/// Folder with the golden files of one algorithm or variant. `name` is the name of the algorithm. A
/// golden file is called a story. It contains the commands of a run and the expected steps.
#[derive(Clone, Copy)]
struct Story<'a> {
    name: &'a str,
    folder: &'a str,
}

impl Story<'_> {
    /// Returns the parameters for a story. If the name of the folder consists of the names of an
    /// algorithm and of a variant, this variant is switched on. Some stories need particular
    /// parameters, which this function lists. All other parameters have their default values.
    fn parameters(self, size: u32) -> Parameters {
        let mut it = Parameters::with_defaults(size);
        let variants = |names: &[&str]| names.iter().copied().map(String::from).collect();
        match self.folder {
            "central" => it.coordinator = p(5),
            "maekawa" | "maekawa_duplicate" => it.quorum_kind = Some(QuorumKind::Pairs),
            "raymond" | "tree_election" => it.tree_shape = TreeShape::Path,
            "gallager_humblet_spira" | "minimum_spanning_tree" => {
                it.graph = Some(Arc::new(weighted_line(size)));
            }
            "raft_log_old_term_commit" => {
                it.variants = variants(&["old-term-commit", "one-entry", "no-pre-vote"]);
            }
            "relayed_log_asked_again" => it.variants = variants(&["asked-again", "no-pre-vote"]),
            "raft_log_one_entry" => it.variants = variants(&["one-entry", "no-pre-vote"]),
            // `resigns` is not the name of a variant. In these stories, users resign.
            "bully_resigns" => {}
            "bully_without_terms" => it.variants = variants(&["no-terms"]),
            "chang_roberts_decreasing" => it.ranks = (1..=size).rev().map(Rank::from_id).collect(),
            "chang_roberts_28" => it.ranks = ranks(&[17, 9, 28, 3, 24, 15]),
            "chang_roberts_stuck" => it.ranks = ranks(&[3, 1, 2]),
            "time_slice_short_phases" => {
                it.ranks = ranks(&[1, 3, 2]);
                it.variants = variants(&["short-phases"]);
            }
            "hirschberg_sinclair_eight" => it.ranks = ranks(&[8, 1, 5, 2, 7, 3, 6, 4]),
            _ => {
                let variant = self.folder[self.name.len()..].trim_start_matches('_');
                it.variants.extend((!variant.is_empty()).then(|| variant.replace('_', "-")));
            }
        }
        it
    }

    fn check<P: Protocol<Command: tenure_trace::ServiceCommand>>(self) {
        run_golden_scripts::<P>(format!("golden/{}", self.folder), |group| {
            let config = catalogue::visit(self.name, &self.parameters(group.size()), Configure);
            *config.unwrap().downcast().expect("the type of a name depends on no group size")
        });
    }
}

impl AlgorithmVisitor for Story<'_> {
    type Output = ();

    fn mutex<P: Mutex + Algorithm>(self, _: P::Config) {
        self.check::<P>();
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) {
        self.check::<P>();
    }

    fn agreement<P: Agreement + Algorithm>(self, _: P::Config) {
        self.check::<P>();
    }
}

/// Visitor of the catalogue that returns the configuration of an algorithm.
struct Configure;

impl AlgorithmVisitor for Configure {
    type Output = Box<dyn Any>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Box<dyn Any> {
        Box::new(config)
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Box<dyn Any> {
        Box::new(config)
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Box<dyn Any> {
        Box::new(config)
    }
}

/// Compares a run with its golden file. At the start of this run, all three processes of the ring
/// are privileged.
#[test]
fn dijkstra_ring_from_any_start() {
    let start = [State { own: 1, left: 1 }, State { own: 2, left: 0 }, State { own: 1, left: 2 }];
    let config = |_| dijkstra_ring::Config {
        initial_states: start.into(),
        ..dijkstra_ring::Config::default()
    };
    run_golden_scripts::<KStateTokenRing>("golden/dijkstra_ring", config);
}

#[test]
fn coordinated() {
    let config =
        |group: Group| bully::Config::with_defaults(group.size(), TICKS_PER_TIME_UNIT).into();
    run_golden_scripts::<CoordinatedLock<Bully>>("golden/coordinated", config);
}

#[test]
fn named() {
    let config =
        |group: Group| bully::Config::with_defaults(group.size(), TICKS_PER_TIME_UNIT).into();
    run_golden_scripts::<NamedLocks<Bully>>("golden/named", config);
}

#[test]
fn fifo() {
    let config = |_: Group| fifo::Config {
        resend_timeout: Delay::time_units(3),
        ..fifo::Config::with_inner_config(central::Config::default())
    };
    run_golden_scripts::<FifoChannel<Central>>("golden/fifo", config);
}
