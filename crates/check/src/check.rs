//! A check, as a reader of a test reads it.

use std::any::type_name;
use std::ops::RangeInclusive;

use tenure_core::monitors::Neighbours;
use tenure_core::service::{agreement, mutex};
use tenure_core::{
    Algorithm, Card, Layer, Monitor, Need, Order, ProcessId, Property, Protocol, Service, Stamped,
    Topology,
};
use tenure_trace::{Action, Spoken};

use crate::limits::{Limits, Progress, Stop};
use crate::model::bypass::Bypassed;
use crate::model::judge::{Interning, Judge};
use crate::model::processes::TermBound;
use crate::reduce::shifts::Shifts;
use crate::reduce::symmetry::{Symmetric, Symmetry};
use crate::users::crashing::{Crashing, Moment, Saving};
use crate::users::entries::Entries;
use crate::users::entries::EntriesOfAll;
use crate::users::stamping::Stamping;
use crate::users::user::Checkable;
use crate::world::{Fault, Faults, MOST_FAULTS};

/// A check of a protocol: what it explores, what it decides, and where it stops.
///
/// ```
/// use tenure_check::Check;
/// use tenure_core::monitors::MutualExclusion;
/// # fn check<P>()
/// # where
/// #     P: tenure_core::Mutex,
/// #     P::Config: Default,
/// # {
/// Check::<P>::of(3)
///     .entries([2, 1, 1])
///     .losing(1)
///     .always(MutualExclusion::new())
///     .run()
///     .assert_holds();
/// # }
/// ```
pub struct Check<P: Checkable> {
    pub(crate) name: String,
    pub(crate) size: u32,
    /// What it offers, where the type of its commands does not say it.
    pub(crate) service: Service,
    pub(crate) config: P::Config,
    pub(crate) entries: EntriesOfAll,
    pub(crate) initiators: Option<Vec<ProcessId>>,
    pub(crate) down: Vec<ProcessId>,
    pub(crate) order: Order,
    /// What a message may take, in units of synchronous time.
    pub(crate) synchronous: Option<(u32, u32)>,
    pub(crate) budget: Faults,
    pub(crate) crashes: Crashing,
    /// When effects leave.
    pub(crate) saving: Saving,
    /// Who may be cut off from the others.
    pub(crate) side: Vec<ProcessId>,
    pub(crate) detects: bool,
    /// Whether whoever comes back is met by the others as somebody new.
    pub(crate) sessions: bool,
    /// What users of agreements ask, where one course is followed.
    pub(crate) course: Option<Vec<(ProcessId, agreement::Command)>>,
    pub(crate) in_flight: usize,
    /// Whether worlds are cut where a link is full, though messages may be lost.
    pub(crate) cuts_when_full: bool,
    /// What happens before the search begins.
    pub(crate) after: Vec<Action>,
    pub(crate) term: Option<TermBound<P>>,
    pub(crate) clock_readings: u32,
    pub(crate) shifts: Option<Shifts<P>>,
    pub(crate) symmetry: Option<Symmetry<P>>,
    pub(crate) is_symmetric: bool,
    pub(crate) ample: bool,
    /// Whether a monitor remembers names that do not follow from the processes.
    pub(crate) watches_names: bool,
    pub(crate) judges: Vec<Box<dyn Judge<P::Command, P::Event>>>,
    pub(crate) selected: Vec<Selected>,
    pub(crate) causality: bool,
    pub(crate) application_causality: bool,
    /// Of which layer monitors see messages, if of any.
    pub(crate) watched: Option<Layer>,
    /// Whether they see all of them.
    pub(crate) counts: bool,
    /// The ring, where they see those that leave it.
    pub(crate) ring: Option<Topology>,
    /// How messages of the application carry the protocol's clock, if they do.
    pub(crate) stamping: Option<Stamping<P>>,
    pub(crate) accepts_endless: bool,
    pub(crate) bypass_cap: Option<(usize, u32)>,
    /// The card outside of which it does not go.
    pub(crate) assumes: Option<Card>,
    pub(crate) exact: bool,
    pub(crate) threads: usize,
    pub(crate) limits: Limits,
    pub(crate) stop: Stop,
    pub(crate) on_progress: Option<OnProgress>,
}

/// Who wants to watch a search.
pub(crate) type OnProgress = Box<dyn FnMut(&Progress) + Send>;

/// A property that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    pub(crate) property: Property,
    pub(crate) kind: Asked,
}

/// How a property is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// By the monitor at this place, in every state.
    Always(usize),
    /// By the monitor at this place, in every state and in the end.
    InTheEnd(usize),
    /// Every process that waits is served or informed.
    Progress,
    /// While processes wait for a lock, one enters again and again.
    DeadlockFreedom,
    /// Every process that waits for a lock enters.
    StarvationFreedom,
}

/// Messages under way on one link, unless told otherwise.
const IN_FLIGHT: usize = 4;

impl<P: Checkable> Check<P> {
    /// A check in a group of `size` processes with the default configuration.
    pub fn of(size: u32) -> Self
    where
        P::Config: Default,
    {
        Check::with(size, P::Config::default())
    }

    /// A check in a group of `size` processes.
    ///
    /// Unless told otherwise: one entry for each, channels that reorder, no fault, asynchronous
    /// time, at most 4 messages on a link, no limit, all cores.
    pub fn with(size: u32, config: P::Config) -> Self {
        let name = kebab(type_name::<P>().rsplit("::").next().unwrap_or_default());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Check {
            name,
            size,
            service: P::Command::SERVICE,
            config,
            entries: EntriesOfAll::Each(Entries::AtMost(1)),
            initiators: None,
            down: Vec::new(),
            order: Order::Reordered,
            synchronous: None,
            budget: Faults::default(),
            crashes: Crashing::default(),
            saving: Saving::default(),
            side: Vec::new(),
            detects: false,
            sessions: false,
            course: None,
            in_flight: IN_FLIGHT,
            cuts_when_full: false,
            after: Vec::new(),
            term: None,
            clock_readings: 1,
            shifts: None,
            symmetry: None,
            is_symmetric: false,
            ample: false,
            watches_names: false,
            judges: Vec::new(),
            selected: Vec::new(),
            causality: false,
            application_causality: true,
            watched: None,
            counts: false,
            ring: None,
            stamping: None,
            accepts_endless: false,
            bypass_cap: None,
            assumes: None,
            exact: false,
            threads,
            limits: Limits::default(),
            stop: Stop::default(),
            on_progress: None,
        }
    }

    /// What reports call the algorithm.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Which service it is, where all those of agreement have one type.
    #[must_use]
    pub fn serving(mut self, service: Service) -> Self {
        self.service = service;
        self
    }

    /// How often each user asks to enter: one number, one for each, or [`Entries::Unbounded`].
    #[must_use]
    pub fn entries(mut self, entries: impl Into<EntriesOfAll>) -> Self {
        self.entries = entries.into();
        self
    }

    /// Whose users start an election, each once and at any moment; everybody's by default.
    #[must_use]
    pub fn initiators(mut self, initiators: impl IntoIterator<Item = ProcessId>) -> Self {
        self.initiators = Some(initiators.into_iter().collect());
        self
    }

    /// Who has crashed before the start.
    #[must_use]
    pub fn down(mut self, down: impl IntoIterator<Item = ProcessId>) -> Self {
        self.down = down.into_iter().collect();
        self
    }

    /// Which messages of a link may arrive next.
    #[must_use]
    pub fn channel(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// First in, first out on every link.
    #[must_use]
    pub fn fifo(self) -> Self {
        self.channel(Order::Fifo)
    }

    /// Up to so many messages are lost.
    #[must_use]
    pub fn losing(self, most: u32) -> Self {
        self.budget_of(Fault::Loss, most)
    }

    /// Up to so many messages arrive twice.
    #[must_use]
    pub fn duplicating(self, most: u32) -> Self {
        self.budget_of(Fault::Duplication, most)
    }

    /// Up to so many crashes.
    #[must_use]
    pub fn crashing(self, most: u32) -> Self {
        self.budget_of(Fault::Crash, most)
    }

    /// Only these crash; anybody by default. How often is for [`Check::crashing`] to say.
    #[must_use]
    pub fn crashing_at(mut self, processes: impl IntoIterator<Item = ProcessId>) -> Self {
        self.crashes.at = Some(processes.into_iter().collect());
        self
    }

    /// Processes crash only while their users do this; at any moment by default.
    #[must_use]
    pub fn crashing_while(mut self, moment: Moment) -> Self {
        self.crashes.during = Some(moment);
        self
    }

    /// What a crash can come between where a step changes what is saved; nothing unless told.
    #[must_use]
    pub fn saving(mut self, saving: Saving) -> Self {
        self.saving = saving;
        self
    }

    /// Up to so many recoveries, with what was saved.
    #[must_use]
    pub fn recovering(self, most: u32) -> Self {
        self.budget_of(Fault::Recovery, most)
    }

    /// Detectors suspect a live peer up to so many times.
    #[must_use]
    pub fn suspecting_falsely(self, most: u32) -> Self {
        self.budget_of(Fault::FalseSuspicion, most)
    }

    /// Applications send each other up to so many messages, which carry causality.
    #[must_use]
    pub fn application_messages(self, most: u32) -> Self {
        self.budget_of(Fault::ApplicationMessage, most)
    }

    /// Once and at any moment the network falls into two, for ever: these on one side, the
    /// others on the other. What is under way between them is lost, and all that follows. Where
    /// there are detectors, each side comes to suspect the other.
    #[must_use]
    pub fn partitioning(mut self, side: impl IntoIterator<Item = ProcessId>) -> Self {
        self.side = side.into_iter().collect();
        self.budget_of(Fault::Partition, 1)
    }

    fn budget_of(mut self, fault: Fault, most: u32) -> Self {
        assert!(most <= MOST_FAULTS, "a budget of faults is at most {MOST_FAULTS}");
        self.budget = self.budget.with(fault, most);
        self
    }

    /// Every process has a detector that speaks of each crash, sooner or later, and of everybody
    /// beyond a cut.
    #[must_use]
    pub fn detecting(mut self) -> Self {
        self.detects = true;
        self
    }

    /// What the runtime does where a process has crashed and come back: everybody else who is up
    /// meets it in a new session, sooner or later, and is told that it crashed and, before
    /// anything else happens there, that it is alive. The detector is not asked, and may have
    /// told of the crash before, or never.
    #[must_use]
    pub fn meeting_new_sessions(mut self) -> Self {
        self.sessions = true;
        self
    }

    /// Synchronous time: a step takes none, a message any whole number of units within
    /// `latency`, and a timer fires within its delay.
    #[must_use]
    pub fn synchronous(mut self, latency: RangeInclusive<u32>) -> Self {
        let latency = (*latency.start(), *latency.end());
        assert!(latency.0 <= latency.1, "the least latency is at most the most");
        self.synchronous = Some(latency);
        self
    }

    /// A declared bound: at most so many messages on a link. Where the channel may lose, a
    /// message beyond is dropped; elsewhere worlds beyond are cut off.
    #[must_use]
    pub fn in_flight(mut self, most: usize) -> Self {
        assert!(most > 0, "a link holds at least one message");
        self.in_flight = most;
        self
    }

    /// A message that finds its link full is no loss: worlds with it are cut off, though messages
    /// may be lost. So only those are lost that the budget has, and fewer worlds are looked at.
    #[must_use]
    pub fn cutting_when_full(mut self) -> Self {
        self.cuts_when_full = true;
        self
    }

    /// These steps are taken first, and no others; the search goes on from there. They count
    /// towards all budgets.
    #[must_use]
    pub fn after(mut self, steps: impl IntoIterator<Item = Action>) -> Self {
        self.after = steps.into_iter().collect();
        self
    }

    /// A local clock reads anything below so many units.
    #[must_use]
    pub fn clock_readings(mut self, units: u32) -> Self {
        self.clock_readings = units;
        self
    }

    /// Judges a monitor in every state.
    #[must_use]
    pub fn always<M>(mut self, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let place = self.judge(monitor, false);
        self.selected.push(Selected { property, kind: Asked::Always(place) });
        self
    }

    /// Judges a monitor in every state, and every way in which a run can end or go on for ever.
    #[must_use]
    pub fn in_the_end<M>(mut self, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let place = self.judge(monitor, true);
        self.selected.push(Selected { property, kind: Asked::InTheEnd(place) });
        self
    }

    /// Judges that messages go only to neighbours on a ring. It costs nothing while they do.
    #[must_use]
    pub fn round(mut self, ring: Topology) -> Self {
        self.ring = Some(ring);
        let neighbours = Neighbours::of(ring, self.size);
        self.always(neighbours)
    }

    /// Judges that every process that waits for an answer, an outcome or a leader gets it, under
    /// weak fairness. Of a lock see [`Check::starvation_free`] and [`Check::deadlock_free`].
    #[must_use]
    pub fn progress(self) -> Self {
        self.select(Property::Progress, Asked::Progress)
    }

    /// Judges starvation freedom of a lock (also called lockout freedom): under weak fairness, and
    /// where whoever is inside leaves, every process that waits enters.
    #[must_use]
    pub fn starvation_free(self) -> Self {
        self.select(Property::StarvationFreedom, Asked::StarvationFreedom)
    }

    /// Judges deadlock freedom of a lock: under weak fairness, and where whoever is inside leaves,
    /// some process enters again and again for as long as processes wait.
    #[must_use]
    pub fn deadlock_free(self) -> Self {
        self.select(Property::DeadlockFreedom, Asked::DeadlockFreedom)
    }

    fn select(mut self, property: Property, kind: Asked) -> Self {
        self.selected.push(Selected { property, kind });
        self
    }

    fn judge<M>(&mut self, monitor: M, ends: bool) -> usize
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let counts_only = matches!(property, Property::MutualExclusion | Property::AtMost(_));
        self.watches_names |= !counts_only;
        self.causality |= property.needs() == Need::Clocks;
        if property.needs() == Need::Messages {
            self.watched = P::Command::SERVICE.layer();
            self.counts |= property != Property::Topology;
        }
        let place = self.judges.len();
        self.judges.push(Box::new(Interning::new(monitor, place, ends)));
        place
    }

    /// Where every process sends to its successor only, over links that are first in, first out,
    /// without faults and outside synchronous time: explores one delivery alone where all else
    /// that can happen gives the same after it as before it. Verdicts never depend on it, nor do
    /// counterexamples: what is violated is searched again, without. Elsewhere it does nothing.
    #[must_use]
    pub fn ample(mut self) -> Self {
        self.ample = true;
        self
    }

    /// A declared bound: worlds in which a process has a higher term are cut off.
    #[must_use]
    pub fn term_max_by(mut self, term: fn(&P) -> u64, most: u64) -> Self {
        self.term = Some((term, most));
        self
    }

    /// Accepts endless requests of a protocol whose states do not grow with them.
    #[must_use]
    pub fn without_stamps(mut self) -> Self {
        self.accepts_endless = true;
        self
    }

    /// Counts only the protocol's own messages as causality, and not the application's.
    #[must_use]
    pub fn ignoring_application_causality(mut self) -> Self {
        self.application_causality = false;
        self
    }

    /// Keeps whole states instead of fingerprints.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// How many threads search; the result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Tells, every now and then, how far the search has come.
    #[must_use]
    pub fn on_progress(mut self, watch: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(watch));
        self
    }
}

impl<P: Algorithm + Checkable> Check<P> {
    /// Takes worlds that differ only by a shift of every stamp for one, where the protocol says
    /// how its stamps shift. Endless requests need it; verdicts never depend on it. Nothing is
    /// shifted where processes come back: their clocks may begin at zero again.
    #[must_use]
    pub fn rebasing(mut self) -> Self {
        if P::rebases(&self.config) {
            self.shifts = Some(Shifts::new());
        }
        self
    }

    /// A declared bound: worlds with a higher term are cut off. Where processes come back, there
    /// may be no other end: whoever hears of a leader that its detector still suspects starts
    /// again and again, under ever higher numbers.
    #[must_use]
    pub fn term_max(self, most: u64) -> Self {
        self.term_max_by(P::highest_term, most)
    }
}

impl<P: Stamped + Checkable> Check<P> {
    /// Every message of the application carries its sender's logical clock, of which the
    /// receiver's takes note. Nothing is shifted then.
    #[must_use]
    pub fn stamping_application_messages(mut self) -> Self {
        self.stamping = Some(Stamping::new());
        self
    }
}

impl<P: Symmetric + Checkable> Check<P> {
    /// Takes worlds that differ only by an exchange of these processes' names for one. Only
    /// mutual exclusion is judged then.
    #[must_use]
    pub fn exchanging(mut self, processes: impl IntoIterator<Item = ProcessId>) -> Self {
        let exchanged: Vec<ProcessId> = processes.into_iter().collect();
        self.symmetry = Some(Symmetry::new(self.size, &exchanged));
        self.is_symmetric = true;
        self
    }
}

impl<P> Check<P>
where
    P: Protocol<Command = mutex::Command, Event = mutex::Event>,
{
    /// Measures the exact bypass bound over all schedules: the most entries of one process
    /// during one wait of another. Counting stops at `cap`, to stay finite.
    #[must_use]
    pub fn measuring_bypass(mut self, cap: u32) -> Self {
        let place = self.judge(Bypassed::new(self.size, cap), false);
        self.bypass_cap = Some((place, cap));
        self
    }
}

/// The name of a type as the command line would spell it.
fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}
