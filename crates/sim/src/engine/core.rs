//! The part of the simulator that does not depend on the protocol: it is compiled once.

use std::collections::BTreeSet;

use tenure_core::monitors::Neighbours;
use tenure_core::service::{agreement, mutex, office};
use tenure_core::{
    AgreementJury, Charge, ElectionJury, Juror, Label, Layer, MutexJury, ProcessId, Service,
};
use tenure_trace::{Kind, Who};

use crate::engine::agenda::{Act, Agenda};
use crate::engine::chats::Chats;
use crate::engine::clocks::Clocks;
use crate::engine::random::Random;
use crate::engine::random::Stream;
use crate::engine::router::Router;
use crate::engine::users::Users;
use crate::figures::elections::{ElectionCounter, Turn};
use crate::figures::metrics::Metrics;
use crate::jury::beliefs::Beliefs;
use crate::jury::causality::{Causality, Through};
use crate::settings::Settings;
use crate::settings::fault::{Chance, Fault, When};
use crate::steer::recorder::Recorder;

/// Everything about a run but the processes, their messages and their timers.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) settings: Settings,
    pub(crate) now: u64,
    pub(crate) up: Vec<bool>,
    pub(crate) live: u64,
    pub(crate) router: Router,
    pub(crate) clocks: Clocks,
    /// What comes before messages at equal times: faults.
    pub(crate) plan: Agenda,
    /// What comes after messages at equal times: timers and users.
    pub(crate) agenda: Agenda,
    pub(crate) users: Option<Users>,
    pub(crate) beliefs: Beliefs,
    pub(crate) mutex: Option<MutexJury>,
    pub(crate) election: Option<ElectionJury>,
    /// Whether users of a service of agreement ask by themselves: not along a course.
    pub(crate) spontaneous: bool,
    /// The users of a service of agreement, and who judges them.
    pub(crate) agreeing: Option<agreement::Users>,
    pub(crate) agreement: Option<AgreementJury>,
    /// When the first of them asked.
    pub(crate) agreeing_since: Option<u64>,
    /// By process: what users of such a service were told, in words.
    pub(crate) told: Vec<Vec<String>>,
    pub(crate) causality: Option<Causality>,
    pub(crate) metrics: Metrics,
    /// Sees that messages stay on the ring, where there is one.
    pub(crate) neighbours: Option<Juror<Neighbours>>,
    pub(crate) recorder: Option<Recorder>,
    /// Whether messages carry a tag: a ticket of the trace, or a clock.
    pub(crate) tagging: bool,
    /// Whether an arriving message may be refused.
    pub(crate) fragile: bool,
    pub(crate) sessions: Vec<u64>,
    pub(crate) tripwires: Vec<Tripwire>,
    /// Crashes while something is saved.
    pub(crate) torn: Vec<Torn>,
    /// How often each fault of the settings has happened.
    pub(crate) fired: Vec<u64>,
    /// How often somebody came back as its crash was to be followed by that.
    pub(crate) comebacks: u64,
    pub(crate) crashes: u64,
    pub(crate) recoveries: u64,
    pub(crate) dead_letters: u64,
    /// Messages to others that were under way when the run ended.
    pub(crate) under_way: u64,
    pub(crate) detector_random: Random,
    /// Who has been told that a peer which is up is gone, as a partition is between them.
    pub(crate) parted: BTreeSet<(ProcessId, ProcessId)>,
    pub(crate) chatter: Random,
    pub(crate) chats: Chats,
    pub(crate) last_exit: Option<u64>,
    /// Start of the election under way, in ticks.
    pub(crate) electing_since: u64,
    pub(crate) elections: ElectionCounter,
    pub(crate) progress: Progressed,
    pub(crate) script_left: usize,
    /// Who asks to enter again as soon as the present step is over.
    pub(crate) again: Option<ProcessId>,
    /// How much the detector has still to say.
    pub(crate) tells_left: u64,
    /// How long nobody may be served, in ticks, before the run gives up.
    pub(crate) patience: u64,
}

/// What the juries have to know.
fn charge(settings: &Settings, clocks: bool) -> Charge {
    let most_inside = settings.watch.most_inside;
    Charge {
        size: settings.size,
        most_inside,
        fenced: settings.watch.fenced,
        strict: most_inside == 1 && !settings.faults.is_empty(),
        bypass_bounds: settings.bypass_bounds(),
        clocks,
        ranks: Some(settings.ranks.clone()),
        down: settings.down.clone(),
    }
}

/// Who is up when a run begins.
fn up(settings: &Settings) -> Vec<bool> {
    let mut up = vec![true; settings.size as usize];
    for process in &settings.down {
        up[process.index()] = false;
    }
    up
}

/// Who judges what the protocol offers.
fn juries(
    settings: &Settings,
    offers: Offers,
    clocks: bool,
) -> (Option<MutexJury>, Option<ElectionJury>, Option<AgreementJury>) {
    if !settings.watch.monitors {
        return (None, None, None);
    }
    let charge = charge(settings, clocks);
    (
        offers.mutex.then(|| MutexJury::new(&charge)),
        offers.election.then(|| ElectionJury::new(&charge)),
        offers.agreement.map(|service| AgreementJury::new(service, &charge)),
    )
}

/// When somebody was last served.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progressed {
    pub(crate) time: u64,
    pub(crate) events: u64,
}

/// Crashes a process when its n-th message arrives.
#[derive(Debug)]
pub(crate) struct Tripwire {
    process: ProcessId,
    left: u64,
    fault: u32,
}

/// Crashes a process in the n-th step that changes what it saves.
#[derive(Debug)]
pub(crate) struct Torn {
    pub(crate) process: ProcessId,
    left: u64,
    is_kept: bool,
    fault: u32,
}

/// Which services the protocol offers, as far as workloads and monitors care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offers {
    pub(crate) mutex: bool,
    pub(crate) election: bool,
    /// Which service of agreement, if it is one.
    pub(crate) agreement: Option<Service>,
}

impl Core {
    pub(crate) fn new(settings: Settings, offers: Offers, recorder: Option<Recorder>) -> Self {
        let size = settings.size;
        let up = up(&settings);
        let clocks = settings.watch.order.applies(size) && (offers.mutex || recorder.is_some());
        let causality = clocks.then(|| Causality::new(size));
        let (mutex, election, agreement) = juries(&settings, offers, causality.is_some());
        let agreeing = agreeing(&settings, offers);
        let locking = settings.workload.locking.clone().filter(|_| offers.mutex);
        let users = locking.map(|locking| Users::new(locking, &settings, &up));
        let metrics = roomy(&settings, offers, users.as_ref());
        let fragile = !settings.faults.is_empty() || !settings.down.is_empty();
        let mut core = Core {
            now: 0,
            live: up.iter().filter(|up| **up).count() as u64,
            router: Router::new(&settings),
            clocks: Clocks::new(&settings),
            plan: Agenda::new(),
            agenda: Agenda::new(),
            users,
            beliefs: Beliefs::new(if offers.election { size } else { 0 }),
            mutex,
            election,
            told: agreeing.as_ref().map_or_else(Vec::new, |_| vec![Vec::new(); size as usize]),
            spontaneous: true,
            agreeing,
            agreement,
            agreeing_since: None,
            tagging: causality.is_some() || recorder.is_some(),
            causality,
            metrics,
            neighbours: settings.watch.ring.map(|ring| Juror::new(Neighbours::of(ring, size))),
            recorder,
            fragile,
            sessions: vec![0; if fragile { size as usize } else { 0 }],
            tripwires: Vec::new(),
            torn: Vec::new(),
            fired: vec![0; settings.faults.len()],
            comebacks: 0,
            crashes: 0,
            recoveries: 0,
            dead_letters: 0,
            under_way: 0,
            detector_random: Random::stream(settings.seed, Stream::Detector),
            parted: BTreeSet::new(),
            chatter: Random::stream(settings.seed, Stream::Chatter),
            chats: Chats::default(),
            last_exit: None,
            electing_since: 0,
            elections: ElectionCounter::default(),
            progress: Progressed::default(),
            script_left: 0,
            again: None,
            tells_left: 0,
            patience: settings.limits.patience(size, &settings.network.latency),
            up,
            settings,
        };
        core.plan_faults();
        core
    }

    /// Whether users have asked for something that the run must still bring about.
    pub(crate) fn is_served(&self) -> bool {
        let elects = self.settings.workload.initiators.is_some();
        let locked = self.users.as_ref().is_none_or(Users::is_served);
        let asked = elects || self.users.is_some() || self.agreeing.is_some();
        asked && locked && self.is_agreed() && (!elects || self.beliefs.is_unanimous(self.live))
    }

    /// Whether nobody waits for an agreement.
    fn is_agreed(&self) -> bool {
        let is_up = |at: ProcessId| self.up[at.index()];
        self.agreeing.as_ref().is_none_or(|users| users.is_served(is_up))
    }

    /// Whether the run is over, once no message is under way.
    pub(crate) fn is_over(&self) -> bool {
        self.settings.limits.until.is_none()
            && self.plan.is_empty()
            && self.script_left == 0
            && self.tells_left == 0
            && self.is_served()
    }

    pub(crate) fn session(&self, process: ProcessId) -> u64 {
        self.sessions.get(process.index()).copied().unwrap_or(0)
    }

    /// The tag of a message that `from` sends now.
    pub(crate) fn tag(&mut self, from: ProcessId) -> u32 {
        let traced = self.recorder.is_some();
        let clock = self.causality.as_mut().map(|causality| {
            if traced {
                causality.tick(from);
            }
            causality.share(from)
        });
        let session = self.session(from);
        match &mut self.recorder {
            Some(recorder) => recorder.ticket(session, clock),
            None => clock.unwrap_or(0),
        }
    }

    /// One more copy of a message is under way.
    pub(crate) fn copy_tag(&mut self, tag: u32) {
        let clock = match &mut self.recorder {
            Some(recorder) => {
                recorder.copy(tag);
                recorder.look(tag).clock
            }
            None => Some(tag),
        };
        if let (Some(causality), Some(clock)) = (&mut self.causality, clock) {
            causality.share_again(clock);
        }
    }

    /// A copy of a message is gone: to `at`, who learns what it carries, or to nobody.
    pub(crate) fn take_tag(&mut self, tag: u32, at: Option<ProcessId>, through: Through) {
        let traced = self.recorder.is_some();
        let clock = match &mut self.recorder {
            Some(recorder) => recorder.hand_in(tag).clock,
            None => Some(tag),
        };
        let (Some(causality), Some(clock)) = (&mut self.causality, clock) else { return };
        match at {
            Some(at) => {
                causality.learn(at, clock, through);
                if traced {
                    causality.tick(at);
                }
            }
            None => causality.release(clock),
        }
    }

    /// A message did not arrive, for whatever reason.
    #[cold]
    pub(crate) fn dropped(&mut self, label: Label) {
        self.metrics.dropped += 1;
        if self.settings.watch.metrics {
            self.metrics.kind(label).dropped += 1;
        }
    }

    /// A message arrives a second time.
    #[cold]
    pub(crate) fn duplicated(&mut self, label: Label) {
        self.metrics.duplicated += 1;
        if self.settings.watch.metrics {
            self.metrics.kind(label).duplicated += 1;
        }
    }

    /// Counts an arriving message against the tripwires. Returns the fault of one that breaks.
    pub(crate) fn trip(&mut self, at: ProcessId) -> Option<u32> {
        for wire in self.tripwires.iter_mut().filter(|wire| wire.process == at) {
            wire.left = wire.left.saturating_sub(1);
            if wire.left == 0 {
                wire.left = u64::MAX;
                return Some(wire.fault);
            }
        }
        None
    }

    /// Counts a step that changes what a process saves. Returns the fault of a crash that comes
    /// then, and whether it comes after the save.
    pub(crate) fn saves(&mut self, at: ProcessId) -> Option<(u32, bool)> {
        for torn in self.torn.iter_mut().filter(|torn| torn.process == at) {
            torn.left = torn.left.saturating_sub(1);
            if torn.left == 0 {
                torn.left = u64::MAX;
                return Some((torn.fault, torn.is_kept));
            }
        }
        None
    }

    /// Writes a line of the trace about a process, with a clock where clocks are kept.
    #[cold]
    pub(crate) fn trace(&mut self, process: ProcessId, kind: Kind) {
        let session = self.session(process);
        let clock = self.causality.as_ref().map(|known| known.clock(process, Through::All));
        if let Some(recorder) = &mut self.recorder {
            recorder.record(self.now, process, session, kind, clock);
        }
    }

    /// A traced event of a process's own counts as an event of its clock.
    #[cold]
    pub(crate) fn trace_event(&mut self, process: ProcessId, kind: Kind) {
        if self.recorder.is_some()
            && let Some(causality) = &mut self.causality
        {
            causality.tick(process);
        }
        self.trace(process, kind);
    }

    /// Writes a line of the trace about the group as a whole.
    pub(crate) fn trace_group(&mut self, kind: Kind) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(self.now, Who::Parent, 0, kind, None);
        }
    }

    pub(crate) fn progressed(&mut self) {
        self.progress = Progressed { time: self.now, events: self.metrics.events };
    }

    fn plan_faults(&mut self) {
        let mut partition = 0;
        for (fault, asked) in self.settings.faults.clone().into_iter().enumerate() {
            let fault = u32::try_from(fault).expect("fewer than 2^32 faults");
            self.plan_fault(fault, asked, &mut partition);
        }
    }

    fn plan_fault(&mut self, fault: u32, asked: Fault, partition: &mut u32) {
        match asked {
            Fault::Crash { process, when: When::At(at), .. } => {
                self.plan.push(at, Act::Crash { fault, process });
            }
            Fault::Crash { process, when: When::OnMessage(left), .. } => {
                self.tripwires.push(Tripwire { process, left, fault });
            }
            Fault::Crash { process, when: When::Saving { save: left, is_kept }, .. } => {
                self.torn.push(Torn { process, left, is_kept, fault });
            }
            Fault::Crash { .. } => {}
            Fault::Recover { process, at, memory } => {
                let lost = memory == crate::settings::fault::Memory::Lost;
                self.plan.push(at, Act::Recover { fault, process, lost });
            }
            Fault::Partition { from, until, .. } => {
                self.plan.push(from, Act::Cut { fault, partition: *partition });
                if let Some(until) = until {
                    self.plan.push(until, Act::Heal { partition: *partition });
                }
                *partition += 1;
            }
            Fault::Suspicion { observer, peer, from, until } => {
                self.plan.push(from, Act::Lie { fault, observer, peer, suspect: true });
                if let Some(until) = until {
                    self.plan.push(until, Act::Lie { fault, observer, peer, suspect: false });
                }
            }
        }
    }

    /// Whether something with this chance happens now, `times` it has happened before.
    pub(crate) fn chances(&mut self, chance: Chance, times: u64) -> bool {
        let left = chance.most.is_none_or(|most| times < most);
        left && chance.probability > 0.0 && self.chatter.unit() <= chance.probability
    }

    /// Records an event that may make an election necessary.
    pub(crate) fn upset(&mut self) {
        self.follow_elections();
        if let Some(election) = &mut self.election {
            election.upset();
        }
    }

    /// Notices where an election starts or ends.
    pub(crate) fn follow_elections(&mut self) {
        if !self.beliefs.are_kept() {
            return;
        }
        let agreed = self.beliefs.is_unanimous(self.live);
        let sent = || self.metrics.sent_in(Layer::Election);
        match self.elections.observe(agreed, sent) {
            Some(Turn::Started) => self.electing_since = self.now,
            Some(Turn::Completed) => {
                self.metrics.election_time.add(self.now - self.electing_since);
            }
            None => {}
        }
    }

    pub(crate) fn judge_asked(&mut self, at: ProcessId, ask: office::Command) {
        if let Some(election) = &mut self.election
            && matches!(ask, office::Command::Election(_))
        {
            election.upset();
        }
        let Some(mutex) = &mut self.mutex else { return };
        if ask != office::Command::Mutex(mutex::Command::Enter) {
            return;
        }
        let clocks = self.causality.as_mut().map(|causality| {
            if self.recorder.is_none() {
                causality.tick(at);
            }
            [Through::Protocol, Through::All].map(|through| causality.clock(at, through))
        });
        mutex.requested(self.now, at, clocks.as_ref().map(|[protocol, all]| [protocol, all]));
    }
}

/// The users of a service of agreement, who ask as often as the workload has entries.
fn agreeing(settings: &Settings, offers: Offers) -> Option<agreement::Users> {
    let locking = settings.workload.locking.as_ref();
    let times = |at| locking.map_or(0, |locking| locking.entries.of(at));
    agreement::Users::of(offers.agreement?, settings.size, times)
}

/// Metrics with room for the entries that are expected, so that counting them allocates nothing.
fn roomy(settings: &Settings, offers: Offers, users: Option<&Users>) -> Metrics {
    let mut metrics = Metrics::default();
    if offers.election {
        metrics.voters = vec![false; settings.size as usize];
    }
    let expected = users.map_or(0, Users::expected).min(1 << 24);
    if settings.watch.metrics {
        metrics.entries.reserve(usize::try_from(expected).unwrap_or(0));
    }
    metrics
}
