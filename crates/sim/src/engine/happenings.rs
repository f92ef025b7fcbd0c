//! What happens to processes and users, as far as it does not depend on the protocol.

use tenure_core::service::{agreement, election, mutex, office};
use tenure_core::{Facts, Observed, ProcessId, Verdict};
use tenure_trace::{Kind, Passage};

use crate::engine::agenda::{Act, verdict};
use crate::engine::chats::Chat;
use crate::engine::core::Core;
use crate::engine::users::Phase;
use crate::jury::causality::Through;
use crate::settings::Detector;
use crate::settings::fault::{Fault, Memory, When};

/// What the engine must do with a process because of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Todo {
    Nothing,
    Ask(ProcessId, mutex::Command),
    Suspicion {
        observer: ProcessId,
        peer: ProcessId,
        verdict: Verdict,
    },
    Crash(ProcessId),
    Recover {
        process: ProcessId,
        lost: bool,
    },
    Script(u32),
    /// A user is told something by another, with the protocol's clock there.
    Hear {
        process: ProcessId,
        clock: Option<u64>,
        reacts: bool,
    },
}

impl Core {
    /// Carries out the part of an act that concerns no protocol; says what else to do.
    pub(crate) fn act(&mut self, act: Act) -> Todo {
        match act {
            Act::Timer { .. } | Act::User { .. } => Todo::Nothing,
            Act::Arrival { process } => self.arrival(process),
            Act::Chat { chat } => self.hear(chat),
            Act::Tell { observer, peer, suspect } => {
                self.tells_left -= 1;
                // The oracle is perfect: what has become untrue meanwhile is not said.
                if !self.up[observer.index()] {
                    return Todo::Nothing;
                }
                if self.up[peer.index()] && self.router.parts(observer, peer) {
                    self.parted.insert((observer, peer));
                }
                if self.hears(observer, peer) != suspect {
                    return Todo::Suspicion { observer, peer, verdict: verdict(suspect) };
                }
                Todo::Nothing
            }
            Act::Lie { fault, observer, peer, suspect } => {
                if !self.up[observer.index()] || !self.up[peer.index()] {
                    return Todo::Nothing;
                }
                self.fired[fault as usize] += u64::from(suspect);
                self.upset();
                Todo::Suspicion { observer, peer, verdict: verdict(suspect) }
            }
            Act::Cut { fault, partition } => {
                self.cut(fault, partition);
                self.progressed();
                Todo::Nothing
            }
            Act::Heal { partition } => {
                self.router.cut(partition, false);
                self.trace_group(Kind::Heal);
                self.announce_across(partition, false);
                self.progressed();
                Todo::Nothing
            }
            Act::Crash { fault, process } => self.crash(process, Some(fault)),
            Act::Trap { fault, inside, count } => self.trap(fault, inside, count),
            Act::Recover { fault, process, lost } => {
                if self.up[process.index()] {
                    return Todo::Nothing;
                }
                match self.settings.faults[fault as usize] {
                    Fault::Crash { .. } => self.comebacks += 1,
                    _ => self.fired[fault as usize] += 1,
                }
                Todo::Recover { process, lost }
            }
            Act::Script { index } => {
                self.script_left -= 1;
                Todo::Script(index)
            }
        }
    }

    fn arrival(&mut self, process: ProcessId) -> Todo {
        let Some(users) = &mut self.users else { return Todo::Nothing };
        if users.arrival(process, self.now, &mut self.agenda) {
            return Todo::Ask(process, mutex::Command::Enter);
        }
        Todo::Nothing
    }

    pub(crate) fn hear(&mut self, chat: u32) -> Todo {
        let Chat { from, to, tag, clock } = self.chats.receive(chat);
        if !self.up[to.index()] {
            self.take_tag(tag, None, Through::All);
            return Todo::Nothing;
        }
        let ticket = self.recorder.as_ref().map(|recorder| recorder.look(tag));
        self.take_tag(tag, Some(to), Through::All);
        if let Some(ticket) = ticket {
            let passage = Passage::of(&Said, from, ticket.session, ticket.number);
            self.trace(to, Kind::Receive(passage));
        }
        let reacts = self.settings.workload.chatter.is_some_and(|chatter| chatter.react)
            && self.users.as_ref().is_some_and(|users| users.can_react(to));
        Todo::Hear { process: to, clock, reacts }
    }

    fn cut(&mut self, fault: u32, partition: u32) {
        self.router.cut(partition, true);
        if let Fault::Partition { side, .. } = &self.settings.faults[fault as usize] {
            let sides = self.sides(side);
            self.fired[fault as usize] += 1;
            self.trace_group(Kind::Partition(sides));
        }
        self.announce_across(partition, true);
    }

    /// Whether a process can hear of a peer: it is up, and no partition is between them.
    fn hears(&self, observer: ProcessId, peer: ProcessId) -> bool {
        self.up[peer.index()] && !self.router.parts(observer, peer)
    }

    fn sides(&self, side: &[ProcessId]) -> Vec<Vec<ProcessId>> {
        let all = (0..self.settings.size).map(ProcessId);
        let (inside, outside): (Vec<_>, Vec<_>) = all.partition(|process| side.contains(process));
        vec![inside, outside]
    }

    fn trap(&mut self, fault: u32, inside: bool, count: u32) -> Todo {
        match self.caught(fault, inside, count) {
            Some(process) => self.crash(process, Some(fault)),
            None => Todo::Nothing,
        }
    }

    /// Who is still where a fault wants to crash it.
    pub(crate) fn caught(&self, fault: u32, inside: bool, count: u32) -> Option<ProcessId> {
        let Fault::Crash { process, .. } = self.settings.faults[fault as usize] else {
            return None;
        };
        let users = self.users.as_ref()?;
        let (requests, entries) = users.counts(process);
        let caught = match users.phase(process) {
            Phase::Inside => inside && entries == count,
            Phase::Waiting => !inside && requests == count,
            _ => false,
        };
        caught.then_some(process)
    }

    /// Crashes a process, as far as it does not depend on the protocol: because of a fault of the
    /// settings, or because somebody says so.
    pub(crate) fn crash(&mut self, process: ProcessId, fault: Option<u32>) -> Todo {
        if !self.up[process.index()] {
            return Todo::Nothing;
        }
        if let Some(fault) = fault {
            self.fired[fault as usize] += 1;
            let asked = &self.settings.faults[fault as usize];
            if let Fault::Crash { recovery: Some(back), .. } = asked {
                let lost = back.memory == Memory::Lost;
                let act = Act::Recover { fault, process, lost };
                self.plan.push(self.now + back.after, act);
            }
        }
        self.trace(process, Kind::Crash);
        self.up[process.index()] = false;
        self.live -= 1;
        self.crashes += 1;
        if let Some(users) = &mut self.users
            && users.crashed(process) == Phase::Waiting
        {
            self.metrics.waiting.change(self.now, false);
            if self.metrics.waiting.now() == 0 {
                // Nobody is left who waits for what was given back.
                self.last_exit = None;
            }
        }
        self.beliefs.forget(process, &self.up);
        self.beliefs.recount(&self.up);
        self.elections.disturb();
        self.upset();
        if let Some(mutex) = &mut self.mutex {
            mutex.crashed(self.now, process);
        }
        if let Some(election) = &mut self.election {
            election.observe(self.now, process, Observed::Crashed);
        }
        if let Some(users) = &mut self.agreeing {
            users.crashed(process);
        }
        if let Some(agreement) = &mut self.agreement {
            agreement.observe(self.now, process, Observed::Crashed);
        }
        self.announce(process, true);
        self.progressed();
        Todo::Crash(process)
    }

    /// A process has come back; its boot's effects are yet to be released.
    pub(crate) fn recovered(&mut self, process: ProcessId) {
        self.up[process.index()] = true;
        self.live += 1;
        self.recoveries += 1;
        if let Some(session) = self.sessions.get_mut(process.index()) {
            *session += 1;
        }
        self.trace_event(process, Kind::Recover);
        self.beliefs.recount(&self.up);
        self.elections.disturb();
        self.upset();
        if let Some(mutex) = &mut self.mutex {
            mutex.recovered(self.now, process);
        }
        if let Some(election) = &mut self.election {
            election.observe(self.now, process, Observed::Recovered);
        }
        if let Some(agreement) = &mut self.agreement {
            agreement.observe(self.now, process, Observed::Recovered);
        }
        self.announce(process, false);
        self.announce_absent(process);
        if let Some(users) = &mut self.users {
            users.recovered(process);
        }
        self.progressed();
    }

    /// Plans what the detector says to everybody of one process.
    fn announce(&mut self, peer: ProcessId, suspect: bool) {
        let Some(detector) = self.settings.detector else { return };
        for place in 0..self.settings.size {
            let observer = ProcessId(place);
            if observer != peer && self.up[observer.index()] {
                self.plan_to_tell(detector, (observer, peer), suspect);
            }
        }
    }

    /// Plans what the detectors of both sides say of the other side: that it is gone when a
    /// partition begins, and when it ends that it is back, if they had said that it was gone.
    fn announce_across(&mut self, partition: u32, suspect: bool) {
        let Some(detector) = self.settings.detector else { return };
        let everybody = || (0..self.settings.size).map(ProcessId);
        let mut pairs: Vec<_> = if suspect {
            everybody().flat_map(|at| everybody().map(move |peer| (at, peer))).collect()
        } else {
            self.parted.iter().copied().collect()
        };
        pairs.retain(|(at, peer)| self.router.is_between(partition, *at, *peer));
        pairs.retain(|(at, peer)| self.hears(*at, *peer) != suspect && self.up[at.index()]);
        for pair in pairs {
            if !suspect {
                self.parted.remove(&pair);
            }
            self.plan_to_tell(detector, pair, suspect);
        }
    }

    fn plan_to_tell(
        &mut self,
        detector: Detector,
        (observer, peer): (ProcessId, ProcessId),
        suspect: bool,
    ) {
        let told = self.now + detector.delay.draw(&mut self.detector_random);
        self.tells_left += 1;
        self.agenda.push(told, Act::Tell { observer, peer, suspect });
    }

    /// Plans what the detector says to one process of all who are down or out of reach.
    fn announce_absent(&mut self, observer: ProcessId) {
        let Some(detector) = self.settings.detector else { return };
        for place in 0..self.settings.size {
            let peer = ProcessId(place);
            if observer != peer && !self.hears(observer, peer) {
                self.plan_to_tell(detector, (observer, peer), true);
            }
        }
    }

    /// Plans what the detector says of those who are down from the start.
    pub(crate) fn announce_start(&mut self) {
        for place in 0..self.up.len() {
            if !self.up[place] {
                self.announce(ProcessId::at(place), true);
            }
        }
    }

    /// A user asks, and is about to be heard by the protocol.
    pub(crate) fn asked(&mut self, at: ProcessId, ask: office::Command) {
        match ask {
            office::Command::Mutex(mutex::Command::Enter) => {
                self.metrics.waiting.change(self.now, true);
                if let Some(users) = &mut self.users {
                    users.asked_to_enter(at, self.now);
                    if self.fragile {
                        self.set_traps(at, false);
                    }
                }
            }
            office::Command::Mutex(mutex::Command::Exit) => {
                if let Some(users) = &mut self.users {
                    users.asked_to_exit(at, self.now);
                }
            }
            office::Command::Election(election::Command::Elect) => {
                self.beliefs.asked(at);
                self.metrics.started += 1;
                self.upset();
            }
            office::Command::Election(election::Command::Resign) => self.upset(),
        }
        self.judge_asked(at, ask);
    }

    /// After a request was made: perhaps tell somebody, with the protocol's clock.
    #[cold]
    pub(crate) fn tell_others(&mut self, at: ProcessId, clock: Option<u64>) {
        let Some(chatter) = self.settings.workload.chatter else { return };
        let size = self.settings.size;
        if size < 2 || !self.chances(chatter.tell, self.metrics.chatted) {
            return;
        }
        let other = self.chatter.below(u64::from(size) - 1) as u32;
        let to = ProcessId(other + u32::from(other >= at.0));
        let arrives = self.now + chatter.latency.draw(&mut self.chatter);
        let chat = self.chat(at, to, clock);
        self.agenda.push(arrives, Act::Chat { chat });
    }

    /// One user sends another a message. Returns the number under which it arrives.
    pub(crate) fn chat(&mut self, at: ProcessId, to: ProcessId, clock: Option<u64>) -> u32 {
        self.metrics.chatted += 1;
        let tag = if self.tagging { self.tag(at) } else { 0 };
        if let Some(recorder) = &self.recorder {
            let ticket = recorder.look(tag);
            let passage = Passage::of(&Said, to, ticket.session, ticket.number);
            self.trace(at, Kind::Send(passage));
        }
        self.chats.send(Chat { from: at, to, tag, clock })
    }

    /// A user is told.
    pub(crate) fn told(&mut self, at: ProcessId, event: &impl Facts) {
        if let Some(event) = event.of_mutex() {
            self.told_of_the_lock(at, event);
        }
        if let Some(event) = event.of_election() {
            self.told_of_a_leader(at, event);
        }
        if let Some(event) = event.of_agreement() {
            self.told_of_an_agreement(at, &event);
        }
    }

    /// A user asks for an agreement, and is about to be heard by the protocol.
    pub(crate) fn asked_to_agree(&mut self, at: ProcessId, command: &agreement::Command) {
        if let Some(users) = &mut self.agreeing {
            users.asked(at, command);
            self.metrics.agreements = users.agreements();
            self.agreeing_since.get_or_insert(self.now);
        }
        if let Some(jury) = &mut self.agreement {
            jury.observe(self.now, at, Observed::Command { command, clock: None });
        }
    }

    fn told_of_an_agreement(&mut self, at: ProcessId, event: &agreement::Event) {
        if let Some(users) = &mut self.agreeing {
            users.told(at, event);
            self.metrics.agreement_time = self.now - self.agreeing_since.unwrap_or(self.now);
            if self.settings.watch.metrics {
                self.told[at.index()].push(event.to_string());
            }
            self.again = users.next(at).map(|_| at);
        }
        if let Some(jury) = &mut self.agreement {
            jury.observe(self.now, at, Observed::Event(event));
        }
        self.progressed();
    }

    fn told_of_the_lock(&mut self, at: ProcessId, event: &mutex::Event) {
        match event {
            mutex::Event::Entered { .. } => self.entered(at),
            mutex::Event::Exited => self.exited(at),
        }
        if let Some(jury) = &mut self.mutex {
            jury.told(self.now, at, event);
        }
    }

    fn told_of_a_leader(&mut self, at: ProcessId, event: &election::Event) {
        match event {
            election::Event::Elected { leader, .. } => {
                self.beliefs.elected(at, *leader, &self.up);
                self.progressed();
            }
            election::Event::Deposed { .. } => self.beliefs.forget(at, &self.up),
        }
        self.follow_elections();
        if let Some(jury) = &mut self.election {
            jury.observe(self.now, at, Observed::Event(event));
        }
    }

    fn entered(&mut self, at: ProcessId) {
        self.metrics.entered += 1;
        self.metrics.waiting.change(self.now, false);
        if self.settings.watch.metrics {
            self.metrics.entries.push(at);
        }
        if let Some(exit) = self.last_exit.take() {
            self.metrics.synchronisation_delay.add(self.now - exit);
        }
        if let Some(users) = &mut self.users {
            if let Some(waited) = users.entered(at, self.now, &mut self.agenda) {
                self.metrics.entry_delay.add(waited);
            }
            if self.fragile {
                self.set_traps(at, true);
            }
        }
        self.progressed();
    }

    fn exited(&mut self, at: ProcessId) {
        let waiting = self.metrics.waiting.now() > 0;
        self.last_exit = waiting.then_some(self.now);
        if let Some(users) = &mut self.users {
            let (took, again) = users.exited(at, self.now, &mut self.agenda);
            if let Some(took) = took {
                self.metrics.exit_delay.add(took);
            }
            self.again = again.then_some(at);
        }
        self.progressed();
    }

    /// Plans the crashes that were to happen inside, or while waiting.
    #[cold]
    fn set_traps(&mut self, process: ProcessId, inside: bool) {
        let Some(users) = &self.users else { return };
        let (requests, entries) = users.counts(process);
        for (fault, asked) in self.settings.faults.iter().enumerate() {
            let Fault::Crash { process: whose, when, .. } = asked else { continue };
            let (wanted, after) = match *when {
                When::Inside { entry, after } if inside => (entry, after),
                When::Waiting { request, after } if !inside => (request, after),
                _ => continue,
            };
            let count = if inside { entries } else { requests };
            if *whose == process && wanted == u64::from(count) {
                let fault = u32::try_from(fault).expect("fewer than 2^32 faults");
                self.plan.push(self.now + after, Act::Trap { fault, inside, count });
            }
        }
    }
}

/// What a user says to another.
struct Said;

impl tenure_core::Labelled for Said {
    fn label(&self) -> tenure_core::Label {
        tenure_core::Label { layer: tenure_core::Layer::Application, kind: "chat" }
    }
}
