//! The thin generic shell: processes, their messages and their timers.

use std::collections::{BTreeMap, VecDeque};

use tenure_core::service::{election, mutex, office};
use tenure_core::{
    Batch, Environment, Group, Input, Labelled, LocalTime, Observed, ProcessId, Protocol,
    TimerChange, Verdict,
};
use tenure_trace::{Choice, Heard, Kind, Lapse, Recorded, Spoken};

use crate::engine::agenda::Act;
use crate::engine::chats::Stamping;
use crate::engine::clocks::Clocks;
use crate::engine::controls::{Controls, Progress};
use crate::engine::core::Core;
use crate::engine::happenings::Todo;
use crate::engine::post::{Letter, lose, post, receive};
use crate::engine::queue::Queue;
use crate::engine::random::Random;
use crate::engine::timers::Timers;
use crate::engine::users::Users;
use crate::figures::report::Ended;
use crate::jury::watcher::Watcher;
use crate::settings::configs::Configs;
use crate::settings::workload::Initiators;

/// How many events pass between two looks at limits and controls.
const CHUNK: u64 = 4096;

/// Where the algorithm's choices and clock readings come from.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    choices: Random,
    clocks: Clocks,
    at: ProcessId,
    now: u64,
    /// What is drawn in the next step, as far as it was said.
    said: VecDeque<u32>,
    /// What was drawn in the step that is taken.
    drawn: Vec<Choice>,
}

impl Sources {
    pub(crate) fn new(choices: Random, clocks: Clocks) -> Self {
        let (said, drawn) = (VecDeque::new(), Vec::new());
        Sources { choices, clocks, at: ProcessId(0), now: 0, said, drawn }
    }
}

impl Environment for Sources {
    fn choose(&mut self, bound: u32) -> u32 {
        let said = self.said.pop_front().map(|value| value.min(bound - 1));
        let value = said.unwrap_or_else(|| self.choices.below(u64::from(bound)) as u32);
        self.drawn.push(Choice { value, bound });
        value
    }

    fn local_clock(&mut self) -> LocalTime {
        self.clocks.reading(self.at, self.now)
    }
}

/// All that a running simulation consists of.
pub(crate) struct World<'a, P: Protocol> {
    pub(crate) core: Core,
    pub(crate) processes: Vec<P>,
    configs: &'a Configs<P::Config>,
    pub(crate) batch: Batch<P, Sources>,
    pub(crate) mail: Queue<Letter<P::Message>>,
    pub(crate) timers: Timers<P::Timer>,
    script: &'a [(u64, ProcessId, P::Command)],
    watchers: Vec<Watcher<P>>,
    stamping: Option<Stamping<P>>,
    /// Whose saves go wrong, and how, where that is said.
    pub(crate) lapses: BTreeMap<ProcessId, Lapse<P>>,
}

impl<'a, P: Protocol> World<'a, P>
where
    P: Recorded,
{
    pub(crate) fn new(
        core: Core,
        configs: &'a Configs<P::Config>,
        script: &'a [(u64, ProcessId, P::Command)],
        watchers: Vec<Watcher<P>>,
        stamping: Option<Stamping<P>>,
    ) -> Self {
        let choices = Random::stream(core.settings.seed, crate::engine::random::Stream::Choices);
        let batch = Batch::new(Sources::new(choices, core.clocks));
        let (mail, timers) = (Queue::new(), Timers::new());
        let processes = Vec::with_capacity(core.settings.size as usize);
        let lapses = BTreeMap::new();
        World { core, processes, configs, batch, mail, timers, script, watchers, stamping, lapses }
    }

    /// Runs to the end and says why it ended there.
    pub(crate) fn run(&mut self, controls: &mut Controls<'_>) -> Ended {
        self.boot();
        self.begin(controls);
        loop {
            if let Some(ended) = self.pause(controls) {
                return ended;
            }
            for _ in 0..self.chunk() {
                if let Some(ended) = self.turn() {
                    return ended;
                }
            }
        }
    }

    /// How many turns may pass until the next look at limits and controls.
    pub(crate) fn chunk(&self) -> u64 {
        let budget = self.core.settings.limits.events.unwrap_or(u64::MAX);
        CHUNK.min(budget - self.core.metrics.events)
    }

    /// Ends what is left undone: what was under way when the run ended.
    pub(crate) fn settle(&mut self) {
        for letter in self.mail.iter().filter(|letter| letter.from != letter.to) {
            self.core.under_way += 1;
            if self.core.settings.watch.metrics {
                self.core.metrics.kind(letter.message.label()).under_way += 1;
            }
        }
        let now = self.core.now;
        self.core.metrics.waiting.settle(now);
    }

    /// Takes the world apart when it has ended.
    pub(crate) fn into_parts(self) -> (Core, Vec<P>, Vec<Watcher<P>>) {
        (self.core, self.processes, self.watchers)
    }

    pub(crate) fn boot(&mut self) {
        for place in 0..self.core.settings.size {
            let at = ProcessId(place);
            let process = self.born(at, None);
            self.processes.push(process);
            if self.core.up[at.index()] {
                if self.core.recorder.is_some() {
                    self.core.trace_event(at, Kind::Boot);
                }
                self.release(at);
            } else {
                self.batch.clear();
            }
        }
    }

    fn born(&mut self, at: ProcessId, stable: Option<P::Stable>) -> P {
        self.look_at(at);
        let group = Group::new(at, self.core.settings.size);
        P::boot(group, self.configs.of(at), stable, &mut self.batch.effects())
    }

    /// The start of the workload: every request of the first moment precedes every delivery. As
    /// many messages as there are pairs may come of it, so whoever stops the run is heeded between.
    pub(crate) fn begin(&mut self, controls: &Controls<'_>) {
        self.core.announce_start();
        self.core.script_left = self.script.len();
        for (index, (time, ..)) in self.script.iter().enumerate() {
            let index = u32::try_from(index).expect("a script has fewer than 2^32 commands");
            self.core.agenda.push(*time, Act::Script { index });
        }
        match self.core.settings.workload.initiators.clone() {
            Some(Initiators::All) => {
                for place in 0..self.core.settings.size {
                    self.ask(ProcessId(place), election::Command::Elect);
                }
            }
            Some(Initiators::Listed(listed)) => {
                for process in listed {
                    self.ask(process, election::Command::Elect);
                }
            }
            None => {}
        }
        for place in 0..self.core.settings.size {
            if controls.is_stopped() {
                return;
            }
            self.begin_user(ProcessId(place));
        }
    }

    fn begin_user(&mut self, process: ProcessId) {
        self.agree(process);
        let core = &mut self.core;
        let Some(users) = &mut core.users else { return };
        if users.begin(process, core.now, &mut core.agenda) {
            self.ask(process, mutex::Command::Enter);
        }
    }

    /// One event, or the reason why there is none.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<Ended> {
        if self.mail.is_empty()
            && let Some(ended) = self.lull()
        {
            return Some(ended);
        }
        self.advance()
    }

    /// The soonest event.
    #[inline]
    pub(crate) fn advance(&mut self) -> Option<Ended> {
        let mail = self.mail.next_time();
        let plan = self.core.plan.next_time();
        let agenda = self.core.agenda.next_time();
        let next = mail.min(plan).min(agenda);
        if self.core.settings.limits.until.is_some_and(|until| next > until) {
            self.core.now = self.core.settings.limits.until.unwrap_or(next);
            return Some(Ended::Until);
        }
        self.core.metrics.events += 1;
        if mail < plan && mail <= agenda {
            self.deliver();
        } else if plan <= agenda {
            let act = self.core.plan.pop();
            self.act(act);
        } else {
            let act = self.core.agenda.pop();
            self.act(act);
        }
        None
    }

    /// Nothing is under way: perhaps the run is over, or the next request is due.
    fn lull(&mut self) -> Option<Ended> {
        if self.core.is_over() {
            return Some(Ended::Served);
        }
        if self.draw() {
            return None;
        }
        self.is_exhausted().then_some(Ended::Quiescent)
    }

    /// Whether the next turn begins with a user who is drawn.
    pub(crate) fn draws(&self) -> bool {
        let users = self.core.users.as_ref();
        self.mail.is_empty() && !self.core.is_over() && users.is_some_and(Users::can_draw)
    }

    /// Lets the next user ask where users are drawn; says whether one did.
    pub(crate) fn draw(&mut self) -> bool {
        let Some(process) = self.core.users.as_mut().and_then(Users::draw) else { return false };
        self.ask(process, mutex::Command::Enter);
        true
    }

    /// Whether nothing can happen any more.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.core.plan.is_empty()
            && self.timers.armed() == 0
            && self.core.agenda.is_empty()
            && self.mail.is_empty()
    }

    /// Looks at limits and controls, every now and then.
    pub(crate) fn pause(&mut self, controls: &mut Controls<'_>) -> Option<Ended> {
        let core = &self.core;
        let (events, now) = (core.metrics.events, core.now);
        if controls.is_stopped() {
            return Some(Ended::Stopped);
        }
        if core.settings.limits.events.is_some_and(|most| events >= most) {
            return Some(Ended::Events);
        }
        let entered = core.metrics.entered;
        let in_flight = self.mail.len() as u64;
        controls.report(|| Progress { events, now, entered, in_flight });
        let most = core.settings.limits.under_way(core.settings.size);
        if in_flight > most && events - core.progress.events > most {
            return Some(Ended::Flooded);
        }
        let idle = now.saturating_sub(core.progress.time) > core.patience
            && events - core.progress.events > CHUNK
            && core.settings.limits.until.is_none();
        idle.then_some(Ended::Stalled)
    }

    #[inline]
    fn look_at(&mut self, at: ProcessId) {
        self.batch.environment.at = at;
        self.batch.environment.now = self.core.now;
    }

    fn deliver(&mut self) {
        let Some((time, letter)) = self.mail.pop() else { return };
        self.core.now = time;
        self.hand_over(letter);
    }

    /// A message arrives now.
    #[inline]
    pub(crate) fn hand_over(&mut self, letter: Letter<P::Message>) {
        let core = &mut self.core;
        if core.fragile && !self.admits(&letter) {
            return;
        }
        let Letter { from, to, tag, message } = letter;
        let untaken = self.step(to, Input::Message { from, message }, |world, input| {
            let core = &mut world.core;
            core.metrics.received += u64::from(from != to);
            if core.tagging
                && let Input::Message { message, .. } = input
            {
                receive(core, from, to, tag, message);
            }
        });
        if let Some(Input::Message { message, .. }) = untaken {
            self.core.dead_letters += 1;
            self.lose(&Letter { from, to, tag, message });
        }
    }

    /// Gives a process an input, and carries out what it asks for; before that, notes that it came.
    /// Gives the input back where the process crashed instead.
    #[inline]
    fn step(
        &mut self,
        at: ProcessId,
        input: Input<P>,
        note: impl FnOnce(&mut Self, &Input<P>),
    ) -> Option<Input<P>> {
        self.look_at(at);
        if !self.core.torn.is_empty()
            && let Some(torn) = self.torn(at, &input)
        {
            return self.tear(at, input, torn, note);
        }
        note(self, &input);
        if !self.lapses.is_empty() && self.is_mute(at, &input) {
            return None;
        }
        self.processes[at.index()].step(input, &mut self.batch.effects());
        self.release(at);
        None
    }

    /// Whether a message reaches its receiver in a run where something may be broken.
    #[cold]
    fn admits(&mut self, letter: &Letter<P::Message>) -> bool {
        let (from, to) = (letter.from, letter.to);
        let core = &mut self.core;
        let mut admitted = core.up[to.index()];
        core.dead_letters += u64::from(!admitted);
        if admitted && core.router.may_cut() && core.router.is_cut(from, to) {
            admitted = false;
        }
        if admitted && let Some(fault) = core.trip(to) {
            admitted = false;
            core.dead_letters += 1;
            if core.crash(to, Some(fault)) == Todo::Crash(to) {
                self.timers.clear(to);
                self.watch(|watcher, time| watcher.observe(time, to, Observed::Crashed));
            }
        }
        if !admitted {
            self.lose(letter);
        }
        admitted
    }

    /// A message that had come this far arrives nowhere.
    #[cold]
    fn lose(&mut self, letter: &Letter<P::Message>) {
        let core = &mut self.core;
        if letter.from != letter.to {
            core.dropped(letter.message.label());
        }
        if core.tagging {
            lose(core, letter.from, letter.to, letter.tag, &letter.message);
        }
    }

    fn act(&mut self, act: Option<(u64, Act)>) {
        let Some((time, act)) = act else { return };
        if let Act::Timer { slot, generation } = act {
            // A timer that was disarmed meanwhile is no event: time does not pass for it.
            let Some((at, timer)) = self.timers.take(slot, generation) else { return };
            self.core.now = time;
            return self.fire(at, timer);
        }
        self.core.now = time;
        if let Act::User { process, ask } = act {
            if self.core.users.as_ref().is_some_and(|users| users.is_due(process, ask, time)) {
                self.ask(process, ask);
            }
            return;
        }
        let todo = self.core.act(act);
        self.carry_out(todo);
    }

    pub(crate) fn carry_out(&mut self, todo: Todo) {
        match todo {
            Todo::Nothing => {}
            Todo::Ask(process, ask) => self.ask(process, ask),
            Todo::Suspicion { observer, peer, verdict } => self.suspect(observer, peer, verdict),
            Todo::Crash(process) => {
                self.timers.clear(process);
                self.watch(|watcher, time| {
                    watcher.observe(time, process, Observed::Crashed);
                });
            }
            Todo::Recover { process, lost } => self.recover(process, lost),
            Todo::Hear { process, clock, reacts } => {
                if let (Some(stamping), Some(clock)) = (self.stamping, clock) {
                    (stamping.observe)(&mut self.processes[process.index()], clock);
                    self.trace_state(process);
                }
                if reacts {
                    self.ask(process, mutex::Command::Enter);
                }
            }
            Todo::Script(index) => {
                let (_, process, command) = &self.script[index as usize];
                self.command(*process, command.clone());
            }
        }
    }

    pub(crate) fn fire(&mut self, at: ProcessId, timer: P::Timer) {
        self.step(at, Input::Timer(timer), |world, input| {
            if world.core.recorder.is_some()
                && let Input::Timer(timer) = input
            {
                world.core.trace_event(at, Kind::Timer(format!("{timer:?}")));
            }
        });
    }

    fn suspect(&mut self, at: ProcessId, peer: ProcessId, verdict: Verdict) {
        self.step(at, Input::Suspicion { peer, verdict }, |world, _| {
            if world.core.recorder.is_some() {
                world.core.trace_event(at, Kind::Suspicion { peer, verdict });
            }
        });
    }

    fn recover(&mut self, process: ProcessId, lost: bool) {
        let stable = (!lost).then(|| self.processes[process.index()].stable());
        self.processes[process.index()] = self.born(process, stable);
        self.core.recovered(process);
        self.watch(|watcher, time| watcher.observe(time, process, Observed::Recovered));
        self.release(process);
        self.begin_user(process);
    }

    /// A user of the workload asks, if the service knows how.
    fn ask(&mut self, process: ProcessId, ask: impl Into<office::Command>) {
        if let Some(command) = P::Command::asking(ask.into()) {
            self.command(process, command);
        }
    }

    /// The user of a service of agreement asks, if there is something left to ask.
    fn agree(&mut self, process: ProcessId) {
        let users = self.core.agreeing.as_ref().filter(|_| self.core.spontaneous);
        let asks = users.and_then(|users| users.next(process));
        if let Some(command) = asks.and_then(P::Command::agreeing) {
            self.command(process, command);
        }
    }

    pub(crate) fn command(&mut self, at: ProcessId, command: P::Command) {
        if !self.core.up[at.index()] {
            return;
        }
        let ask = command.ask();
        self.step(at, Input::Command(command), |world, input| {
            if let Input::Command(command) = input {
                world.asks(at, command);
            }
        });
        if ask == Some(mutex::Command::Enter.into())
            && self.core.settings.workload.chatter.is_some()
            && self.core.up[at.index()]
        {
            let process = &self.processes[at.index()];
            let clock = self.stamping.map(|stamping| (stamping.clock)(process));
            self.core.tell_others(at, clock);
        }
    }

    /// A user asks, and the protocol is about to hear it.
    fn asks(&mut self, at: ProcessId, command: &P::Command) {
        if self.core.recorder.is_some() {
            self.core.trace_event(at, Kind::Command(command.asked()));
        }
        if let Some(ask) = command.ask() {
            self.core.asked(at, ask);
        }
        if let Some(command) = command.agreed() {
            self.core.asked_to_agree(at, &command);
        }
        self.watch(|watcher, time| {
            watcher.observe(time, at, Observed::Command { command, clock: None });
        });
    }

    #[inline]
    fn watch(&mut self, mut show: impl FnMut(&mut Watcher<P>, u64)) {
        for watcher in &mut self.watchers {
            show(watcher, self.core.now);
        }
    }

    /// Carries out what a step of `at` asked for.
    fn release(&mut self, at: ProcessId) {
        if !self.batch.environment.drawn.is_empty() {
            self.trace_choices(at);
        }
        if !self.batch.events.is_empty() {
            self.release_events(at);
        }
        let departs = self.core.router.departure(at, self.core.now);
        let (core, mail) = (&mut self.core, &mut self.mail);
        for (to, message) in self.batch.messages.drain(..) {
            post(core, mail, departs, at, to, message);
        }
        let in_flight = mail.len() as u64;
        core.metrics.in_flight_most = core.metrics.in_flight_most.max(in_flight);
        if !self.batch.timers.is_empty() {
            self.release_timers(at, departs);
        }
        if self.core.recorder.is_some() {
            self.trace_state(at);
        }
        if let Some(again) = self.core.again.take() {
            self.ask(again, mutex::Command::Enter);
            self.agree(again);
        }
    }

    /// Writes down what was drawn, where that is wanted.
    #[cold]
    pub(crate) fn trace_choices(&mut self, at: ProcessId) {
        for choice in std::mem::take(&mut self.batch.environment.drawn) {
            if self.core.recorder.is_some() {
                self.core.trace(at, Kind::Choice(choice));
            }
        }
    }

    /// What is drawn in the next step, as far as it draws anything; nothing more was said.
    pub(crate) fn will_draw(&mut self, said: VecDeque<u32>) {
        self.batch.environment.said = said;
    }

    /// Writes down what a process holds now, where that is wanted and news.
    #[cold]
    fn trace_state(&mut self, at: ProcessId) {
        let recorder = self.core.recorder.as_mut();
        let states = recorder.and_then(|recorder| recorder.states.as_mut());
        let state = states.and_then(|states| states.changed(at, &self.processes[at.index()]));
        if let Some(state) = state {
            self.core.trace(at, state);
        }
    }

    fn release_events(&mut self, at: ProcessId) {
        for place in 0..self.batch.events.len() {
            let event = &self.batch.events[place];
            if self.core.recorder.is_some() {
                self.core.trace_event(at, Kind::Event(event.told()));
            }
            for watcher in &mut self.watchers {
                watcher.observe(self.core.now, at, Observed::Event(event));
            }
            self.core.told(at, event);
        }
        self.batch.events.clear();
    }

    fn release_timers(&mut self, at: ProcessId, departs: u64) {
        for change in self.batch.timers.drain(..) {
            match change {
                TimerChange::Set(timer, after) => {
                    let size = self.core.settings.size;
                    let (slot, generation) = self.timers.set(at, timer, size);
                    let drawn = self.batch.environment.choices.between(after.min, after.max);
                    let due = departs.saturating_add(self.core.clocks.really(at, drawn));
                    self.core.agenda.push(due, Act::Timer { slot, generation });
                }
                TimerChange::Cancel(timer) => self.timers.cancel(at, &timer),
            }
        }
    }
}
