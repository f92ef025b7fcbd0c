//! Cluster of protocol instances in memory. A test decides each step of the cluster.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use tenure_core::{
    ChannelOrder, EffectBuffer, Environment, Group, Input, Labelled, Layer, LocalTime, Observation,
    PeerVerdict, ProcessId, Protocol, TimerChange,
};

use crate::scripts::process_timers::{ProcessTimers, TimerDueTime};
use crate::scripts::random::SplitMix64;
use crate::scripts::save_fault::{MuteState, SaveFault, SaveFaults};
use crate::scripts::script::{MessageSelector, ScriptAction};

/// Number of steps after which a cluster is considered to run forever.
pub(crate) const MAX_STEPS: u32 = 10_000;

/// Cluster of processes in memory. The caller decides each step.
///
/// All behavior is deterministic. Each random choice is 0 unless a value is set. A timer is due
/// after the minimum of its delay. Time passes only when a timer fires.
///
/// To drive the cluster, use script actions ([`ScriptRunner`](crate::ScriptRunner)) or the methods
/// here. A method panics if its step is impossible.
#[derive(Debug)]
pub struct TestCluster<P: Protocol> {
    places: Vec<ProcessSlot<P>>,
    configs: Vec<P::Config>,
    pub(crate) channel_order: ChannelOrder,
    /// Messages in flight on all links, from the oldest to the newest.
    pub(crate) in_flight: Vec<InFlightMessage<P::Message>>,
    /// Groups of processes into which the current partition splits the network. Empty if there is
    /// no partition.
    pub(crate) sides: Vec<Vec<ProcessId>>,
    /// For each link with messages in flight, the number of these messages.
    busy: BTreeMap<Link, usize>,
    /// Messages in flight between the applications of processes, the oldest first. Each element is
    /// the link of one message.
    pub(crate) application_messages: Vec<Link>,
    armed: u64,
    pub(crate) batch: EffectBuffer<P, RandomSource>,
    /// Events since the last call of [`TestCluster::take_events`].
    seen: Vec<(ProcessId, ProcessEvent<P>)>,
    sent: BTreeMap<(Layer, &'static str), u64>,
    /// Lines of the transcript. `None` if the test has not requested a transcript.
    lines: Option<Vec<String>>,
    /// Actions performed so far. In place of an action `stabilize`, the list contains its
    /// individual steps.
    pub(crate) performed_actions: Vec<ScriptAction>,
    /// Save fault of each process, if any. The fault lasts until the next crash of the process.
    save_faults: SaveFaults<P>,
}

/// Directed link: the sending and the receiving process.
pub type Link = (ProcessId, ProcessId);

/// Event at a process: a command of its user, an event for its user, a crash or a recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent<P: Protocol> {
    /// The user issued a command.
    Command(P::Command),
    /// The process emitted an event.
    Event(P::Event),
    /// The process crashed.
    Crashed,
    /// The process recovered.
    Recovered,
}

impl<P: Protocol> ProcessEvent<P> {
    /// Converts the event to the form that monitors observe. The result has no vector clock.
    pub fn to_observation(&self) -> Observation<'_, P::Command, P::Event> {
        match self {
            ProcessEvent::Command(command) => Observation::Command { command, clock: None },
            ProcessEvent::Event(event) => Observation::Event(event),
            ProcessEvent::Crashed => Observation::Crashed,
            ProcessEvent::Recovered => Observation::Recovered,
        }
    }
}

#[derive(Debug)]
enum ProcessSlot<P: Protocol> {
    Up { process: P, timers: ProcessTimers<P::Timer> },
    Down { stable: P::Stable },
}

#[derive(Clone, Debug)]
pub(crate) struct InFlightMessage<M> {
    pub(crate) link: Link,
    pub(crate) message: M,
}

/// Source of random numbers for all processes, and their local clock. The first random numbers come
/// from actions `choose`. The next numbers come from a list, and all further numbers from a seeded
/// generator. Without a generator, the number is 0.
#[derive(Debug, Default)]
pub(crate) struct RandomSource {
    pub(crate) choices: VecDeque<u32>,
    /// Random numbers that the process drew in the current step.
    pub(crate) drawn: Vec<u32>,
    listed: VecDeque<u32>,
    seed: Option<u64>,
    clock: LocalTime,
}

impl Environment for RandomSource {
    fn choose(&mut self, bound: u32) -> u32 {
        let choices = self.choices.pop_front().map(|value| value.min(bound - 1));
        let value = match (choices.or_else(|| self.listed.pop_front()), &mut self.seed) {
            (Some(value), _) => value,
            (None, None) => 0,
            (None, Some(seed)) => {
                *seed += 1;
                SplitMix64(*seed).below(bound as usize) as u32
            }
        };
        self.drawn.push(value);
        value
    }

    fn local_clock(&mut self) -> LocalTime {
        self.clock
    }
}

impl<P: Protocol> TestCluster<P> {
    /// Creates a cluster of `size` booted processes, with `config` for each.
    pub fn new(size: u32, order: ChannelOrder, config: impl Fn(Group) -> P::Config) -> Self {
        TestCluster::booted(size, &[], order, config, false)
    }

    /// Creates a cluster of `size` booted processes, all with the configuration `config`.
    pub fn with_same_config(size: u32, order: ChannelOrder, config: P::Config) -> Self {
        TestCluster::new(size, order, |_| config.clone())
    }

    /// Creates a cluster that records a transcript; see [`TestCluster::take_transcript`].
    pub fn with_transcript(
        size: u32,
        order: ChannelOrder,
        config: impl Fn(Group) -> P::Config,
    ) -> Self {
        TestCluster::booted(size, &[], order, config, true)
    }

    pub(crate) fn booted(
        size: u32,
        down: &[ProcessId],
        order: ChannelOrder,
        config: impl Fn(Group) -> P::Config,
        records_transcript: bool,
    ) -> Self {
        let configs = (0..size).map(|me| config(Group::new(ProcessId(me), size))).collect();
        let mut cluster = TestCluster {
            places: Vec::new(),
            configs,
            channel_order: order,
            in_flight: Vec::new(),
            sides: Vec::new(),
            busy: BTreeMap::new(),
            application_messages: Vec::new(),
            armed: 0,
            batch: EffectBuffer::default(),
            seen: Vec::new(),
            sent: BTreeMap::new(),
            lines: records_transcript.then(Vec::new),
            performed_actions: Vec::new(),
            save_faults: SaveFaults::default(),
        };
        for me in (0..size).map(ProcessId) {
            let up = cluster.boot(me, None);
            cluster.places.push(up);
            if down.contains(&me) {
                cluster.batch.clear();
                cluster.shut(me);
                continue;
            }
            if !(cluster.batch.messages.is_empty() && cluster.batch.events.is_empty()) {
                cluster.transcribe(|| format!("{me} boots"));
            }
            cluster.release(me);
        }
        cluster.batch.environment.drawn.clear();
        cluster
    }

    /// Sets the random values that processes draw. The first values come from `listed`. All later
    /// values come from a generator with the seed `seed`.
    pub fn set_random_values(&mut self, listed: impl IntoIterator<Item = u32>, seed: u64) {
        let source = &mut self.batch.environment;
        (source.listed, source.seed) = (listed.into_iter().collect(), Some(seed));
    }

    /// Returns the number of processes in the cluster, including those that are down.
    pub fn size(&self) -> u32 {
        ProcessId::from_index(self.places.len()).0
    }

    /// Returns the ids of all processes.
    pub fn process_ids(&self) -> Vec<ProcessId> {
        (0..self.size()).map(ProcessId).collect()
    }

    /// Returns the ids of the processes that are up.
    pub fn live_processes(&self) -> Vec<ProcessId> {
        self.process_ids().into_iter().filter(|at| self.is_up(*at)).collect()
    }

    /// Returns true if the process is up.
    pub fn is_up(&self, at: ProcessId) -> bool {
        self.process(at).is_some()
    }

    /// Returns the process `at`; `None` if it is down or does not exist.
    pub fn process(&self, at: ProcessId) -> Option<&P> {
        match self.places.get(at.index())? {
            ProcessSlot::Up { process, .. } => Some(process),
            ProcessSlot::Down { .. } => None,
        }
    }

    /// Returns the sender, the receiver and the content of each message in flight, from the oldest
    /// to the newest message.
    pub fn in_flight(&self) -> impl Iterator<Item = (ProcessId, ProcessId, &P::Message)> {
        self.in_flight.iter().map(|sent| (sent.link.0, sent.link.1, &sent.message))
    }

    /// Returns the messages in flight on a link, from the oldest to the newest.
    pub fn messages_on_link(&self, link: Link) -> Vec<&P::Message> {
        let on_link = self.in_flight.iter().filter(|sent| sent.link == link);
        on_link.map(|sent| &sent.message).collect()
    }

    /// Returns the links with messages in flight, in ascending order.
    pub fn links_in_use(&self) -> Vec<Link> {
        self.busy.keys().copied().collect()
    }

    /// Returns the armed timers of all processes, each with the process that armed it.
    pub fn armed_timers(&self) -> Vec<(ProcessId, P::Timer)> {
        self.timers().map(|(at, timer, _)| (at, timer.clone())).collect()
    }

    /// Returns the timer that is due first, with the process that armed it. `None` if no timer is
    /// armed.
    pub fn next_timer(&self) -> Option<(ProcessId, P::Timer)> {
        let next = self.timers().min_by_key(|(.., due)| *due);
        next.map(|(at, timer, _)| (at, timer.clone()))
    }

    pub(crate) fn timers_of(&self, at: ProcessId) -> Vec<&P::Timer> {
        self.timers().filter(|(whose, ..)| *whose == at).map(|(_, timer, _)| timer).collect()
    }

    fn timers(&self) -> impl Iterator<Item = (ProcessId, &P::Timer, TimerDueTime)> {
        let up = self.places.iter().enumerate().filter_map(|(index, place)| match place {
            ProcessSlot::Up { timers, .. } => Some((ProcessId::from_index(index), timers)),
            ProcessSlot::Down { .. } => None,
        });
        up.flat_map(|(at, timers)| timers.iter().map(move |(timer, due)| (at, timer, due)))
    }

    /// Returns the numbers of messages sent so far, by layer and kind.
    pub fn sent_counts(&self) -> &BTreeMap<(Layer, &'static str), u64> {
        &self.sent
    }

    /// Returns the number of messages of this kind that processes have sent so far.
    pub fn sent_count(&self, kind: &str) -> u64 {
        self.sent.iter().filter(|((_, named), _)| *named == kind).map(|(_, count)| count).sum()
    }

    /// Returns the number of messages of all kinds that processes have sent so far.
    pub fn total_sent(&self) -> u64 {
        self.sent.values().sum()
    }

    /// Returns the events since the last call of this method, each with its process.
    pub fn take_events(&mut self) -> Vec<(ProcessId, ProcessEvent<P>)> {
        mem::take(&mut self.seen)
    }

    /// Returns the lines that were added to the transcript since the last call. Each event has one
    /// line, and the effects of a step are indented. The result is empty if the cluster was created
    /// without a transcript. See [`with_transcript`](TestCluster::with_transcript).
    pub fn take_transcript(&mut self) -> Vec<String> {
        self.lines.as_mut().map(mem::take).unwrap_or_default()
    }

    /// Adds a line to the transcript, if the cluster records one.
    pub(crate) fn transcribe(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }
}

impl<P: Protocol> TestCluster<P> {
    /// Lets the user of a process issue a command.
    #[track_caller]
    pub fn issue_command(&mut self, at: ProcessId, command: P::Command) {
        self.transcribe(|| format!("{at} asks {command:?}"));
        self.seen.push((at, ProcessEvent::Command(command.clone())));
        self.step(at, Input::Command(command));
    }

    /// Informs a process of a verdict of its failure detector.
    #[track_caller]
    pub fn report_suspicion(&mut self, at: ProcessId, peer: ProcessId, verdict: PeerVerdict) {
        let verb = if verdict == PeerVerdict::Suspect { "suspects" } else { "trusts" };
        self.transcribe(|| format!("{at} {verb} {peer}"));
        self.step(at, Input::Suspicion { peer, verdict });
    }

    /// Crashes a process. The process loses everything but its stable state.
    #[track_caller]
    pub fn crash(&mut self, at: ProcessId) {
        self.shut(at);
        self.seen.push((at, ProcessEvent::Crashed));
        self.transcribe(|| format!("{at} crashes"));
    }

    #[track_caller]
    fn shut(&mut self, at: ProcessId) {
        let save_fault = self.save_faults.remove(at);
        let place = &mut self.places[at.index()];
        let ProcessSlot::Up { process, .. } = place else { panic!("{at} is up") };
        let stable = match save_fault {
            Some(SaveFault::Unsaved(before)) => before.stable(),
            _ => process.stable(),
        };
        *place = ProcessSlot::Down { stable };
    }

    /// Makes a process mute. From now on it sends no messages, emits no events and sets no timers,
    /// and saves its state as [`MuteState`] describes. The test must crash the process later.
    pub fn mute(&mut self, at: ProcessId) {
        self.transcribe(|| format!("{at} is mute"));
        self.save_faults.insert(at, SaveFault::Mute(MuteState::NoInputYet));
    }

    /// Makes a process stop saving its steps. After its next crash, the process recovers with the
    /// stable state that it had before this call.
    #[track_caller]
    pub fn stop_saving(&mut self, at: ProcessId) {
        let before = self.process(at).unwrap_or_else(|| panic!("{at} is up")).clone();
        self.transcribe(|| format!("{at} does not save its next step"));
        self.save_faults.insert(at, SaveFault::Unsaved(before));
    }

    /// Boots a crashed process with its saved state.
    #[track_caller]
    pub fn recover(&mut self, at: ProcessId) {
        let ProcessSlot::Down { stable } = &self.places[at.index()] else { panic!("{at} is down") };
        let stable = stable.clone();
        self.transcribe(|| format!("{at} recovers"));
        self.seen.push((at, ProcessEvent::Recovered));
        self.places[at.index()] = self.boot(at, Some(stable));
        self.release(at);
    }

    /// Fires an armed timer.
    #[track_caller]
    pub fn fire_timer(&mut self, at: ProcessId, timer: P::Timer) {
        let due = self.disarm(at, &timer).expect("the timer is armed");
        let clock = &mut self.batch.environment.clock;
        *clock = LocalTime(clock.0.max(due.at));
        self.transcribe(|| format!("{at}'s timer {timer:?} fires"));
        self.step(at, Input::Timer(timer));
    }

    /// Disarms a timer, if it is armed. The process takes no step.
    pub fn disarm_timer(&mut self, at: ProcessId, timer: &P::Timer) {
        self.disarm(at, timer);
    }

    fn disarm(&mut self, at: ProcessId, timer: &P::Timer) -> Option<TimerDueTime> {
        let ProcessSlot::Up { timers, .. } = &mut self.places[at.index()] else { return None };
        timers.remove(timer)
    }

    /// Delivers a message to `to` as if `from` had sent it.
    #[track_caller]
    pub fn inject_and_deliver(&mut self, from: ProcessId, to: ProcessId, message: P::Message) {
        self.transcribe(|| format!("{to} receives {message:?} from {from}"));
        self.step(to, Input::Message { from, message });
    }

    /// Delivers the message at this position of a link, even if it is not the oldest and links are
    /// FIFO. Position 0 is the oldest message.
    #[track_caller]
    pub fn deliver_at(&mut self, link: Link, position: usize) {
        let place = self.place(link, position);
        self.deliver_nth(place);
    }

    /// Delivers the oldest message of a link. If links reorder messages, delivers a random message
    /// of the link instead.
    #[track_caller]
    pub fn deliver(&mut self, link: Link, rng: &mut SplitMix64) {
        let position = match self.channel_order {
            ChannelOrder::Fifo => 0,
            ChannelOrder::Reordered => rng.below(self.messages_on_link(link).len()),
        };
        self.deliver_at(link, position);
    }

    /// Duplicates the oldest message of a link.
    #[track_caller]
    pub fn duplicate_oldest(&mut self, link: Link) {
        self.duplicate_nth(self.place(link, 0));
    }

    /// Drops the oldest message of a link.
    #[track_caller]
    pub fn lose_oldest(&mut self, link: Link) {
        self.lose_nth(self.place(link, 0));
    }

    /// Delivers messages on random links until none is in flight. Fires no timers, and ignores
    /// partitions.
    pub fn deliver_all(&mut self, rng: &mut SplitMix64) {
        while let Some(link) = rng.pick(&self.links_in_use()) {
            self.deliver(*link, rng);
        }
    }

    /// Delivers messages until none is in flight, then fires the timer that is due first. Repeats
    /// this until nothing is left to do. Ignores partitions. Panics after 10,000 timers.
    #[track_caller]
    pub fn run_until_quiescent(&mut self) {
        for _ in 0..MAX_STEPS {
            self.deliver_all(&mut SplitMix64(0));
            match self.next_timer() {
                Some((at, timer)) => self.fire_timer(at, timer),
                None => return,
            }
        }
        panic!("the cluster comes to rest");
    }

    /// Delivers the oldest message that no partition blocks. If there is none and `fires_timers` is
    /// true, fires the timer that is due first. Returns false if there was nothing to do.
    pub(crate) fn take_step(&mut self, fires_timers: bool) -> bool {
        if let Some(place) = self.next_deliverable_index() {
            let (from, to) = self.in_flight[place].link;
            self.deliver_nth(place);
            self.record_action(ScriptAction::Deliver(MessageSelector::oldest(from, to)));
            return true;
        }
        let Some((at, timer)) = self.next_timer().filter(|_| fires_timers) else { return false };
        let action = ScriptAction::Fire { at, timer: format!("{timer:?}") };
        self.fire_timer(at, timer);
        self.record_action(action);
        true
    }

    /// Records the random values that a step has drawn, and then the action of this step.
    pub(crate) fn record_action(&mut self, action: ScriptAction) {
        let source = &mut self.batch.environment;
        source.choices.clear();
        let drawn = mem::take(&mut source.drawn).into_iter();
        let at = action.actor();
        self.performed_actions
            .extend(drawn.filter_map(|value| Some(ScriptAction::Choose { at: at?, value })));
        self.performed_actions.push(action);
    }

    /// Returns the index in `in_flight` of the oldest message that no partition blocks.
    pub(crate) fn next_deliverable_index(&self) -> Option<usize> {
        self.in_flight.iter().position(|sent| !self.is_cut(sent.link))
    }

    /// Returns true if the current partition cuts a link. A process that is on no side is cut off
    /// from all others.
    pub(crate) fn is_cut(&self, (from, to): Link) -> bool {
        let side = |at| self.sides.iter().position(|side| side.contains(&at));
        !self.sides.is_empty() && from != to && (side(from) != side(to) || side(from).is_none())
    }

    #[track_caller]
    fn place(&self, link: Link, before: usize) -> usize {
        let mut sent = self.in_flight.iter().enumerate().filter(|(_, sent)| sent.link == link);
        sent.nth(before).expect("the link has this many messages").0
    }

    fn take(&mut self, place: usize) -> InFlightMessage<P::Message> {
        let sent = self.in_flight.remove(place);
        let left = self.busy.get_mut(&sent.link).expect("its link has messages");
        *left -= 1;
        if *left == 0 {
            self.busy.remove(&sent.link);
        }
        sent
    }

    fn put(&mut self, place: usize, sent: InFlightMessage<P::Message>) {
        *self.busy.entry(sent.link).or_default() += 1;
        self.in_flight.insert(place, sent);
    }

    /// Delivers the message with this index in `in_flight`. The message is lost if its receiver is
    /// down.
    pub(crate) fn deliver_nth(&mut self, index: usize) {
        let InFlightMessage { link: (from, to), message } = self.take(index);
        if self.is_up(to) {
            self.inject_and_deliver(from, to, message);
        } else {
            self.transcribe(|| format!("{message:?} from {from} is lost: {to} is down"));
        }
    }

    /// Drops the message with this index in `in_flight`.
    pub(crate) fn lose_nth(&mut self, index: usize) {
        let InFlightMessage { link: (from, to), message } = self.take(index);
        self.transcribe(|| format!("{message:?} from {from} to {to} is lost"));
    }

    /// Duplicates the message with this index in `in_flight`.
    pub(crate) fn duplicate_nth(&mut self, index: usize) {
        let copy = self.in_flight[index].clone();
        let InFlightMessage { link: (from, to), message } = &copy;
        self.transcribe(|| format!("{message:?} from {from} to {to} is duplicated"));
        self.put(index + 1, copy);
    }

    pub(crate) fn transcribe_state(&mut self, at: ProcessId) {
        let line = match &self.places[at.index()] {
            ProcessSlot::Up { process, timers } if timers.is_empty() => format!("{process:?}"),
            ProcessSlot::Up { process, timers } => {
                format!(
                    "{process:?}, armed {:?}",
                    timers.iter().map(|(timer, _)| timer).collect::<Vec<_>>()
                )
            }
            ProcessSlot::Down { stable } => format!("down, saved {stable:?}"),
        };
        self.transcribe(|| format!("{at} is {line}"));
    }

    fn boot(&mut self, me: ProcessId, stable: Option<P::Stable>) -> ProcessSlot<P> {
        let size = ProcessId::from_index(self.configs.len()).0;
        let config = &self.configs[me.index()];
        let process = P::boot(Group::new(me, size), config, stable, &mut self.batch.sink());
        ProcessSlot::Up { process, timers: ProcessTimers::default() }
    }

    #[track_caller]
    fn step(&mut self, at: ProcessId, input: Input<P>) {
        let ProcessSlot::Up { process, timers } = &mut self.places[at.index()] else {
            panic!("{at} is up")
        };
        let Some(since) = self.save_faults.mute_state_mut(at) else {
            process.step(input, &mut self.batch.sink());
            return self.release(at);
        };
        let mut after = process.clone();
        after.step(input, &mut self.batch.sink());
        *since = since.after_input(after.stable() != process.stable());
        if *since == MuteState::Saved {
            *process = after;
            for change in &self.batch.timers {
                let (TimerChange::Set(timer, _) | TimerChange::Cancel(timer)) = change;
                timers.remove(timer);
            }
        } else {
            timers.clear();
        }
        self.batch.clear();
    }

    #[track_caller]
    fn release(&mut self, at: ProcessId) {
        for (to, message) in mem::take(&mut self.batch.messages) {
            assert!(to != at, "{at} sends {message:?} to itself");
            self.transcribe(|| format!("  sends {to} {message:?}"));
            let label = message.label();
            *self.sent.entry((label.layer, label.kind)).or_default() += 1;
            self.put(self.in_flight.len(), InFlightMessage { link: (at, to), message });
        }
        if let ProcessSlot::Up { timers, .. } = &mut self.places[at.index()] {
            for change in self.batch.timers.drain(..) {
                match change {
                    TimerChange::Set(timer, after) => {
                        self.armed += 1;
                        let due = self.batch.environment.clock.0 + after.min;
                        timers.insert(timer, TimerDueTime { at: due, armed: self.armed });
                    }
                    TimerChange::Cancel(timer) => drop(timers.remove(&timer)),
                }
            }
        }
        for event in mem::take(&mut self.batch.events) {
            self.transcribe(|| format!("  emits {event:?}"));
            self.seen.push((at, ProcessEvent::Event(event)));
        }
    }
}
