//! What is asked of the checker, which only lacks its protocol's type.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tenure_check::{Check, Checkable, EntriesOfAll, Progress, ReadMemory, Refusal, Report, Saving};
use tenure_core::monitors::{
    Agreement, AnyAgreement, Bypass, Fencing, FreshTerms, MutualExclusion, OneLeader,
    Order as InOrder, Scope, Spending, SteadyLeader, Validity,
};
use tenure_core::{
    Algorithm, Card, Detection, Election, Mutex, Order, ProcessId, Property, Rank, Timing, Topology,
};

use tenure_trace::{Action, Course, FollowError, Trace};

/// Beyond this many entries past a waiting process, they are as good as endless.
const MOST_COUNTED: u32 = 16;

/// Who follows a search.
pub type Watch = Box<dyn FnMut(&Progress) + Send>;

/// A check that only lacks its protocol's type; what it leaves open follows from the card.
#[derive(Clone, Debug)]
pub struct Examination {
    /// How many processes there are.
    pub size: u32,
    /// By process: what decides elections.
    pub ranks: Arc<[Rank]>,
    /// What is judged.
    pub properties: Vec<Property>,
    /// How often each user asks to enter.
    pub entries: EntriesOfAll,
    /// Whose users start an election; everybody's where nothing is said.
    pub initiators: Option<Vec<ProcessId>>,
    /// Who has crashed before the start.
    pub down: Vec<ProcessId>,
    /// Which messages of a link may arrive next.
    pub order: Option<Order>,
    /// What is known about time.
    pub timing: Option<Timing>,
    /// What a message may take in synchronous time, in whole units.
    pub latency: RangeInclusive<u32>,
    /// How many messages may be lost.
    pub lose: u32,
    /// How many messages may arrive twice.
    pub duplicate: u32,
    /// How many processes may crash.
    pub crash: u32,
    /// How many may come back.
    pub recover: u32,
    /// What a crash can come between where something is saved.
    pub saving: Saving,
    /// Who may be cut off from the others.
    pub partition: Option<Vec<ProcessId>>,
    /// How often a live process may be suspected.
    pub false_suspicion: u32,
    /// Whether whoever comes back is met by the others in a new session.
    pub new_sessions: bool,
    /// How many messages applications may send each other.
    pub app_messages: u32,
    /// How many messages a link holds.
    pub in_flight: usize,
    /// Whether worlds are cut where a link is full, though messages may be lost.
    pub cuts_when_full: bool,
    /// What happens before the search begins.
    pub after: Vec<Action>,
    /// Worlds with a higher term are cut.
    pub term_max: u64,
    /// Whether it goes beyond what the card assumes.
    pub beyond_assumptions: bool,
    /// Whether worlds that differ only in where they stand are taken for one.
    pub reduces: bool,
    /// Whether whole states are kept instead of fingerprints.
    pub exact: bool,
    /// How many threads search; all cores where nothing is said.
    pub threads: Option<usize>,
    /// Stops at about so many states.
    pub max_states: Option<u64>,
    /// Stops at about so many bytes.
    pub max_memory: Option<u64>,
    /// Reads how much memory the process holds, which counts towards `max_memory`.
    pub read_memory: Option<ReadMemory>,
    /// Stops after so long.
    pub max_time: Option<Duration>,
    /// Stops soon after it is raised.
    pub stop: Arc<AtomicBool>,
    /// Makes somebody who follows each search.
    pub watch: Option<fn() -> Watch>,
}

/// Checks a lock.
pub(crate) fn of_lock<P: Mutex + Algorithm>(
    asked: &Examination,
    config: &P::Config,
) -> Result<Report, Refusal> {
    let told = asked.app_messages > 0 || asked.properties.contains(&Property::OrderWithMessages);
    let started = Instant::now();
    let judged = |properties: &[Property], app_messages: u32| {
        let asked = asked.after(started.elapsed());
        let mut check = asked.of::<P>(config).application_messages(app_messages);
        for property in properties {
            check = match property {
                Property::MutualExclusion => check.always(MutualExclusion::new()),
                Property::AtMost(most) => check.always(MutualExclusion::at_most(*most)),
                Property::Fencing => check.always(Fencing::new()),
                Property::Order => check.always(InOrder::new()),
                Property::OrderWithMessages => {
                    check.application_messages(app_messages.max(1)).always(InOrder::with_messages())
                }
                Property::Bypass(None) => check.measuring_bypass(MOST_COUNTED),
                Property::Bypass(Some(most)) => check.always(Bypass::at_most(*most)),
                Property::DeadlockFreedom => check.deadlock_free(),
                Property::StarvationFreedom => check.starvation_free(),
                Property::Progress => check.progress(),
                Property::Topology => check.round(P::card(config, asked.size).topology),
                Property::Cost => match Spending::within(&P::card(config, asked.size).messages) {
                    // What is missing is known in the end.
                    Some(spending) => check.in_the_end(spending),
                    None => check,
                },
                other => panic!("{other} is nothing that a checker judges of a lock"),
            };
        }
        check.try_run()
    };
    if !told || !asked.properties.contains(&Property::Order) {
        return judged(&asked.properties, asked.app_messages);
    }
    // Without the application's causality its messages change nothing: they stay away.
    let (order, others): (Vec<Property>, Vec<Property>) =
        asked.properties.iter().partition(|property| **property == Property::Order);
    let alone = judged(&order, 0)?;
    if others.is_empty() {
        return Ok(alone);
    }
    Ok(judged(&others, asked.app_messages)?.and(alone))
}

/// Checks an election.
pub(crate) fn of_election<P: Election + Algorithm>(
    asked: &Examination,
    config: &P::Config,
) -> Result<Report, Refusal> {
    let mut check = asked.of::<P>(config);
    for property in &asked.properties {
        check = match property {
            Property::Agreement => check.in_the_end(Agreement::new()),
            Property::Validity => {
                check.in_the_end(Validity::new(asked.ranks.to_vec()).without(&asked.down))
            }
            Property::OneLeaderAtATime => check.always(OneLeader::new(Scope::Overall)),
            Property::OneLeaderPerTerm => check.always(OneLeader::new(Scope::PerTerm)),
            Property::FreshTerms => check.always(FreshTerms::new()),
            Property::SteadyLeader => check.always(SteadyLeader::of(asked.size)),
            Property::Progress => check.progress(),
            Property::Topology => check.round(P::card(config, asked.size).topology),
            Property::Cost => match Spending::within(&P::card(config, asked.size).messages) {
                Some(spending) => check.always(spending),
                None => check,
            },
            other => panic!("{other} is nothing that a checker judges of an election"),
        };
    }
    check.try_run()
}

/// Checks any service of agreement.
pub(crate) fn of_agreement<P: tenure_core::Agreement + Algorithm>(
    asked: &Examination,
    config: &P::Config,
) -> Result<Report, Refusal> {
    let service = P::card(config, asked.size).service;
    let mut check = asked.of::<P>(config);
    for property in &asked.properties {
        let monitor = AnyAgreement::of(service, *property, asked.size, &asked.down);
        check = match monitor {
            Some(monitor) if monitor.judges_the_end() => check.in_the_end(monitor),
            Some(monitor) => check.always(monitor),
            None if *property == Property::Progress => check.progress(),
            None => panic!("{property} is nothing that a checker judges of a {}", service.name()),
        };
    }
    check.try_run()
}

/// One run in the checker.
pub(crate) fn retraced<P: Algorithm + Checkable>(
    course: &Course,
    config: &P::Config,
) -> Result<Trace, FollowError<Refusal>> {
    let Card { name, service, .. } = P::card(config, course.size);
    Check::<P>::with(course.size, config.clone()).named(name).serving(service).follow(course)
}

impl Examination {
    /// The same for a search that begins so much later: all searches share the time.
    fn after(&self, elapsed: Duration) -> Self {
        let max_time = self.max_time.map(|time| time.saturating_sub(elapsed));
        Examination { max_time, ..self.clone() }
    }

    /// Everything but the properties.
    fn of<P: Algorithm + Checkable>(&self, config: &P::Config) -> Check<P> {
        let card = P::card(config, self.size);
        let mut check = Check::<P>::with(self.size, config.clone())
            .serving(card.service)
            .entries(self.entries.clone())
            .down(self.down.iter().copied())
            .channel(self.order.unwrap_or(card.order))
            .losing(self.lose)
            .duplicating(self.duplicate)
            .crashing(self.crash)
            .recovering(self.recover)
            .suspecting_falsely(self.false_suspicion)
            .in_flight(self.in_flight.max(1))
            .after(self.after.iter().cloned())
            .term_max(self.term_max)
            .stop_when(Arc::clone(&self.stop));
        if let Some(initiators) = &self.initiators {
            check = check.initiators(initiators.iter().copied());
        }
        if card.detection != Detection::None {
            check = check.detecting();
        }
        if self.timing.unwrap_or(card.timing) == Timing::Synchronous {
            check = check.synchronous(self.latency.clone());
        }
        check = check.saving(self.saving);
        if self.cuts_when_full {
            check = check.cutting_when_full();
        }
        if self.new_sessions {
            check = check.meeting_new_sessions();
        }
        if let Some(side) = &self.partition {
            check = check.partitioning(side.iter().copied());
        }
        if self.reduces {
            check = check.rebasing();
            if card.topology == Topology::UnidirectionalRing {
                check = check.ample();
            }
        }
        if !self.beyond_assumptions {
            check = check.assuming(&card);
        }
        if self.exact {
            check = check.exact();
        }
        self.limited(check.named(card.name))
    }

    fn limited<P: Algorithm + Checkable>(&self, mut check: Check<P>) -> Check<P> {
        if let Some(threads) = self.threads {
            check = check.threads(threads);
        }
        if let Some(states) = self.max_states {
            check = check.max_states(states);
        }
        if let Some(bytes) = self.max_memory {
            check = check.max_memory(bytes);
        }
        if let Some(read) = self.read_memory {
            check = check.reading_memory_by(read);
        }
        if let Some(time) = self.max_time {
            check = check.max_time(time);
        }
        match self.watch {
            Some(watch) => check.on_progress(watch()),
            None => check,
        }
    }
}
