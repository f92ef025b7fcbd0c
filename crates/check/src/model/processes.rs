//! A protocol, its users and its monitors, as the search sees them: the generic half.

use tenure_core::{
    Batch, Delay, Group, Input, Labelled, Layer, ProcessId, Protocol, TICKS_PER_UNIT, TimerChange,
    Topology, VectorClock, Verdict,
};
use tenure_trace::{Choice, Since};

use crate::model::fingerprint::{Role, fingerprint};
use crate::model::intern::{Interned, Interner};
use crate::model::judge::{Judge, Observation, Seen};
use crate::model::{LocalFacts, Model, MonitorFacts, Outcome, Stand};
use crate::reduce::shifts::Shifts;
use crate::reduce::symmetry::{Renaming, Symmetry};
use crate::users::crashing::{Crashing, Saving};
use crate::users::stamping::Stamping;
use crate::users::user::{Checkable, Service, Standing, User, Workload};
use crate::world::action::{Cause, MOST_OUTCOMES};
use crate::world::choices::Odometer;
use crate::world::local::{Armed, Life, Local, UserOf};
use crate::world::parcel::{Freight, Parcel};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is fixed about the processes of a search.
pub(crate) struct Setting<P: Protocol> {
    pub(crate) size: u32,
    pub(crate) config: P::Config,
    pub(crate) workload: Workload,
    pub(crate) crashes: Crashing,
    /// When effects leave.
    pub(crate) saving: Saving,
    /// In synchronous time: the bounds on latency, in units.
    pub(crate) synchronous: Option<(u32, u32)>,
    /// Whether causality is kept.
    pub(crate) causality: bool,
    /// Whether messages of the application carry it.
    pub(crate) application_causality: bool,
    /// Of which layer monitors see messages, if of any.
    pub(crate) watched: Option<Layer>,
    /// Whether they see all of them.
    pub(crate) counts: bool,
    /// The ring, where they see those that leave it.
    pub(crate) ring: Option<Topology>,
    /// How messages of the application carry the protocol's clock, if they do.
    pub(crate) stamping: Option<Stamping<P>>,
    pub(crate) clock_readings: u32,
    pub(crate) shifts: Option<Shifts<P>>,
    pub(crate) term: Option<TermBound<P>>,
    pub(crate) symmetry: Option<Symmetry<P>>,
}

/// How to read the term of a process, and the highest that is explored.
pub(crate) type TermBound<P> = (fn(&P) -> u64, u64);

/// The judges of a search.
pub(crate) type Judges<P> = Vec<Box<dyn Judge<<P as Protocol>::Command, <P as Protocol>::Event>>>;

/// Everything about one protocol that was met in a search.
pub(crate) struct Processes<P: Checkable> {
    pub(crate) setting: Setting<P>,
    pub(crate) locals: Interner<Local<P>>,
    pub(crate) messages: Interner<P::Message>,
    pub(crate) observations: Interner<Observation<P::Command, P::Event>>,
    pub(crate) judges: Judges<P>,
    pub(crate) freight: Arc<Freight>,
    /// Whether any of them was ever in a term.
    pub(crate) has_terms: AtomicBool,
}

/// One handler's run, before it is interned.
pub(crate) struct Ran<P: Checkable> {
    pub(crate) local: Local<P>,
    pub(crate) messages: Vec<(ProcessId, P::Message)>,
    pub(crate) events: Vec<P::Event>,
    seen: Vec<Seen<P::Command, P::Event>>,
    application: Option<u32>,
    /// What was drawn.
    pub(crate) drawn: Vec<Choice>,
}

impl<P: Checkable> Processes<P> {
    pub(crate) fn new(setting: Setting<P>, judges: Judges<P>, freight: Arc<Freight>) -> Self {
        Processes {
            setting,
            locals: Interner::new(),
            messages: Interner::new(),
            observations: Interner::new(),
            judges,
            freight,
            has_terms: AtomicBool::new(false),
        }
    }

    /// Every way in which a process can boot for the first time.
    pub(crate) fn boots(&self, at: ProcessId) -> Vec<Outcome> {
        self.boot_runs(at).into_iter().map(|ran| self.outcome(ran)).collect()
    }

    /// The run in which a process booted into a local state.
    pub(crate) fn boot_into(&self, at: ProcessId, local: u32) -> Ran<P> {
        let place = self.boots(at).iter().position(|outcome| outcome.local.id == local);
        self.boot_runs(at).swap_remove(place.expect("a process boots into one of its states"))
    }

    fn boot_runs(&self, at: ProcessId) -> Vec<Ran<P>> {
        let blank = Local {
            at,
            life: Life::Down(self.first_stable(at)),
            timers: Vec::new(),
            user: P::Command::user(at, &self.setting.workload),
            past: self.no_past(),
            suspected: 0,
        };
        self.every_choice(|batch| {
            let group = Group::new(at, self.setting.size);
            let process = P::boot(group, &self.setting.config, None, &mut batch.effects());
            let mut local = blank.clone();
            local.life = Life::Up(process);
            self.ran(local, Vec::new(), batch)
        })
    }

    /// A process that is down before the start.
    pub(crate) fn down(&self, at: ProcessId) -> Interned {
        let mut user = P::Command::user(at, &self.setting.workload);
        user.crashed();
        self.intern(Local {
            at,
            life: Life::Down(self.first_stable(at)),
            timers: Vec::new(),
            user,
            past: self.no_past(),
            suspected: 0,
        })
    }

    /// What happened before anything did.
    fn no_past(&self) -> Vec<u32> {
        vec![0; if self.setting.causality { self.setting.size as usize } else { 0 }]
    }

    fn first_stable(&self, at: ProcessId) -> P::Stable {
        let mut batch = Batch::new(Odometer::new(self.setting.clock_readings));
        let group = Group::new(at, self.setting.size);
        P::boot(group, &self.setting.config, None, &mut batch.effects()).stable()
    }

    /// Every run of one cause, by its choices.
    pub(crate) fn runs(&self, local: &Local<P>, cause: Cause) -> Vec<Ran<P>> {
        match cause {
            Cause::Crash => self.crash(local),
            Cause::Mute => vec![self.mute(local)],
            Cause::Recover => self.recover(local),
            Cause::Send(to) => {
                let ran = Ran::quiet(local.clone());
                vec![Ran { application: Some(to), ..ran }]
            }
            Cause::Deliver(parcel) => self.deliver(local, parcel),
            Cause::Command(place) => self.command(local, place as usize),
            Cause::Timer(place) => {
                let mut local = local.clone();
                let armed = local.timers.remove(place as usize);
                self.step(&local, &Input::Timer(armed.timer), Vec::new())
            }
            Cause::Suspect(peer) => {
                let mut local = local.clone();
                local.suspected |= 1 << peer;
                self.step(&local, &suspicion(peer, Verdict::Suspect), Vec::new())
            }
            // What the detector thinks stays as it is.
            Cause::Meet(peer) => self.step(local, &suspicion(peer, Verdict::Suspect), Vec::new()),
            Cause::Trust(peer) | Cause::Greet(peer) => {
                let mut local = local.clone();
                local.suspected &= !(1 << peer);
                self.step(&local, &suspicion(peer, Verdict::Trust), Vec::new())
            }
        }
    }

    fn crash(&self, local: &Local<P>) -> Vec<Ran<P>> {
        let saved = match &local.life {
            Life::Up(process) | Life::Mute { process, .. } => vec![process.stable()],
            Life::Hasty { process, saved } => vec![saved.clone(), process.stable()],
            Life::Down(_) => panic!("{} is down already", local.at),
        };
        let crashed = |stable| {
            let mut crashed = local.clone();
            crashed.life = Life::Down(stable);
            crashed.timers.clear();
            crashed.user.crashed();
            crashed.suspected = 0;
            Ran { seen: vec![Seen::Crashed], ..Ran::quiet(crashed) }
        };
        saved.into_iter().map(crashed).collect()
    }

    fn mute(&self, local: &Local<P>) -> Ran<P> {
        let process = local.life.process().cloned();
        let process = process.unwrap_or_else(|| panic!("{} is down", local.at));
        let mut mute = local.clone();
        mute.life = Life::Mute { process, since: Since::Nothing };
        Ran::quiet(mute)
    }

    fn recover(&self, local: &Local<P>) -> Vec<Ran<P>> {
        let Life::Down(stable) = &local.life else { panic!("{} is up already", local.at) };
        let mut back = local.clone();
        back.user.recovered();
        self.every_choice(|batch| {
            let group = Group::new(local.at, self.setting.size);
            let process =
                P::boot(group, &self.setting.config, Some(stable.clone()), &mut batch.effects());
            let mut back = back.clone();
            back.life = Life::Up(process);
            self.ran(back, vec![Seen::Recovered], batch)
        })
    }

    fn deliver(&self, local: &Local<P>, parcel: u32) -> Vec<Ran<P>> {
        let parcel = self.freight.parcel_of(parcel);
        let mut local = local.clone();
        if matches!(local.life, Life::Down(_)) {
            return vec![Ran::quiet(local)]; // nobody is there to receive it
        }
        if parcel.past != 0 {
            for (mine, theirs) in
                local.past.iter_mut().zip(self.freight.past_of(parcel.past).iter())
            {
                *mine = (*mine).max(*theirs);
            }
        }
        if parcel.message == 0 {
            let stamped = (self.setting.stamping, local.life.process_mut());
            if let (Some(stamping), Some(process)) = stamped {
                let known = self.freight.past_of(parcel.past);
                let clock = known.last().expect("the clock comes last in what it carries");
                (stamping.observe)(process, u64::from(*clock));
            }
            return vec![Ran::quiet(local)];
        }
        let message = P::Message::clone(&self.messages.get(parcel.message));
        let input = Input::Message { from: ProcessId(parcel.from), message };
        self.step(&local, &input, Vec::new())
    }

    fn command(&self, local: &Local<P>, place: usize) -> Vec<Ran<P>> {
        let offer = local.user.offers().swap_remove(place);
        let mut local = local.clone();
        local.user.asked(&offer.command);
        if !offer.obliged && !local.past.is_empty() {
            local.past[local.at.index()] += 1;
        }
        let clock = (!local.past.is_empty()).then(|| {
            VectorClock::from(local.past.iter().copied().map(u64::from).collect::<Vec<_>>())
        });
        let seen = vec![Seen::Command(offer.command.clone(), clock)];
        self.step(&local, &Input::Command(offer.command), seen)
    }

    /// One handler, run once for each combination of its choices.
    fn step(
        &self,
        local: &Local<P>,
        input: &Input<P>,
        seen: Vec<Seen<P::Command, P::Event>>,
    ) -> Vec<Ran<P>> {
        let before = local.life.process().unwrap_or_else(|| panic!("{} is down", local.at));
        if matches!(local.life, Life::Mute { since: Since::Spent, .. }) {
            return vec![Ran::quiet(local.clone())];
        }
        self.every_choice(|batch| {
            let mut process = before.clone();
            process.step(input.clone(), &mut batch.effects());
            let mut local = local.clone();
            if let Life::Mute { since, .. } = local.life {
                let saves = since == Since::Saved || process.stable() != before.stable();
                return Processes::unheard(local, process, saves, seen.clone(), batch);
            }
            local.life = match self.setting.saving {
                Saving::Late if process.stable() != before.stable() => {
                    Life::Hasty { process, saved: before.stable() }
                }
                _ => Life::Up(process),
            };
            self.ran(local, seen.clone(), batch)
        })
    }

    /// What came of a step of which nobody hears. A timer that it sets does not begin to run, and
    /// one that it cancels never fires.
    fn unheard(
        mut local: Local<P>,
        process: P,
        saves: bool,
        seen: Vec<Seen<P::Command, P::Event>>,
        batch: &mut Batch<P, Odometer>,
    ) -> Ran<P> {
        if !saves {
            // Nothing keeps these effects back, so this is no step of a process that is mute. It
            // crashes before, and what it was given is lost.
            local.life = Life::Mute { process, since: Since::Spent };
            local.timers.clear();
            local.user.crashed();
            return Ran::quiet(local);
        }
        local.life = Life::Mute { process, since: Since::Saved };
        for change in batch.timers.drain(..) {
            let (TimerChange::Set(timer, _) | TimerChange::Cancel(timer)) = change;
            local.disarm(&timer);
        }
        Ran { seen, ..Ran::quiet(local) }
    }

    fn every_choice(&self, mut run: impl FnMut(&mut Batch<P, Odometer>) -> Ran<P>) -> Vec<Ran<P>> {
        let mut batch = Batch::new(Odometer::new(self.setting.clock_readings));
        let mut runs = Vec::new();
        loop {
            batch.clear();
            let ran = run(&mut batch);
            runs.push(Ran { drawn: batch.environment.drawn(), ..ran });
            if !batch.environment.advance() {
                break;
            }
        }
        assert!(runs.len() <= MOST_OUTCOMES, "a step has at most {MOST_OUTCOMES} outcomes");
        runs
    }

    /// What a handler left in the batch, applied to the process.
    fn ran(
        &self,
        mut local: Local<P>,
        mut seen: Vec<Seen<P::Command, P::Event>>,
        batch: &mut Batch<P, Odometer>,
    ) -> Ran<P> {
        for change in batch.timers.drain(..) {
            match change {
                TimerChange::Set(timer, after) => {
                    let (least, most) = self.units(after);
                    local.arm(Armed { timer, least, most });
                }
                TimerChange::Cancel(timer) => local.disarm(&timer),
            }
        }
        for event in &batch.events {
            local.user.told(event);
            seen.push(Seen::Event(event.clone()));
        }
        let messages: Vec<(ProcessId, P::Message)> = batch.messages.drain(..).collect();
        let shown = messages.iter().filter(|(to, message)| self.shows(local.at, *to, message));
        seen.extend(shown.map(|(to, _)| Seen::Sent { to: *to }));
        let events = batch.events.drain(..).collect();
        Ran { local, messages, events, seen, application: None, drawn: Vec::new() }
    }

    /// Whether a monitor is to see that a message is sent.
    fn shows(&self, from: ProcessId, to: ProcessId, message: &P::Message) -> bool {
        let setting = &self.setting;
        let strays = |ring: Topology| !ring.joins(setting.size, from, to);
        let shown = || setting.counts || setting.ring.is_some_and(strays);
        setting.watched == Some(message.label().layer) && to != from && shown()
    }

    /// A delay in whole units of synchronous time; in asynchronous time any moment will do.
    fn units(&self, after: Delay) -> (u32, u32) {
        if self.setting.synchronous.is_none() {
            return (0, 0);
        }
        let whole = |units: u64| u32::try_from(units).expect("a delay is below 2^32 units");
        let ticks = TICKS_PER_UNIT;
        // Rounded up: a timer must not fire before its time, however coarse the units.
        (whole(after.min.div_ceil(ticks)), whole(after.max.div_ceil(ticks)))
    }

    fn outcome(&self, ran: Ran<P>) -> Outcome {
        let from = ran.local.at.0;
        let past = self.freight.past(&ran.local.past);
        let (least, most) = self.setting.synchronous.unwrap_or((0, 0));
        let parcel = Parcel { from, to: 0, message: 0, past, least, most };
        let mut parcels: Vec<u32> = Vec::with_capacity(ran.messages.len());
        if let Some(to) = ran.application {
            let past = self.told_by_application(&ran.local);
            parcels.push(self.freight.parcel(Parcel { to, past, ..parcel }, 0));
        }
        for (to, message) in ran.messages {
            assert!(to.0 < self.setting.size, "{to} is not a member of the group");
            let message = self.message(message);
            let parcel = Parcel { to: to.0, message: message.id, ..parcel };
            parcels.push(self.freight.parcel(parcel, message.fingerprint));
        }
        let observation = if ran.seen.is_empty() || self.judges.is_empty() {
            0
        } else {
            let observation = Observation { at: ran.local.at, seen: ran.seen };
            self.observations.intern(observation, |_| 0).id
        };
        Outcome { local: self.intern(ran.local), parcels, observation }
    }

    /// The number of what a message of the application carries: what its sender knows of
    /// requests, and last its clock, where they are stamped.
    fn told_by_application(&self, local: &Local<P>) -> u32 {
        let mut known = local.past.clone();
        if !self.setting.application_causality {
            known.fill(0);
        }
        if let (Some(stamping), Some(process)) = (self.setting.stamping, local.life.process()) {
            let clock = u32::try_from((stamping.clock)(process));
            known.push(clock.expect("a clock counts steps"));
        }
        self.freight.past(&known)
    }

    fn message(&self, message: P::Message) -> Interned {
        self.messages.intern(message, |message| fingerprint(Role::Message, message))
    }

    fn intern(&self, local: Local<P>) -> Interned {
        self.locals.intern(local, |local| fingerprint(Role::Local, local))
    }

    fn symmetry(&self) -> &Symmetry<P> {
        self.setting.symmetry.as_ref().expect("only symmetric searches rename")
    }

    /// What a process may do by itself: the commands of its user, and its timers.
    fn menu(&self, local: &Local<P>) -> Vec<(Cause, u32)> {
        let mut menu = Vec::new();
        if matches!(local.life, Life::Down(_) | Life::Mute { since: Since::Spent, .. }) {
            return menu;
        }
        let label = |kind: u64, content: u64| self.freight.label(kind << 40, content);
        for (place, offer) in local.user.offers().iter().enumerate() {
            let content = fingerprint(Role::Label, &(local.at, &offer.command));
            let label = if offer.obliged { label(1, content) } else { NOT_FAIR };
            menu.push((Cause::Command(place as u32), label));
        }
        for (place, armed) in local.timers.iter().enumerate() {
            if armed.least == 0 {
                let content = fingerprint(Role::Label, &(local.at, &armed.timer));
                menu.push((Cause::Timer(place as u32), label(2, content)));
            }
        }
        assert!(menu.len() <= 256, "a process has at most 256 things to do");
        menu
    }
}

/// The label of a step that may never be taken.
pub(crate) const NOT_FAIR: u32 = 0;

fn suspicion<P: Protocol>(peer: u32, verdict: Verdict) -> Input<P> {
    Input::Suspicion { peer: ProcessId(peer), verdict }
}

impl<P: Checkable> Ran<P> {
    fn quiet(local: Local<P>) -> Self {
        let (messages, events, seen) = (Vec::new(), Vec::new(), Vec::new());
        Ran { local, messages, events, seen, application: None, drawn: Vec::new() }
    }
}

impl<P: Checkable> Model for Processes<P> {
    fn local(&self, id: u32) -> LocalFacts {
        let local = self.locals.get(id);
        let process = local.life.process();
        let down = process.is_none();
        let mute = matches!(local.life, Life::Mute { .. });
        let bound = self.setting.term.zip(process);
        let term = bound.map_or(0, |((term, _), process)| term(process));
        let beyond = bound.is_some_and(|((_, most), _)| term > most);
        if term > 0 {
            self.has_terms.store(true, Ordering::Relaxed);
        }
        LocalFacts {
            fingerprint: self.locals.fingerprint(id),
            down,
            mute,
            may_crash: !down
                && !mute
                && self.setting.crashes.allows::<P::Command>(local.at, &local.user),
            standing: if down || mute { Stand::Content } else { stand::<P>(&local.user) },
            suspected: local.suspected,
            menu: self.menu(&local),
            urgent: self.setting.synchronous.is_some()
                && local.timers.iter().any(|armed| armed.most == 0),
            smallest: {
                let config = &self.setting.config;
                self.setting.shifts.and_then(|shifts| local.smallest(shifts, config))
            },
            beyond,
        }
    }

    fn outcomes(&self, local: u32, cause: Cause) -> Vec<Outcome> {
        let local = self.locals.get(local);
        self.runs(&local, cause).into_iter().map(|ran| self.outcome(ran)).collect()
    }

    fn aged(&self, local: u32) -> Interned {
        let mut local = Local::clone(&self.locals.get(local));
        for armed in &mut local.timers {
            armed.least = armed.least.saturating_sub(1);
            armed.most = armed.most.checked_sub(1).expect("time waits for what is due");
        }
        self.intern(local)
    }

    fn shifted(&self, local: u32, by: u64) -> Interned {
        let mut local = Local::clone(&self.locals.get(local));
        if let Some(shifts) = self.setting.shifts {
            local.shift(shifts, &self.setting.config, by);
        }
        self.intern(local)
    }

    fn smallest_in_message(&self, message: u32) -> Option<u64> {
        let shifts = self.setting.shifts?;
        (shifts.smallest_in_message)(&self.setting.config, &self.messages.get(message))
    }

    fn shifted_message(&self, message: u32, by: u64) -> Interned {
        let mut message = P::Message::clone(&self.messages.get(message));
        if let Some(shifts) = self.setting.shifts {
            (shifts.shift_message)(&self.setting.config, &mut message, by);
        }
        self.message(message)
    }

    fn renamed(&self, local: u32, renaming: usize) -> u64 {
        let symmetry = self.symmetry();
        let names = &symmetry.renamings[renaming];
        let local = self.locals.get(local);
        let life = match &local.life {
            Life::Up(process) => Life::Up((symmetry.renamed)(process, names)),
            Life::Mute { process, since } => {
                Life::Mute { process: (symmetry.renamed)(process, names), since: *since }
            }
            Life::Hasty { process, saved } => Life::Hasty {
                process: (symmetry.renamed)(process, names),
                saved: (symmetry.renamed_stable)(saved, names),
            },
            Life::Down(stable) => Life::Down((symmetry.renamed_stable)(stable, names)),
        };
        let mut renamed = Local {
            at: names.of(local.at),
            life,
            timers: Vec::new(),
            user: local.user.clone(),
            past: names.of_list(&local.past),
            suspected: names.of_bits(local.suspected),
        };
        for armed in &local.timers {
            let timer = (symmetry.renamed_timer)(&armed.timer, names);
            renamed.arm(Armed { timer, ..*armed });
        }
        fingerprint(Role::Local, &renamed)
    }

    fn renamed_message(&self, message: u32, renaming: usize) -> u64 {
        let symmetry = self.symmetry();
        let message = self.messages.get(message);
        let names = &symmetry.renamings[renaming];
        fingerprint(Role::Message, &(symmetry.renamed_message)(&message, names))
    }

    fn renaming(&self, renaming: usize) -> &Renaming {
        &self.symmetry().renamings[renaming]
    }

    fn judge(&self, place: usize, monitor: u32, observation: u32) -> Option<Interned> {
        self.judges[place].judge(monitor, &self.observations.get(observation)).ok()
    }

    fn monitor(&self, place: usize, monitor: u32) -> MonitorFacts {
        self.judges[place].facts(monitor)
    }

    fn shifted_monitor(&self, place: usize, monitor: u32, by: u64) -> Interned {
        self.judges[place].shifted(monitor, by)
    }

    fn bytes(&self) -> usize {
        let local = size_of::<Local<P>>() + 96;
        self.locals.len() * local + self.messages.len() * (size_of::<P::Message>() + 64)
    }
}

fn stand<P: Checkable>(user: &UserOf<P>) -> Stand {
    match user.standing() {
        Standing::Content => Stand::Content,
        Standing::Waiting => Stand::Waiting,
        Standing::Informed => Stand::Informed,
        Standing::Uninformed => Stand::Uninformed,
    }
}
