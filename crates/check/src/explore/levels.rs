//! Breadth-first, one level after another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::parallel::each;
use crate::action::{Action, Kind};
use crate::limits::{Limit, Limits, Progress};
use crate::model::Stand;
use crate::rules::Rules;
use crate::successors::{Cut, Seed, TIME, Worker};
use crate::visited::{Edge, Origin, Put, SHARDS, Shard, StateId, shard_of};
use crate::world::VIOLATED;

/// Worlds expanded between two looks at limits; a multiple of [`CHUNK`].
const BLOCK: usize = CHUNK * 64;
/// Worlds that one thread expands at a time.
const CHUNK: usize = 1 << 10;

/// The worlds of one level, in the order in which they were found.
#[derive(Debug, Default)]
struct Frontier {
    ids: Vec<StateId>,
    fingerprints: Vec<u64>,
    worlds: Vec<u32>,
}

impl Frontier {
    fn seed(&self, place: usize, stride: usize) -> Seed<'_> {
        let world = &self.worlds[place * stride..][..stride];
        Seed { world, fingerprint: self.fingerprints[place] }
    }

    fn bytes(&self) -> usize {
        self.ids.capacity() * 12 + self.worlds.capacity() * 4
    }
}

/// A successor that may be new.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    fingerprint: u64,
    /// The place of its parent in the frontier.
    parent: u32,
    action: Action,
    label: u32,
}

/// What one thread found in one chunk.
struct Harvest {
    candidates: Vec<Vec<Candidate>>,
    /// In exact mode, the candidates' worlds.
    worlds: Vec<Vec<u32>>,
    /// Steps to beyond a bound: parent and label.
    outside: Vec<(u32, u32)>,
    transitions: u64,
    violations: Vec<(u32, Violated)>,
    cuts: [bool; 2],
}

/// A world that is new, and where it came from.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    id: StateId,
    fingerprint: u64,
    parent: u32,
    action: Action,
}

/// The step that violated a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violated {
    pub(crate) from: StateId,
    pub(crate) action: Action,
    /// How many steps it takes, this one included.
    pub(crate) length: u32,
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
    pub(crate) stop: Option<Arc<AtomicBool>>,
    pub(crate) exact: bool,
    /// Whether edges and marks are kept, for liveness.
    pub(crate) keeps_edges: bool,
    /// The monitors whose violation is looked for; when all are violated the search is over,
    /// unless liveness is judged too.
    pub(crate) wanted: u32,
    /// The monitors that measure.
    pub(crate) measuring: Vec<usize>,
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
    /// The worlds that were found but not expanded.
    pub(crate) open: Vec<StateId>,
    /// By measuring monitor: the most, and the first world that has it.
    pub(crate) measures: Vec<(u64, StateId)>,
    pub(crate) bytes_peak: usize,
}

impl Explored {
    pub(crate) fn states(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len() as u64).sum()
    }

    /// The name of a world that was seen.
    pub(crate) fn find(&self, fingerprint: u64, world: &[u32]) -> Option<StateId> {
        self.shards[shard_of(fingerprint)].find(fingerprint, world)
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
    started: Instant,
}

impl Search<'_> {
    /// Explores everything that can be reached from the given worlds.
    pub(crate) fn run(mut self, first: Vec<(Vec<u32>, u64)>) -> Explored {
        let threads = self.threads.max(1);
        let workers: Vec<Worker> =
            (0..threads).map(|_| Worker::new(Arc::clone(&self.rules))).collect();
        let shards = (0..SHARDS).map(|number| Mutex::new(Shard::new(number, self.exact))).collect();
        let monitors = self.rules.layout.monitors;
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
            measures: vec![(0, StateId::OUTSIDE); self.measuring.len()],
            bytes_peak: 0,
        };
        let mut run = Run {
            search: &mut self,
            shards,
            workers,
            frontier: Frontier::default(),
            next: Frontier::default(),
            found,
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
            let mut shard = lock(&self.shards[shard_of(fingerprint)]);
            let origin = Origin { parent: StateId::OUTSIDE, action: Action(0) };
            let Put::New(id) = shard.put(fingerprint, origin, &world) else { continue };
            drop(shard);
            self.found.transitions += 1;
            self.found.first.push((id, world.clone(), fingerprint));
            self.next.ids.push(id);
            self.next.fingerprints.push(fingerprint);
            self.next.worlds.extend(world);
        }
        let (next, stride) = (std::mem::take(&mut self.next), self.stride());
        for place in 0..next.ids.len() {
            let seed = next.seed(place, stride);
            let notes = note(&self.search.measuring, &mut self.workers[0], seed.world);
            self.keep_notes(next.ids[place], notes);
        }
        self.next = next;
    }

    fn explore(&mut self) {
        for level in 0.. {
            self.frontier = std::mem::take(&mut self.next);
            if self.search.rules.timed && !self.let_time_pass() {
                return;
            }
            if self.frontier.ids.is_empty() {
                return;
            }
            self.found.depth = level;
            self.mark_level();
            let mut begin = 0;
            while begin < self.frontier.ids.len() {
                if let Some(ended) = self.reason_to_end(level) {
                    self.end(ended, begin);
                    return;
                }
                let end = (begin + BLOCK).min(self.frontier.ids.len());
                self.expand(begin..end, level + 1, false);
                begin = end;
            }
            if self.all_decided() {
                self.end(Ended::Decided, self.frontier.ids.len());
                return;
            }
        }
    }

    /// Adds to the frontier every world that time alone leads to: it costs no step.
    fn let_time_pass(&mut self) -> bool {
        let mut begin = 0;
        while begin < self.frontier.ids.len() {
            if let Some(ended) = self.reason_to_end(self.found.depth) {
                self.end(ended, 0);
                return false;
            }
            let end = (begin + BLOCK).min(self.frontier.ids.len());
            self.expand(begin..end, self.found.depth, true);
            begin = end;
            let later = std::mem::take(&mut self.next);
            self.frontier.ids.extend(later.ids);
            self.frontier.fingerprints.extend(later.fingerprints);
            self.frontier.worlds.extend(later.worlds);
        }
        true
    }

    fn expand(&mut self, block: std::ops::Range<usize>, length: u32, time: bool) {
        let harvests = self.gather(block, time);
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
        let harvested = harvests.iter().flat_map(|harvest| &harvest.candidates);
        let harvested: usize = harvested.map(|list| list.capacity() * 24).sum();
        drop(harvests);
        self.grow(fresh);
        let bytes = self.bytes() + harvested;
        self.found.bytes_peak = self.found.bytes_peak.max(bytes);
    }

    /// All threads expand chunks of the block.
    fn gather(&mut self, block: std::ops::Range<usize>, time: bool) -> Vec<Harvest> {
        let (stride, exact) = (self.stride(), self.search.exact);
        let frontier = &self.frontier;
        let chunks = block.len().div_ceil(CHUNK);
        each(&mut self.workers, chunks, |worker, chunk| {
            let mut harvest = Harvest::new();
            let begin = block.start + chunk * CHUNK;
            for place in begin..(begin + CHUNK).min(block.end) {
                let seed = frontier.seed(place, stride);
                harvest.reap(worker, seed, frontier.ids[place], place as u32, (exact, time));
            }
            harvest
        })
    }

    /// All threads put candidates into the visited set, each into its own shards.
    fn sow(&mut self, harvests: &[Harvest]) -> Vec<Vec<Fresh>> {
        let (stride, exact) = (self.stride(), self.search.exact);
        let keeps_edges = self.search.keeps_edges;
        let (frontier, shards) = (&self.frontier, &self.shards);
        let fresh = each(&mut self.workers, SHARDS, |_, number| {
            let mut shard = lock(&shards[number]);
            let mut fresh = Vec::new();
            for harvest in harvests {
                for (place, candidate) in harvest.candidates[number].iter().enumerate() {
                    let from = frontier.ids[candidate.parent as usize];
                    let origin = Origin { parent: from, action: candidate.action };
                    let world: &[u32] = if exact {
                        &harvest.worlds[number][place * stride..][..stride]
                    } else {
                        &[]
                    };
                    let to = match shard.put(candidate.fingerprint, origin, world) {
                        Put::New(id) => {
                            fresh.push(Fresh::of(id, candidate));
                            id
                        }
                        Put::Known(id) => id,
                    };
                    if keeps_edges {
                        shard.edges.push(Edge { from, to, label: candidate.label });
                    }
                }
            }
            fresh
        });
        if keeps_edges {
            let mut shard = lock(&shards[0]);
            for (parent, label) in harvests.iter().flat_map(|harvest| &harvest.outside) {
                let from = frontier.ids[*parent as usize];
                shard.edges.push(Edge { from, to: StateId::OUTSIDE, label: *label });
            }
        }
        fresh
    }

    /// All threads build the new worlds, and note what liveness and measures ask of them.
    fn grow(&mut self, fresh: Vec<Vec<Fresh>>) {
        let (stride, keeps_edges) = (self.stride(), self.search.keeps_edges);
        let (frontier, shards) = (&self.frontier, &self.shards);
        let measuring = &self.search.measuring;
        let noting = keeps_edges || !measuring.is_empty();
        let grown = each(&mut self.workers, SHARDS, |worker, number| {
            let mut worlds = Vec::with_capacity(fresh[number].len() * stride);
            let mut marks = Vec::new();
            let mut measures = vec![(0, StateId::OUTSIDE); measuring.len()];
            for new in &fresh[number] {
                let begin = worlds.len();
                worlds.extend_from_slice(frontier.seed(new.parent as usize, stride).world);
                let world = &mut worlds[begin..];
                let parent = frontier.fingerprints[new.parent as usize];
                let fate = worker.perform(world, parent, new.action);
                assert_eq!(
                    fate.map(|fate| fate.fingerprint),
                    Some(new.fingerprint),
                    "a step does the same when it is taken again"
                );
                if noting {
                    let notes = note(measuring, worker, world);
                    marks.push(notes.0);
                    raise(&mut measures, &notes.1, new.id);
                }
            }
            if keeps_edges {
                lock(&shards[number]).marks.extend(marks);
            }
            (worlds, measures)
        });
        for (fresh, (worlds, measures)) in fresh.into_iter().zip(grown) {
            self.next.ids.extend(fresh.iter().map(|new| new.id));
            self.next.fingerprints.extend(fresh.iter().map(|new| new.fingerprint));
            self.next.worlds.extend(worlds);
            for (place, (measure, id)) in measures.into_iter().enumerate() {
                if measure > self.found.measures[place].0 {
                    self.found.measures[place] = (measure, id);
                }
            }
        }
    }

    fn keep_notes(&mut self, id: StateId, (marks, measures): (u32, Vec<u64>)) {
        if self.search.keeps_edges {
            lock(&self.shards[id.shard()]).marks.push(marks);
        }
        raise(&mut self.found.measures, &measures, id);
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
        wanted != 0 && decided && !self.search.keeps_edges && self.search.measuring.is_empty()
    }

    fn reason_to_end(&mut self, level: u32) -> Option<Ended> {
        if self.all_decided() {
            return Some(Ended::Decided);
        }
        let states: usize = self.shards.iter().map(|shard| lock(shard).len()).sum();
        let bytes = self.bytes();
        let stop = &self.search.stop;
        let stopped = stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        let elapsed = self.started.elapsed();
        if let Some(report) = &mut self.search.on_progress {
            let waiting = self.frontier.ids.len() as u64;
            report(&Progress { states: states as u64, depth: level, waiting, bytes, elapsed });
        }
        let limit = self.search.limits.reached(states as u64, bytes, elapsed, stopped)?;
        Some(Ended::Limited(limit))
    }

    /// Ends the search with the frontier from `begin` on, and all of the next, not expanded.
    fn end(&mut self, ended: Ended, begin: usize) {
        self.found.ended = ended;
        self.found.open = self.frontier.ids[begin..].to_vec();
        self.found.open.extend(&self.next.ids);
    }

    fn bytes(&self) -> usize {
        let shards: usize = self.shards.iter().map(|shard| lock(shard).bytes()).sum();
        let workers: usize = self.workers.iter().map(|worker| worker.memory.bytes()).sum();
        let rules = &self.search.rules;
        let interned = rules.model.bytes() + rules.freight.bytes();
        shards + workers + interned + self.frontier.bytes() + self.next.bytes()
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

impl Fresh {
    fn of(id: StateId, candidate: &Candidate) -> Self {
        let Candidate { fingerprint, parent, action, .. } = *candidate;
        Fresh { id, fingerprint, parent, action }
    }
}

impl Harvest {
    fn new() -> Self {
        Harvest {
            candidates: vec![Vec::new(); SHARDS],
            worlds: vec![Vec::new(); SHARDS],
            outside: Vec::new(),
            transitions: 0,
            violations: Vec::new(),
            cuts: [false; 2],
        }
    }

    /// Takes in every successor of one world.
    fn reap(
        &mut self,
        worker: &mut Worker,
        seed: Seed<'_>,
        from: StateId,
        parent: u32,
        (exact, time): (bool, bool),
    ) {
        if time {
            let mut world = seed.world.to_vec();
            if let Some(fate) = worker.tick(&mut world, seed.fingerprint) {
                let action = Action::new(Kind::Tick, 0, 0, 0);
                self.transitions += 1;
                self.add(Candidate { fingerprint: fate.fingerprint, parent, action, label: TIME });
                if exact {
                    self.worlds[shard_of(fate.fingerprint)].extend(world);
                }
            }
            return;
        }
        worker.successors(seed, &mut |successor| {
            self.transitions += 1;
            let (fate, action, label) = (successor.fate, successor.action, successor.label);
            if fate.violated != 0 {
                let places = (0..u32::BITS).filter(|place| fate.violated & 1 << place != 0);
                let violated = Violated { from, action, length: 0 };
                self.violations.extend(places.map(|place| (place, violated)));
            }
            if let Some(cut) = fate.cut {
                self.cuts[usize::from(cut == Cut::Term)] = true;
                self.outside.push((parent, label));
                return;
            }
            self.cuts[0] |= fate.dropped;
            let fingerprint = fate.fingerprint;
            self.add(Candidate { fingerprint, parent, action, label });
            if exact {
                self.worlds[shard_of(fingerprint)].extend_from_slice(successor.world);
            }
        });
    }

    fn add(&mut self, candidate: Candidate) {
        self.candidates[shard_of(candidate.fingerprint)].push(candidate);
    }
}

fn lock(shard: &Mutex<Shard>) -> std::sync::MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What liveness asks of a world (who waits, and which monitors fail if this is the end), and
/// what the measuring monitors measure there.
fn note(measuring: &[usize], worker: &mut Worker, world: &[u32]) -> (u32, Vec<u64>) {
    let layout = worker.rules.layout;
    let stands: Vec<Stand> =
        (0..layout.size).map(|process| worker.local(world, process).stand).collect();
    let informed = stands.contains(&Stand::Informed);
    let mut marks = 0;
    for (process, stand) in stands.iter().enumerate() {
        let waits = *stand == Stand::Waiting || *stand == Stand::Uninformed && informed;
        marks |= u32::from(waits) << process;
    }
    let mut measure = |place: usize| {
        let state = world[layout.monitor(place)];
        if state == VIOLATED { Default::default() } else { worker.memory.monitor(place, state) }
    };
    for place in 0..layout.monitors {
        // A bound on monitors keeps these bits apart from those of processes.
        if layout.size + place < u32::BITS as usize && measure(place).fails_at_end {
            marks |= 1 << (layout.size + place);
        }
    }
    (marks, measuring.iter().map(|place| measure(*place).measure).collect())
}

fn raise(most: &mut [(u64, StateId)], measures: &[u64], id: StateId) {
    for (most, measure) in most.iter_mut().zip(measures) {
        if *measure > most.0 {
            *most = (*measure, id);
        }
    }
}
