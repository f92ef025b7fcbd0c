//! View of a global state for the evaluation of expressions, with a cache per thread.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tenure_trace::property::{ServiceFacts, StateView, StepFacts, VariableAssignment};
use tenure_trace::state::debug_tree;

use crate::model::cache::{StepCache, entry_for_id};
use crate::model::fingerprint::BuildFoldHasher;
use crate::world::rules::SearchRules;

/// For each message name, the number of messages with this name in a queue.
type QueueCounts = Arc<[(&'static str, u64)]>;

/// Cache of one thread: facts about the parts of global states, by the ids of these parts.
#[derive(Debug, Default)]
pub(crate) struct CustomPropertyCache {
    /// For each state of the monitor that collects facts, by id: the facts.
    facts: Vec<Option<Arc<ServiceFacts>>>,
    /// For each observation, by id: the facts about the step.
    steps: Vec<Option<StepFacts>>,
    /// For each local state, by its id: the state of the process as a tree of values. An element is
    /// `None` if the tree is not cached, and `Some(None)` if the process is down.
    states: Vec<Option<Option<Arc<Value>>>>,
    /// For each queue of a link, by id: the numbers of its messages.
    queues: Vec<Option<QueueCounts>>,
    /// Cached results of properties that do not read messages. A key begins with four numbers:
    ///
    /// - the index of the property
    /// - the id of the collected facts
    /// - the id of the commands and events of the step, or 0 if the property does not read them
    /// - the assignments for which an event was still due before the step, as bits
    ///
    /// If the property reads more than commands and events, the ids of the local states follow.
    pub(super) results: HashMap<Box<[u32]>, EvaluationResult, BuildFoldHasher>,
    /// Memory for the key of the next lookup in `results`.
    pub(super) key: Vec<u32>,
    /// Violated properties. Each element is a pair: the index of the property, and the last
    /// combination of variable values that violated it. The explanation of a counterexample reads
    /// these values.
    pub(crate) violated: Vec<(usize, VariableAssignment)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct EvaluationResult {
    /// One bit for each combination of values of the variables of a liveness property. A bit is set
    /// if an event is still due for its combination after the step. 0 for a safety property.
    pub(super) pending: u32,
    /// Values of the variables that violate a safety property. `None` if the property holds in the
    /// state, and for a liveness property.
    pub(super) violated: Option<VariableAssignment>,
}

/// A global state and the step that led to it.
pub(crate) struct ReachedStateView<'a> {
    pub(crate) rules: &'a SearchRules,
    pub(crate) model: &'a mut StepCache,
    pub(crate) cache: &'a mut CustomPropertyCache,
    pub(crate) world: &'a [u32],
    pub(crate) services: Arc<ServiceFacts>,
    pub(crate) step: StepFacts,
    /// Names of the messages that the step sent, each with the receiver.
    pub(crate) sent: &'a [(&'static str, u32)],
}

/// Number of results at which the cache of results is emptied.
const MAX_RESULTS: usize = 1 << 16;

impl CustomPropertyCache {
    /// Caches a result. If the cache is full, empties it first.
    pub(super) fn cache_result(&mut self, key: &[u32], result: &EvaluationResult) {
        if self.results.len() >= MAX_RESULTS {
            self.results.clear();
        }
        self.results.insert(key.into(), result.clone());
    }

    /// Returns the facts that a monitor has collected. `monitor` is the index of this monitor, and
    /// `state` is the id of its interned state. At most one monitor of a search collects facts, so
    /// the facts are cached by `state` alone.
    pub(crate) fn service_facts(
        &mut self,
        rules: &SearchRules,
        monitor: usize,
        state: u32,
    ) -> Arc<ServiceFacts> {
        let compute = || rules.model.service_facts(monitor, state);
        Arc::clone(entry_for_id(&mut self.facts, state).get_or_insert_with(compute))
    }

    pub(crate) fn step_facts(&mut self, rules: &SearchRules, observation: u32) -> StepFacts {
        let compute = || rules.model.step_facts(observation);
        *entry_for_id(&mut self.steps, observation).get_or_insert_with(compute)
    }

    fn queue(&mut self, rules: &SearchRules, id: u32) -> QueueCounts {
        let compute = || {
            let mut counts: Vec<(&'static str, u64)> = Vec::new();
            for packet in rules.network.packets_in(id) {
                let message = rules.network.packet_by_id(packet).message;
                let name = message_name(rules, message);
                match counts.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((name, 1)),
                }
            }
            counts.into()
        };
        Arc::clone(entry_for_id(&mut self.queues, id).get_or_insert_with(compute))
    }
}

/// Returns the name of a message of the protocol. The id 0 denotes a message between applications,
/// whose name is `application`.
pub(crate) fn message_name(rules: &SearchRules, message: u32) -> &'static str {
    if message == 0 { "application" } else { rules.model.message_name(message) }
}

impl StateView for ReachedStateView<'_> {
    fn services(&self) -> &ServiceFacts {
        &self.services
    }

    fn step(&self) -> &StepFacts {
        &self.step
    }

    fn is_crashed(&mut self, at: u32) -> bool {
        self.model.local_facts(self.world[at as usize]).down
    }

    fn suspects(&mut self, at: u32, peer: u32) -> bool {
        self.model.local_facts(self.world[at as usize]).suspected & 1 << peer != 0
    }

    fn in_flight(&mut self, message: &str, from: Option<u32>, to: Option<u32>) -> u64 {
        let layout = self.rules.layout;
        let mut found = 0;
        for slot in layout.link_slots() {
            let id = self.world[slot];
            let is_meant = from.is_none_or(|from| layout.sender(slot) == from as usize)
                && to.is_none_or(|to| layout.receiver(slot) == to as usize);
            if id != 0 && is_meant {
                let counts = self.cache.queue(self.rules, id);
                let counted = counts.iter().filter(|(name, _)| *name == message);
                found += counted.map(|(_, count)| count).sum::<u64>();
            }
        }
        found
    }

    fn sent_in_step(&mut self, message: &str, from: Option<u32>, to: Option<u32>) -> u64 {
        let by = self.step.at.is_some_and(|at| from.is_none_or(|from| from == at.0));
        let is_meant = |sent: &&(&str, u32)| sent.0 == message && to.is_none_or(|to| to == sent.1);
        if by { self.sent.iter().filter(is_meant).count() as u64 } else { 0 }
    }

    fn state(&mut self, at: u32) -> Option<Arc<Value>> {
        let id = self.world[at as usize];
        let compute = || self.rules.model.state_text(id).map(|text| Arc::new(debug_tree(&text)));
        entry_for_id(&mut self.cache.states, id).get_or_insert_with(compute).clone()
    }
}
