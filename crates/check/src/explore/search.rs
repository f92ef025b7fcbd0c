//! Breadth-first search, level by level.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::annotations::{StateAnnotations, state_annotations};
use super::expansion::{CandidateSuccessor, ChunkExpansion, HandlerPanic, ViolatingStep};
use super::frontier::{BLOCK_STATES, CHUNK_STATES, Frontier};
use super::parallel::{run_jobs, thread_count};
use crate::clock::Instant;
use crate::config::SearchConfig;
use crate::explore::successors::SuccessorWorker;
use crate::explore::visited::{
    GraphEdge, InsertionResult, Origin, SHARD_COUNT, Shard, StateId, shard_of,
};
use crate::limits::{SearchProgress, SignalledLimit, StopReason, StopSignal};
use crate::liveness::graph::{StateGraph, analysis_thread_count};
use crate::world::action::Action;
use crate::world::initial::InitialWorlds;
use crate::world::rules::SearchRules;

/// Number of candidates whose slots in the visited set are prefetched together.
const PREFETCH: usize = 64;

/// A global state that the search has reached for the first time.
#[derive(Clone, Copy, Debug)]
struct NewWorld {
    id: StateId,
    key: u64,
    /// Parent of the new state: the global state in which the step to the new state starts. The
    /// number is the index of the parent in the block of states that the search currently expands.
    parent: u32,
    action: Action,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SearchEnd {
    #[default]
    Complete,
    /// All properties in [`BreadthFirstSearch::judged_property_bits`] were violated before all
    /// states were explored.
    Decided,
    Limited(StopReason),
}

impl SearchEnd {
    pub(crate) fn reached_limit(self) -> Option<StopReason> {
        match self {
            SearchEnd::Limited(limit) => Some(limit),
            SearchEnd::Complete | SearchEnd::Decided => None,
        }
    }
}

pub(crate) struct BreadthFirstSearch<'a> {
    pub(crate) config: &'a SearchConfig,
    pub(crate) rules: Arc<SearchRules>,
    pub(crate) stop: StopSignal,
    /// True if edges and marks are stored for an analysis of the graph after the search.
    pub(crate) keeps_edges: bool,
    /// Properties that the search judges in each step, as bits: one bit for each monitor and one
    /// bit for each expression. When all of them are violated, the search ends, unless it measures
    /// a value or stores the graph for the analysis of liveness.
    pub(crate) judged_property_bits: u32,
    /// Index of the monitor whose value is measured, if any.
    pub(crate) measuring_monitor: Option<usize>,
}

#[derive(Default)]
pub(crate) struct SearchResult {
    pub(crate) shards: Vec<Shard>,
    pub(crate) workers: Vec<SuccessorWorker>,
    /// Initial global states: id, content and fingerprint of each.
    pub(crate) initial_worlds: Vec<(StateId, Vec<u32>, u64)>,
    pub(crate) transitions: u64,
    /// Number of steps from an initial global state to the states that the search expanded last.
    /// The search has judged every run of at most this many steps.
    pub(crate) depth: u32,
    /// For each monitor, and then for each property written as an expression: the first step that
    /// violates the property.
    pub(crate) violations: Vec<Option<ViolatingStep>>,
    /// Reason why the search ended. It has no meaning after a panic.
    pub(crate) ended: SearchEnd,
    /// Two flags: the first is true if a link was full, the second if a term exceeded its bound.
    pub(crate) exceeded_bounds: [bool; 2],
    /// For each shard, by level: the index of the first global state of the level in the shard. The
    /// last element is the number of states in the shard.
    pub(crate) levels: Vec<Vec<u32>>,
    /// Global states that were found but not expanded. Empty unless edges are stored.
    pub(crate) unexpanded: Vec<StateId>,
    /// Greatest value of the monitor at [`BreadthFirstSearch::measuring_monitor`], and the first
    /// global state with this value. The value is 0 if no monitor measures a value.
    pub(crate) greatest_measured: Option<(u64, StateId)>,
    pub(crate) bytes_peak: usize,
    pub(crate) panicked: Option<HandlerPanic>,
}

impl SearchResult {
    pub(crate) fn state_count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len() as u64).sum()
    }

    /// Returns the id of a global state, or `None` if it was not visited. The search must store
    /// edges or whole states.
    pub(crate) fn find_state(&self, key: u64, world: &[u32]) -> Option<StateId> {
        self.shards[shard_of(key)].find(key, world)
    }
}

/// A search in progress. It expands the global states block by block, and checks its limits between
/// two blocks.
struct SearchRun<'a> {
    search: BreadthFirstSearch<'a>,
    shards: Vec<Mutex<Shard>>,
    workers: Vec<SuccessorWorker>,
    /// Global states of the current level.
    frontier: Frontier,
    /// Global states of the next level.
    next: Frontier,
    found: SearchResult,
    /// Empty expansions for reuse, because fresh allocations cost page faults.
    spare_expansions: Mutex<Vec<ChunkExpansion>>,
    /// Growth of memory during the expansion of the last block, in bytes.
    growth: usize,
    started: Instant,
}

impl BreadthFirstSearch<'_> {
    pub(crate) fn run(self, first: InitialWorlds) -> SearchResult {
        let threads = thread_count(self.config.threads);
        let workers: Vec<SuccessorWorker> =
            (0..threads).map(|_| SuccessorWorker::new(Arc::clone(&self.rules))).collect();
        let shard = |number| {
            Mutex::new(Shard::new(number, self.config.stores_whole_states, self.keeps_edges))
        };
        let shards = (0..SHARD_COUNT).map(shard).collect();
        let (layout, stride) = (self.rules.layout, self.rules.layout.stride());
        let found = SearchResult {
            violations: vec![None; layout.monitor_count + layout.custom_property_count],
            levels: vec![vec![0]; SHARD_COUNT],
            ..SearchResult::default()
        };
        let mut run = SearchRun {
            search: self,
            shards,
            workers,
            frontier: Frontier::new(stride),
            next: Frontier::new(stride),
            found,
            spare_expansions: Mutex::new(Vec::new()),
            growth: 0,
            started: Instant::now(),
        };
        run.begin(first);
        run.explore();
        run.finish()
    }
}

impl SearchRun<'_> {
    fn begin(&mut self, first: InitialWorlds) {
        for (world, fingerprint) in first {
            let key = self.workers[0].canonical_key(&world, fingerprint);
            let mut shard = lock(&self.shards[shard_of(key)]);
            let origin = Origin { parent: StateId::OUT_OF_BOUNDS, action: Action(0) };
            let InsertionResult::New(id) = shard.insert(key, origin, &world) else { continue };
            drop(shard);
            self.found.transitions += 1;
            self.found.initial_worlds.push((id, world.clone(), fingerprint));
            self.next.add(std::iter::once(id), &[fingerprint], &world);
            let violated = self.workers[0].initial_custom_violations(&world);
            for (index, found) in self.found.violations.iter_mut().enumerate() {
                if violated & 1 << index != 0 {
                    // A property can be violated before any step. The run then has length 0, and
                    // the action has no meaning.
                    let action = Action(0);
                    found.get_or_insert(ViolatingStep { from: id, action, length: 0 });
                }
            }
            let annotations =
                state_annotations(&mut self.workers[0], &world, self.search.measuring_monitor);
            self.keep_annotations(id, annotations);
        }
    }

    fn explore(&mut self) {
        for level in 0.. {
            let next = Frontier::new(self.stride());
            self.frontier = std::mem::replace(&mut self.next, next);
            // Only time passes here, or steps in progress end. Neither counts as a step.
            if self.search.rules.is_timed && !self.expand_frontier(self.found.depth.max(1), true) {
                return;
            }
            if self.frontier.len() == 0 {
                return;
            }
            self.found.depth = level;
            self.mark_level();
            if !self.expand_frontier(level + 1, false) {
                return;
            }
            if self.all_decided() {
                self.end(SearchEnd::Decided, self.frontier.len());
                return;
            }
        }
    }

    /// Expands the states of the frontier, block by block. Returns false if the search must end.
    /// `length` is the number of steps of a run that ends with one of the expanded steps.
    ///
    /// If `time` is true, only lets time pass or lets processes end their current steps, and adds
    /// the resulting states to the same frontier. If `time` is false, performs all other actions,
    /// adds the resulting states to the next frontier, and drops the expanded states.
    fn expand_frontier(&mut self, length: u32, time: bool) -> bool {
        let mut begin = 0;
        while begin < self.frontier.len() {
            let unexpanded = if time { 0 } else { begin };
            if let Some(ended) = self.reason_to_end(self.frontier.len() - unexpanded) {
                self.end(ended, unexpanded);
                return false;
            }
            let end = (begin + BLOCK_STATES).min(self.frontier.len());
            self.expand(begin..end, length, time);
            if self.found.panicked.is_some() {
                return false;
            }
            if let Some(limit) = self.limit_within_block() {
                self.end(SearchEnd::Limited(limit), unexpanded);
                return false;
            }
            begin = end;
            if !time {
                self.frontier.drop_expanded(begin);
            }
        }
        true
    }

    fn expand(&mut self, block: Range<usize>, length: u32, time: bool) {
        let expansions = self.expand_chunks(block, time);
        // Chunks are in order, so the same panic is reported for any number of threads.
        self.found.panicked = expansions.iter().find_map(|expansion| expansion.panicked.clone());
        // A partially expanded block is not counted.
        if self.found.panicked.is_some() || self.search.stop.must_stop_search() {
            return;
        }
        let before = self.bytes();
        for expansion in &expansions {
            self.found.transitions += expansion.transitions;
            for (cut, seen) in self.found.exceeded_bounds.iter_mut().zip(expansion.exceeded) {
                *cut |= seen;
            }
            for (monitor, violated) in &expansion.violations {
                let violated = ViolatingStep { length, ..*violated };
                self.found.violations[*monitor as usize].get_or_insert(violated);
            }
        }
        let new_by_shard = self.insert_new(&expansions);
        self.extend_frontier(&expansions, &new_by_shard, time);
        lock(&self.spare_expansions).extend(expansions.into_iter().map(ChunkExpansion::cleared));
        let bytes = self.bytes();
        self.found.bytes_peak = self.found.bytes_peak.max(bytes);
        // New worlds are stored twice until they are in the frontier.
        let new_by_shard: usize = new_by_shard.iter().map(Vec::len).sum();
        let passing = new_by_shard * (self.stride() * size_of::<u32>() + size_of::<NewWorld>());
        self.growth = bytes.saturating_sub(before) + passing;
    }

    fn expand_chunks(&mut self, block: Range<usize>, time: bool) -> Vec<ChunkExpansion> {
        let (stride, exact) = (self.stride(), self.search.config.stores_whole_states);
        let (frontier, spare_expansions, stop) =
            (&self.frontier, &self.spare_expansions, &self.search.stop);
        let chunks = block.len().div_ceil(CHUNK_STATES);
        run_jobs(&mut self.workers, chunks, |worker, chunk| {
            let spare = lock(spare_expansions).pop();
            let mut expansion = spare.unwrap_or_else(ChunkExpansion::new);
            let mut parents = std::mem::take(&mut expansion.parents);
            let begin = block.start + chunk * CHUNK_STATES;
            frontier.read(begin..(begin + CHUNK_STATES).min(block.end), &mut parents);
            for (index, id) in parents.ids.iter().enumerate() {
                let (world, parent) = (parents.world(index, stride), chunk * CHUNK_STATES + index);
                expansion.expand_catching_panics(worker, world, *id, parent as u32, (exact, time));
                if expansion.panicked.is_some() || stop.must_stop_search() {
                    break;
                }
            }
            ChunkExpansion { parents, ..expansion }
        })
    }

    /// Inserts the candidates into the visited set, in parallel for each shard. Returns, for each
    /// shard, the global states that were not visited before.
    fn insert_new(&mut self, expansions: &[ChunkExpansion]) -> Vec<Vec<NewWorld>> {
        let (stride, exact) = (self.stride(), self.search.config.stores_whole_states);
        let keeps_edges = self.search.keeps_edges;
        let shards = &self.shards;
        let new_by_shard = run_jobs(&mut self.workers, SHARD_COUNT, |_, number| {
            let mut shard = lock(&shards[number]);
            let mut new_by_shard = Vec::new();
            for expansion in expansions {
                let candidates = &expansion.candidates[number];
                for (index, candidate) in candidates.iter().enumerate() {
                    if index % PREFETCH == 0 {
                        let next = candidates[index..].iter().take(PREFETCH);
                        shard.prefetch(next.map(|candidate| candidate.key));
                    }
                    let from = expansion.parents.ids[candidate.parent as usize % CHUNK_STATES];
                    let origin = Origin { parent: from, action: candidate.action };
                    let world: &[u32] = if exact {
                        &expansion.worlds[number][index * stride..][..stride]
                    } else {
                        &[]
                    };
                    let insertion = shard.insert(candidate.key, origin, world);
                    if let InsertionResult::New(id) = insertion {
                        new_by_shard.push(NewWorld::of(id, candidate));
                    }
                    if keeps_edges {
                        let to = match insertion {
                            InsertionResult::New(id) => id,
                            InsertionResult::Known(slot) => shard.id_at(slot),
                        };
                        shard.edges.push(GraphEdge { from, to, label: candidate.label });
                    }
                }
            }
            new_by_shard
        });
        if keeps_edges {
            let mut shard = lock(&shards[0]);
            for expansion in expansions {
                for (parent, label) in &expansion.out_of_bounds {
                    let from = expansion.parents.ids[*parent as usize % CHUNK_STATES];
                    shard.edges.push(GraphEdge { from, to: StateId::OUT_OF_BOUNDS, label: *label });
                }
            }
        }
        new_by_shard
    }

    /// Builds the new global states in parallel, and adds them to a frontier in the order of their
    /// parents. Neighbours are then similar and take little memory when they are packed. If `time`
    /// is true, adds them to the current frontier, because only time has passed since their
    /// parents. If `time` is false, adds them to the next frontier.
    fn extend_frontier(
        &mut self,
        expansions: &[ChunkExpansion],
        new: &[Vec<NewWorld>],
        time: bool,
    ) {
        let stride = self.stride();
        let (measuring, stop) = (self.search.measuring_monitor, &self.search.stop);
        let annotates = self.search.keeps_edges || measuring.is_some();
        let new_worlds = run_jobs(&mut self.workers, expansions.len(), |worker, chunk| {
            let begin = chunk * CHUNK_STATES;
            let mut new_worlds = NewWorlds::of_parents(new, begin..begin + CHUNK_STATES);
            new_worlds.worlds.reserve(new_worlds.new_by_shard.len() * stride);
            for new in &new_worlds.new_by_shard {
                if stop.must_stop_check() {
                    break;
                }
                let first = new_worlds.worlds.len();
                let parent = expansions[chunk].parents.world(new.parent as usize - begin, stride);
                new_worlds.worlds.extend_from_slice(parent.world);
                let world = &mut new_worlds.worlds[first..];
                let result = worker.perform_without_undo(world, parent.fingerprint, new.action);
                let result = result.expect("a possible step stays possible");
                assert_eq!(result.key, new.key, "a repeated step has the same result");
                new_worlds.fingerprints.push(result.fingerprint);
                if annotates {
                    new_worlds.annotations.push(state_annotations(worker, world, measuring));
                }
            }
            new_worlds
        });
        // A stopped search never expands the new worlds.
        if stop.must_stop_check() {
            return;
        }
        for new_worlds in new_worlds {
            let ids = new_worlds.new_by_shard.iter().map(|new| new.id);
            let level = if time { &mut self.frontier } else { &mut self.next };
            level.add(ids, &new_worlds.fingerprints, &new_worlds.worlds);
            for (new, annotations) in new_worlds.new_by_shard.iter().zip(new_worlds.annotations) {
                self.keep_annotations(new.id, annotations);
            }
        }
        let level = if time { &mut self.frontier } else { &mut self.next };
        let packed =
            run_jobs(&mut self.workers, level.chunks_to_pack(), |_, chunk| level.pack(chunk));
        level.replace_by_packed(packed);
    }

    fn keep_annotations(&mut self, id: StateId, annotations: StateAnnotations) {
        if self.search.keeps_edges {
            let mut shard = lock(&self.shards[id.shard()]);
            let worlds = shard.len();
            shard.marks.resize(worlds, 0);
            shard.marks[id.index()] = annotations.marks;
        }
        let most = &mut self.found.greatest_measured;
        if most.is_none_or(|(most, _)| annotations.measure > most) {
            *most = Some((annotations.measure, id));
        }
    }

    /// Records the present number of global states in each shard as the beginning of a new level.
    fn mark_level(&mut self) {
        for (levels, shard) in self.found.levels.iter_mut().zip(&self.shards) {
            levels.push(lock(shard).len() as u32);
        }
    }

    /// Returns true if all properties in `wanted` are violated, and the search has no other
    /// purpose.
    fn all_decided(&self) -> bool {
        let wanted = self.search.judged_property_bits;
        let mut violations = self.found.violations.iter().enumerate();
        let decided = violations.all(|(index, found)| wanted & 1 << index == 0 || found.is_some());
        wanted != 0
            && decided
            && !self.search.keeps_edges
            && self.search.measuring_monitor.is_none()
    }

    /// Returns the reason why the search ends now instead of expanding the next block of states.
    /// Returns `None` if the search continues. Reports the progress first, unless the search ends
    /// because all properties are decided. `waiting` is the number of states of the frontier that
    /// are not expanded yet.
    fn reason_to_end(&mut self, waiting: usize) -> Option<SearchEnd> {
        if self.all_decided() {
            return Some(SearchEnd::Decided);
        }
        let (worlds, edges) = self.sizes();
        let bytes = self.bytes();
        let elapsed = self.started.elapsed();
        if let Some(report) = &self.search.config.on_progress {
            let (states, waiting) = (worlds as u64, waiting as u64);
            report(&SearchProgress { states, depth: self.found.depth, waiting, bytes, elapsed });
        }
        let limits = self.search.config.limits;
        if limits.search_time_limit(self.search.keeps_edges).is_some_and(|most| elapsed >= most) {
            self.search.stop.raise(SignalledLimit::SearchTime);
        }
        if self.search.stop.must_stop_search() {
            return self.search.stop.reached_limit().map(SearchEnd::Limited);
        }
        // The next block needs memory, and so does the analysis of the graph.
        let kept = self.search.keeps_edges;
        let threads = analysis_thread_count(&self.workers);
        let later = if kept { StateGraph::bytes_needed(worlds, edges, threads) } else { 0 };
        limits.reached_limit(worlds as u64, bytes, self.growth + later).map(SearchEnd::Limited)
    }

    fn limit_within_block(&self) -> Option<StopReason> {
        self.search.stop.must_stop_search().then(|| self.search.stop.reached_limit()).flatten()
    }

    /// Returns the number of visited global states and the number of stored edges.
    fn sizes(&self) -> (usize, usize) {
        let sizes = self.shards.iter().map(|shard| {
            let shard = lock(shard);
            (shard.len(), shard.edges.len())
        });
        sizes.fold((0, 0), |(worlds, edges), (more, of_them)| (worlds + more, edges + of_them))
    }

    /// Ends the search. The global states of the frontier from index `begin` on and all global
    /// states of the next frontier stay unexpanded.
    fn end(&mut self, ended: SearchEnd, begin: usize) {
        self.found.ended = ended;
        // Without edges, no analysis reads the unexpanded worlds.
        if self.search.keeps_edges {
            self.found.unexpanded =
                self.frontier.ids_from(begin).chain(self.next.ids_from(0)).collect();
        }
    }

    fn bytes(&self) -> usize {
        let shards: usize = self.shards.iter().map(|shard| lock(shard).bytes()).sum();
        let workers: usize = self.workers.iter().map(|worker| worker.cache.bytes()).sum();
        let rules = &self.search.rules;
        let interned = rules.model.bytes() + rules.network.bytes();
        let expansions: usize =
            lock(&self.spare_expansions).iter().map(ChunkExpansion::bytes).sum();
        shards + workers + interned + expansions + self.frontier.bytes() + self.next.bytes()
    }

    fn stride(&self) -> usize {
        self.search.rules.layout.stride()
    }

    fn finish(mut self) -> SearchResult {
        self.mark_level();
        let unlock =
            |shard: Mutex<Shard>| shard.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.found.shards = self.shards.into_iter().map(unlock).collect();
        self.found.workers = self.workers;
        self.found
    }
}

/// New global states whose parents all belong to one chunk. The states are in the order of their
/// parents.
struct NewWorlds {
    new_by_shard: Vec<NewWorld>,
    fingerprints: Vec<u64>,
    worlds: Vec<u32>,
    annotations: Vec<StateAnnotations>,
}

impl NewWorlds {
    fn of_parents(new_by_shard: &[Vec<NewWorld>], parents: Range<usize>) -> Self {
        let before = |index: usize| move |new: &NewWorld| (new.parent as usize) < index;
        // Shards are filled chunk by chunk, so the worlds of a chunk are contiguous in each shard.
        let mut mine: Vec<NewWorld> = Vec::new();
        for list in new_by_shard {
            let begin = list.partition_point(before(parents.start));
            let end = begin + list[begin..].partition_point(before(parents.end));
            mine.extend_from_slice(&list[begin..end]);
        }
        mine.sort_unstable_by_key(|new| (new.parent, new.action.0));
        let (fingerprints, worlds, annotations) = (Vec::new(), Vec::new(), Vec::new());
        NewWorlds { new_by_shard: mine, fingerprints, worlds, annotations }
    }
}

impl NewWorld {
    fn of(id: StateId, candidate: &CandidateSuccessor) -> Self {
        let CandidateSuccessor { key, parent, action, .. } = *candidate;
        NewWorld { id, key, parent, action }
    }
}

fn lock<T>(guarded: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}
