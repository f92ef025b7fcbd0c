//! Breadth-first, one level after another.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::frontier::{BLOCK, CHUNK, Frontier};
use super::harvest::{Candidate, Harvest, Panicked, Violated};
use super::notes::{Notes, note};
use super::parallel::each;
use crate::explore::successors::Worker;
use crate::explore::visited::{Edge, Origin, Put, SHARDS, Shard, StateId, shard_of};
use crate::limits::{Limit, Limits, Progress, Stage, Stop};
use crate::liveness::graph::Graph;
use crate::world::action::Action;
use crate::world::rules::Rules;

/// Candidates that are looked for at the same time.
const FETCHED: usize = 64;

/// A world that is new, and where it came from.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    id: StateId,
    key: u64,
    /// The place of its parent in the block.
    parent: u32,
    action: Action,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything was seen.
    Complete,
    /// Every property was decided before.
    Decided,
    /// A limit cut it.
    Limited(Limit),
}

/// A search under way.
pub(crate) struct Search<'a> {
    pub(crate) rules: Arc<Rules>,
    pub(crate) limits: Limits,
    pub(crate) stop: Stop,
    pub(crate) exact: bool,
    /// Whether edges and marks are kept, for liveness.
    pub(crate) keeps_edges: bool,
    /// The monitors whose violation is looked for; when all are violated the search is over,
    /// unless liveness is judged too.
    pub(crate) wanted: u32,
    /// The monitor that measures.
    pub(crate) measuring: Option<usize>,
    pub(crate) threads: usize,
    pub(crate) on_progress: Option<&'a mut dyn FnMut(&Progress)>,
}

/// Everything that a search found.
pub(crate) struct Explored {
    pub(crate) shards: Vec<Shard>,
    pub(crate) workers: Vec<Worker>,
    /// The worlds that there were to begin with.
    pub(crate) first: Vec<(StateId, Vec<u32>, u64)>,
    pub(crate) transitions: u64,
    /// The level of the last world found.
    pub(crate) depth: u32,
    pub(crate) violations: Vec<Option<Violated>>,
    pub(crate) ended: Ended,
    /// Whether links were full, and whether terms were too high.
    pub(crate) cuts: [bool; 2],
    /// The level of each world, by shard: how many worlds it had when each level began.
    pub(crate) levels: Vec<Vec<u32>>,
    /// The worlds that were found but not expanded, where edges are kept.
    pub(crate) open: Vec<StateId>,
    /// The most that was measured, and the first world that has it.
    pub(crate) measured: Option<(u64, StateId)>,
    pub(crate) bytes_peak: usize,
    /// The handler that panicked and so ended the search.
    pub(crate) panicked: Option<Panicked>,
}

impl Explored {
    pub(crate) fn states(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len() as u64).sum()
    }

    /// The name of a world that was seen, where edges are kept.
    pub(crate) fn find(&self, key: u64, world: &[u32]) -> Option<StateId> {
        self.shards[shard_of(key)].find(key, world)
    }
}

/// The state of a search between two blocks.
struct Run<'s, 'a> {
    search: &'s mut Search<'a>,
    shards: Vec<Mutex<Shard>>,
    workers: Vec<Worker>,
    frontier: Frontier,
    next: Frontier,
    found: Explored,
    /// Emptied harvests, to be filled again: allocating them anew would cost page faults.
    spares: Mutex<Vec<Harvest>>,
    /// By how much the last block made more of what is held, in bytes.
    growth: usize,
    started: Instant,
}

impl Search<'_> {
    /// Explores everything that can be reached from the given worlds.
    pub(crate) fn run(mut self, first: Vec<(Vec<u32>, u64)>) -> Explored {
        let threads = self.threads.max(1);
        let workers: Vec<Worker> =
            (0..threads).map(|_| Worker::new(Arc::clone(&self.rules))).collect();
        let shard = |number| Mutex::new(Shard::new(number, self.exact, self.keeps_edges));
        let shards = (0..SHARDS).map(shard).collect();
        let (monitors, stride) = (self.rules.layout.monitors, self.rules.layout.stride());
        let found = Explored {
            shards: Vec::new(),
            workers: Vec::new(),
            first: Vec::new(),
            transitions: 0,
            depth: 0,
            violations: vec![None; monitors],
            ended: Ended::Complete,
            cuts: [false; 2],
            levels: vec![vec![0]; SHARDS],
            open: Vec::new(),
            measured: None,
            bytes_peak: 0,
            panicked: None,
        };
        let mut run = Run {
            search: &mut self,
            shards,
            workers,
            frontier: Frontier::new(stride),
            next: Frontier::new(stride),
            found,
            spares: Mutex::new(Vec::new()),
            growth: 0,
            started: Instant::now(),
        };
        run.begin(first);
        run.explore();
        run.finish()
    }
}

impl Run<'_, '_> {
    fn begin(&mut self, first: Vec<(Vec<u32>, u64)>) {
        for (world, fingerprint) in first {
            let key = self.workers[0].key(&world, fingerprint);
            let mut shard = lock(&self.shards[shard_of(key)]);
            let origin = Origin { parent: StateId::OUTSIDE, action: Action(0) };
            let Put::New(id) = shard.put(key, origin, &world) else { continue };
            drop(shard);
            self.found.transitions += 1;
            self.found.first.push((id, world.clone(), fingerprint));
            self.next.add(std::iter::once(id), &[fingerprint], &world);
            let notes = note(&mut self.workers[0], &world, self.search.measuring);
            self.keep_notes(id, notes);
        }
    }

    fn explore(&mut self) {
        for level in 0.. {
            let next = Frontier::new(self.stride());
            self.frontier = std::mem::replace(&mut self.next, next);
            if self.search.rules.timed && !self.let_time_pass() {
                return;
            }
            if self.frontier.len() == 0 {
                return;
            }
            self.found.depth = level;
            self.mark_level();
            let mut begin = 0;
            while begin < self.frontier.len() {
                if let Some(ended) = self.reason_to_end(level) {
                    self.end(ended, begin);
                    return;
                }
                let end = (begin + BLOCK).min(self.frontier.len());
                self.expand(begin..end, level + 1, false);
                if self.found.panicked.is_some() {
                    return;
                }
                if let Some(limit) = self.limit_within_block() {
                    self.end(Ended::Limited(limit), begin);
                    return;
                }
                begin = end;
                self.frontier.forget(begin);
            }
            if self.all_decided() {
                self.end(Ended::Decided, self.frontier.len());
                return;
            }
        }
    }

    /// Adds to the frontier every world that time alone leads to: it costs no step.
    fn let_time_pass(&mut self) -> bool {
        let mut begin = 0;
        while begin < self.frontier.len() {
            if let Some(ended) = self.reason_to_end(self.found.depth) {
                self.end(ended, 0);
                return false;
            }
            let end = (begin + BLOCK).min(self.frontier.len());
            self.expand(begin..end, self.found.depth, true);
            if self.found.panicked.is_some() {
                return false;
            }
            if let Some(limit) = self.limit_within_block() {
                self.end(Ended::Limited(limit), 0);
                return false;
            }
            begin = end;
        }
        true
    }

    fn expand(&mut self, block: Range<usize>, length: u32, time: bool) {
        let harvests = self.gather(block, time);
        // Chunks come in their order, so it is the same panic for any number of threads.
        self.found.panicked = harvests.iter().find_map(|harvest| harvest.panicked.clone());
        // Of a block that was left in the middle nothing is counted.
        if self.found.panicked.is_some() || self.search.stop.ends_search() {
            return;
        }
        let before = self.bytes();
        for harvest in &harvests {
            self.found.transitions += harvest.transitions;
            for (cut, seen) in self.found.cuts.iter_mut().zip(harvest.cuts) {
                *cut |= seen;
            }
            for (monitor, violated) in &harvest.violations {
                let violated = Violated { length, ..*violated };
                self.found.violations[*monitor as usize].get_or_insert(violated);
            }
        }
        let fresh = self.sow(&harvests);
        self.grow(&harvests, &fresh, time);
        lock(&self.spares).extend(harvests.into_iter().map(Harvest::cleared));
        let bytes = self.bytes();
        self.found.bytes_peak = self.found.bytes_peak.max(bytes);
        // New worlds are held twice until they are in the frontier.
        let fresh: usize = fresh.iter().map(Vec::len).sum();
        let passing = fresh * (self.stride() * size_of::<u32>() + size_of::<Fresh>());
        self.growth = bytes.saturating_sub(before) + passing;
    }

    /// All threads expand chunks of the block.
    fn gather(&mut self, block: Range<usize>, time: bool) -> Vec<Harvest> {
        let (stride, exact) = (self.stride(), self.search.exact);
        let (frontier, spares, stop) = (&self.frontier, &self.spares, &self.search.stop);
        let chunks = block.len().div_ceil(CHUNK);
        each(&mut self.workers, chunks, |worker, chunk| {
            let spare = lock(spares).pop();
            let mut harvest = spare.unwrap_or_else(Harvest::new);
            let mut parents = std::mem::take(&mut harvest.parents);
            let begin = block.start + chunk * CHUNK;
            frontier.read(begin..(begin + CHUNK).min(block.end), &mut parents);
            for (place, id) in parents.ids.iter().enumerate() {
                let (seed, parent) = (parents.seed(place, stride), chunk * CHUNK + place);
                harvest.reap_safely(worker, seed, *id, parent as u32, (exact, time));
                if harvest.panicked.is_some() || stop.ends_search() {
                    break;
                }
            }
            Harvest { parents, ..harvest }
        })
    }

    /// All threads put candidates into the visited set, each into its own shards.
    fn sow(&mut self, harvests: &[Harvest]) -> Vec<Vec<Fresh>> {
        let (stride, exact) = (self.stride(), self.search.exact);
        let keeps_edges = self.search.keeps_edges;
        let shards = &self.shards;
        let fresh = each(&mut self.workers, SHARDS, |_, number| {
            let mut shard = lock(&shards[number]);
            let mut fresh = Vec::new();
            for harvest in harvests {
                let candidates = &harvest.candidates[number];
                for (place, candidate) in candidates.iter().enumerate() {
                    if place % FETCHED == 0 {
                        let next = candidates[place..].iter().take(FETCHED);
                        shard.fetch(next.map(|candidate| candidate.key));
                    }
                    let from = harvest.parents.ids[candidate.parent as usize % CHUNK];
                    let origin = Origin { parent: from, action: candidate.action };
                    let world: &[u32] = if exact {
                        &harvest.worlds[number][place * stride..][..stride]
                    } else {
                        &[]
                    };
                    let put = shard.put(candidate.key, origin, world);
                    if let Put::New(id) = put {
                        fresh.push(Fresh::of(id, candidate));
                    }
                    if keeps_edges {
                        let to = match put {
                            Put::New(id) => id,
                            Put::Known(slot) => shard.at(slot),
                        };
                        shard.edges.push(Edge { from, to, label: candidate.label });
                    }
                }
            }
            fresh
        });
        if keeps_edges {
            let mut shard = lock(&shards[0]);
            for harvest in harvests {
                for (parent, label) in &harvest.outside {
                    let from = harvest.parents.ids[*parent as usize % CHUNK];
                    shard.edges.push(Edge { from, to: StateId::OUTSIDE, label: *label });
                }
            }
        }
        fresh
    }

    /// All threads build the new worlds, in the order of their parents, which keeps what they
    /// have in common close together. Those that time led to belong to the level of their parents.
    fn grow(&mut self, harvests: &[Harvest], fresh: &[Vec<Fresh>], time: bool) {
        let stride = self.stride();
        let (measuring, stop) = (self.search.measuring, &self.search.stop);
        let noting = self.search.keeps_edges || measuring.is_some();
        let grown = each(&mut self.workers, harvests.len(), |worker, chunk| {
            let begin = chunk * CHUNK;
            let mut grown = Grown::of_parents(fresh, begin..begin + CHUNK);
            grown.worlds.reserve(grown.fresh.len() * stride);
            for new in &grown.fresh {
                if stop.is_raised() {
                    break;
                }
                let first = grown.worlds.len();
                let parent = harvests[chunk].parents.seed(new.parent as usize - begin, stride);
                grown.worlds.extend_from_slice(parent.world);
                let world = &mut grown.worlds[first..];
                let fate = worker.advance(world, parent.fingerprint, new.action);
                let fate = fate.expect("a step that was possible stays possible");
                assert_eq!(fate.key, new.key, "a step does the same when it is taken again");
                grown.fingerprints.push(fate.fingerprint);
                if noting {
                    grown.notes.push(note(worker, world, measuring));
                }
            }
            grown
        });
        // Whoever stops does not go on from them.
        if stop.is_raised() {
            return;
        }
        for grown in grown {
            let ids = grown.fresh.iter().map(|new| new.id);
            let level = if time { &mut self.frontier } else { &mut self.next };
            level.add(ids, &grown.fingerprints, &grown.worlds);
            for (new, notes) in grown.fresh.iter().zip(grown.notes) {
                self.keep_notes(new.id, notes);
            }
        }
        let level = if time { &mut self.frontier } else { &mut self.next };
        let packed = each(&mut self.workers, level.chunks_to_pack(), |_, chunk| level.pack(chunk));
        level.keep(packed);
    }

    fn keep_notes(&mut self, id: StateId, notes: Notes) {
        if self.search.keeps_edges {
            let mut shard = lock(&self.shards[id.shard()]);
            let worlds = shard.len();
            shard.marks.resize(worlds, 0);
            shard.marks[id.place()] = notes.marks;
        }
        let most = &mut self.found.measured;
        if most.is_none_or(|(most, _)| notes.measure > most) {
            *most = Some((notes.measure, id));
        }
    }

    fn mark_level(&mut self) {
        for (levels, shard) in self.found.levels.iter_mut().zip(&self.shards) {
            levels.push(lock(shard).len() as u32);
        }
    }

    fn all_decided(&self) -> bool {
        let wanted = self.search.wanted;
        let mut violations = self.found.violations.iter().enumerate();
        let decided = violations.all(|(place, found)| wanted & 1 << place == 0 || found.is_some());
        wanted != 0 && decided && !self.search.keeps_edges && self.search.measuring.is_none()
    }

    fn reason_to_end(&mut self, level: u32) -> Option<Ended> {
        if self.all_decided() {
            return Some(Ended::Decided);
        }
        let (worlds, edges) = self.sizes();
        let bytes = self.bytes();
        let elapsed = self.started.elapsed();
        if let Some(report) = &mut self.search.on_progress {
            let (states, waiting) = (worlds as u64, self.frontier.len() as u64);
            report(&Progress { states, depth: level, waiting, bytes, elapsed });
        }
        let limits = self.search.limits;
        if limits.search_time(self.search.keeps_edges).is_some_and(|most| elapsed >= most) {
            self.search.stop.raise(Stage::SearchTime);
        }
        if self.search.stop.ends_search() {
            return self.search.stop.limit().map(Ended::Limited);
        }
        // The next block takes its share, and so does the analysis of what was seen.
        let kept = self.search.keeps_edges;
        let later = if kept { Graph::bytes_needed(worlds, edges) } else { 0 };
        limits.reached(worlds as u64, bytes, self.growth + later).map(Ended::Limited)
    }

    /// The limit that was reached while a block was expanded.
    fn limit_within_block(&self) -> Option<Limit> {
        self.search.stop.ends_search().then(|| self.search.stop.limit()).flatten()
    }

    /// How many worlds were seen, and how many edges are kept.
    fn sizes(&self) -> (usize, usize) {
        let sizes = self.shards.iter().map(|shard| {
            let shard = lock(shard);
            (shard.len(), shard.edges.len())
        });
        sizes.fold((0, 0), |(worlds, edges), (more, of_them)| (worlds + more, edges + of_them))
    }

    /// Ends the search with the frontier from `begin` on, and all of the next, not expanded.
    fn end(&mut self, ended: Ended, begin: usize) {
        self.found.ended = ended;
        // Only where edges are kept does anybody ask for them.
        if self.search.keeps_edges {
            self.found.open = self.frontier.ids_from(begin).chain(self.next.ids_from(0)).collect();
        }
    }

    fn bytes(&self) -> usize {
        let shards: usize = self.shards.iter().map(|shard| lock(shard).bytes()).sum();
        let workers: usize = self.workers.iter().map(|worker| worker.memory.bytes()).sum();
        let rules = &self.search.rules;
        let interned = rules.model.bytes() + rules.freight.bytes();
        let harvests: usize = lock(&self.spares).iter().map(Harvest::bytes).sum();
        shards + workers + interned + harvests + self.frontier.bytes() + self.next.bytes()
    }

    fn stride(&self) -> usize {
        self.search.rules.layout.stride()
    }

    fn finish(mut self) -> Explored {
        self.mark_level();
        let unlock =
            |shard: Mutex<Shard>| shard.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.found.shards = self.shards.into_iter().map(unlock).collect();
        self.found.workers = self.workers;
        self.found
    }
}

/// New worlds whose parents lie in one chunk, in their parents' order.
struct Grown {
    fresh: Vec<Fresh>,
    fingerprints: Vec<u64>,
    worlds: Vec<u32>,
    notes: Vec<Notes>,
}

impl Grown {
    fn of_parents(fresh: &[Vec<Fresh>], parents: Range<usize>) -> Self {
        let before = |place: usize| move |new: &Fresh| (new.parent as usize) < place;
        // Shards are filled chunk by chunk, so a chunk's worlds lie together in each of them.
        let mut mine: Vec<Fresh> = Vec::new();
        for list in fresh {
            let begin = list.partition_point(before(parents.start));
            let end = begin + list[begin..].partition_point(before(parents.end));
            mine.extend_from_slice(&list[begin..end]);
        }
        mine.sort_unstable_by_key(|new| (new.parent, new.action.0));
        let (fingerprints, worlds, notes) = (Vec::new(), Vec::new(), Vec::new());
        Grown { fresh: mine, fingerprints, worlds, notes }
    }
}

impl Fresh {
    fn of(id: StateId, candidate: &Candidate) -> Self {
        let Candidate { key, parent, action, .. } = *candidate;
        Fresh { id, key, parent, action }
    }
}

fn lock<T>(guarded: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}
