//! Exhaustive check of agreement among generals, some of whom lie. It covers every set of liars up
//! to a maximum size, and both orders that a liar can report in each message.

mod record;
mod search;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tenure_core::Property;
use tenure_core::byzantine::General;

use crate::clock::Instant;
use crate::config::OnProgress;
use crate::limits::CheckLimits;
use crate::report::{CheckReport, judgement};

use self::record::counterexample;
use self::search::LieSearch;

/// Configuration of [`check_byzantine_generals`].
#[derive(Clone)]
pub struct ByzantineGeneralsConfig {
    /// Name of the algorithm on the command line.
    pub name: String,
    /// Number of generals.
    pub size: u32,
    /// Maximum number of generals that lie.
    pub max_liars: u32,
    /// Properties to check. [`Property::Agreement`] is condition IC1 of Lamport, Shostak and Pease
    /// (1982), and [`Property::Validity`] is their condition IC2.
    pub properties: Vec<Property>,
    /// Limits on states and time. A limit on memory has no effect, because the search keeps only
    /// one run in memory.
    pub limits: CheckLimits,
    /// Flag that stops the search soon after it is set.
    pub stop_flag: Option<Arc<AtomicBool>>,
    /// Callback that receives the progress of the search at intervals.
    pub on_progress: Option<OnProgress>,
}

impl ByzantineGeneralsConfig {
    /// Creates a configuration that checks agreement and validity, without limits.
    pub fn new(name: impl Into<String>, size: u32, liars: u32) -> Self {
        let properties = vec![Property::Agreement, Property::Validity];
        ByzantineGeneralsConfig {
            name: name.into(),
            size,
            max_liars: liars,
            properties,
            limits: CheckLimits::default(),
            stop_flag: None,
            on_progress: None,
        }
    }
}

/// Explores every behaviour of every set of at most [`ByzantineGeneralsConfig::max_liars`] liars,
/// and judges the properties.
///
/// In a step, the commander gives its order, or a general receives a message. The step includes the
/// messages that the commander or this general sends in reaction. A liar has one step for each
/// combination of true and false orders in the messages that it sends. Messages arrive in the
/// sequence in which they are sent. Another sequence would not change the decision of any general.
///
/// # Panics
///
/// Panics if a property is neither agreement nor validity.
pub fn check_byzantine_generals<G: General>(
    config: &ByzantineGeneralsConfig,
    generals: &G::Config,
) -> CheckReport {
    let started = Instant::now();
    let mut search = LieSearch::new(config);
    search.explore::<G>(generals);
    let judge = |property| judgement(search.violation(property).is_some(), search.limit);
    let properties = config.properties.iter().map(|it| (*it, judge(*it))).collect();
    let found = config.properties.iter().filter_map(|it| search.violation(*it));
    CheckReport {
        algorithm: config.name.clone(),
        size: config.size,
        properties,
        states: search.states,
        transitions: search.states,
        depth: search.depth,
        seconds: started.elapsed().as_secs_f64(),
        counterexamples: found.map(|violation| counterexample(config, violation)).collect(),
        reached_limit: search.limit,
        peak_bytes: search.depth as usize * size_of::<G>() * config.size as usize,
        ..CheckReport::default()
    }
}
