//! From a name to a check of its type.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tenure_algorithms::catalogue::{Parameters, Visitor};
use tenure_check::{Check, Progress, Refusal, Report, Service};
use tenure_core::monitors::{
    Agreement, Bypass, Fencing, MutualExclusion, OneLeader, Order, Scope, Validity,
};
use tenure_core::{
    Algorithm, Card, Detection, Election, Mutex, Property, Protocol, Timing, Topology,
};

use super::options::{Options, Reduce};
use crate::cmd::failure::Failure;
use crate::cmd::group::Listed;
use crate::cmd::interrupt;

/// Beyond this many entries past a waiting process, they are as good as endless.
const MOST_COUNTED: u32 = 16;

/// A check that only lacks its protocol's type.
pub(super) struct Perform<'a> {
    pub(super) options: &'a Options,
    pub(super) parameters: &'a Parameters,
    pub(super) card: &'a Card,
    pub(super) properties: Vec<Property>,
}

impl Visitor for Perform<'_> {
    type Output = Result<Report, Failure>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        let told =
            self.options.app_messages > 0 || self.properties.contains(&Property::OrderWithMessages);
        if !told || !self.properties.contains(&Property::Order) {
            return self.lock::<P>(config, &self.properties, self.options.app_messages);
        }
        // Without the application's causality its messages change nothing: they stay away.
        let (order, others): (Vec<Property>, Vec<Property>) =
            self.properties.iter().partition(|property| **property == Property::Order);
        let alone = self.lock::<P>(config.clone(), &order, 0)?;
        if others.is_empty() {
            return Ok(alone);
        }
        Ok(self.lock::<P>(config, &others, self.options.app_messages)?.and(alone))
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output {
        let mut check = self.prepare::<P>(config);
        for property in &self.properties {
            check = match property {
                Property::Agreement => check.in_the_end(Agreement::new()),
                Property::Validity => check.in_the_end(self.validity()),
                Property::OneLeaderAtATime => check.always(OneLeader::new(Scope::Overall)),
                Property::OneLeaderPerTerm => check.always(OneLeader::new(Scope::PerTerm)),
                Property::Progress => check.progress(),
                _ => unreachable!("a property of locks was refused for an election"),
            };
        }
        report_of(check)
    }
}

impl Perform<'_> {
    fn validity(&self) -> Validity {
        Validity::new(self.parameters.ranks.to_vec()).without(self.options.group.down())
    }

    /// Judges these properties of a lock in one search.
    fn lock<P: Mutex + Algorithm>(
        &self,
        config: P::Config,
        properties: &[Property],
        app_messages: u32,
    ) -> Result<Report, Failure> {
        let mut check = self.prepare::<P>(config).application_messages(app_messages);
        for property in properties {
            check = match property {
                Property::MutualExclusion => check.always(MutualExclusion::new()),
                Property::AtMost(most) => check.always(MutualExclusion::at_most(*most)),
                Property::Fencing => check.always(Fencing::new()),
                Property::Order => check.always(Order::new()),
                Property::OrderWithMessages => {
                    check.application_messages(app_messages.max(1)).always(Order::with_messages())
                }
                Property::NoStarvation => check.always(Bypass::at_most(1)),
                Property::Bypass => check.measuring_bypass(MOST_COUNTED),
                Property::Progress => check.progress(),
                _ => unreachable!("a property of elections was refused for a lock"),
            };
        }
        report_of(check)
    }

    /// Everything but the properties.
    fn prepare<P: Algorithm>(&self, config: P::Config) -> Check<P>
    where
        P::Command: Service<Event = P::Event>,
    {
        let (options, group) = (self.options, &self.options.group);
        let size = self.parameters.size;
        let mut check = Check::<P>::with(size, config)
            .named(self.card.name.clone())
            .entries(options.entries(size))
            .down(group.down().iter().copied())
            .channel(group.order().unwrap_or(self.card.order))
            .losing(options.lose)
            .duplicating(options.duplicate)
            .crashing(options.crash)
            .recovering(options.recover)
            .suspecting_falsely(options.false_suspicion)
            .in_flight(options.in_flight.max(1) as usize)
            .term_max(options.term_max)
            .stop_when(interrupt::flag());
        if let Some(initiators) = group.initiators() {
            check = check.initiators(initiators.iter().copied());
        }
        if self.card.detection != Detection::None {
            check = check.detecting();
        }
        if group.timing().unwrap_or(self.card.timing) == Timing::Synchronous {
            check = check.synchronous(options.latency.clone().unwrap_or(0..=1));
        }
        if let Some(Listed(side)) = &options.partition {
            check = check.partitioning(side.iter().copied());
        }
        if options.reduce == Reduce::Auto {
            check = check.rebasing();
            if self.card.topology == Topology::UnidirectionalRing {
                check = check.ample();
            }
        }
        if !group.beyond_assumptions {
            check = check.assuming(self.card);
        }
        if options.exact {
            check = check.exact();
        }
        self.limit(check)
    }

    fn limit<P: Protocol>(&self, mut check: Check<P>) -> Check<P>
    where
        P::Command: Service<Event = P::Event>,
    {
        let options = self.options;
        if let Some(threads) = options.threads.filter(|threads| *threads > 0) {
            check = check.threads(threads);
        }
        if let Some(states) = options.max_states {
            check = check.max_states(states);
        }
        if let Some(bytes) = options.max_memory {
            check = check.max_memory(bytes);
        }
        if let Some(time) = options.max_time {
            check = check.max_time(time);
        }
        if std::io::stderr().is_terminal() {
            check = check.on_progress(line());
        }
        check
    }
}

/// Runs a check. A handler that panics is no wrong usage: the algorithm is.
fn report_of<P: Protocol>(check: Check<P>) -> Result<Report, Failure>
where
    P::Command: Service<Event = P::Event>,
{
    check.try_run().map_err(|refusal| match refusal {
        Refusal::Panicked { .. } => Failure::violated(refusal),
        Refusal::Weaker { algorithm, weakness } => Failure::weaker(&algorithm, &weakness),
        refusal => Failure::usage(refusal),
    })
}

/// A line on standard error that follows the search; it vanishes at the end.
fn line() -> impl FnMut(&Progress) + Send + 'static {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {spinner} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    move |progress| {
        bar.set_message(format!(
            "{} states, {:.0} a second, depth {}, {} to extend, {} MB",
            progress.states,
            progress.states_per_second(),
            progress.depth,
            progress.waiting,
            progress.bytes >> 20
        ));
    }
}
