//! Schedules: recorded decisions from which an engine reproduces a run.

use std::collections::BTreeMap;

use tenure_core::service::mutex;
use tenure_core::{ChannelOrder, Group, ProcessId, Protocol};

use crate::fold::process_state::{ProcessCondition, ProcessStates};
use crate::format::{MessageRecord, Record, RecordKind, RecordSubject, Trace};
use crate::scripts::cluster::TestCluster;
use crate::scripts::perform::{PerformError, perform_script_on};
use crate::scripts::runner::{ScheduleReplayError, ScriptRunner};
use crate::scripts::script::{MessageSelector, Script, ScriptAction};
use crate::scripts::service_command::{RecordableProtocol, ServiceCommand};
use crate::scripts::users::ClusterWithUsers;

/// The decisions of a run in order, such as deliveries of messages. The schedule does not contain
/// their effects, which follow from the protocol.
///
/// Each engine that follows a schedule reproduces the run. Engines are the simulator, the checker,
/// and real nodes whose deliveries are controlled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Number of processes.
    pub size: u32,
    /// Processes that are down from the start.
    pub down_at_start: Vec<ProcessId>,
    /// Actions of the run. The actions `group`, `channel`, `stabilize` and `look` do not occur.
    pub actions: Vec<ScriptAction>,
    /// Number of actions at the end of `actions` that repeat forever. 0 if the run ends.
    pub cycle_length: usize,
}

/// Error: a recorded run cannot be reproduced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {record}: {description}")]
pub struct ScheduleError {
    /// Number of the record that cannot be reproduced, counted from 1.
    pub record: usize,
    /// Description of the problem.
    pub description: String,
}

impl Schedule {
    /// Performs a script on test clusters of `P`. Returns one schedule for each group of processes
    /// that the script starts, in order.
    ///
    /// # Errors
    ///
    /// Returns a [`PerformError`] at the first action that is not possible.
    pub fn from_script<P: Protocol<Command: ServiceCommand>>(
        script: &Script,
        config: impl Fn(Group) -> P::Config,
    ) -> Result<Vec<Self>, PerformError> {
        let mut stages = Vec::new();
        perform_script_on::<P>(&mut stages, script, &config)?;
        let schedule = |cluster: &TestCluster<P>| Schedule {
            size: cluster.size(),
            down_at_start: Vec::new(),
            actions: cluster.performed_actions.clone(),
            cycle_length: 0,
        };
        Ok(stages.iter().map(schedule).collect())
    }

    /// Checks that this schedule is for a group of `group_size` processes.
    ///
    /// # Errors
    ///
    /// Returns [`ScheduleReplayError::Size`] if the sizes differ.
    pub fn ensure_same_group_size<E>(&self, group_size: u32) -> Result<(), ScheduleReplayError<E>> {
        let schedule = self.size;
        if schedule == group_size {
            Ok(())
        } else {
            Err(ScheduleReplayError::Size { schedule, group: group_size })
        }
    }

    /// Returns the schedule of a recorded run.
    ///
    /// # Errors
    ///
    /// Returns a [`ScheduleError`] at the first record that no engine can reproduce.
    pub fn from_trace(trace: &Trace) -> Result<Self, ScheduleError> {
        let (mut tracks, mut process_states) = (Tracks::default(), ProcessStates::default());
        let mut before = None;
        for (place, record) in trace.records.iter().enumerate() {
            let before = before.replace(record);
            let refused = |description| ScheduleError { record: place + 1, description };
            check_command_permitted(&process_states, record).map_err(refused)?;
            process_states.apply_record(record);
            let followed = match (record.process, &record.kind) {
                // If a process is down from the start, its crash directly follows its boot.
                (RecordSubject::Process(at), RecordKind::Crash) if follows_boot(before, record) => {
                    tracks.is_down_at_first(at);
                    Ok(())
                }
                (RecordSubject::Process(at), kind) => tracks.follow(at, record.session, kind),
                (RecordSubject::Parent, RecordKind::Partition(sides)) => {
                    tracks.actions.push(ScriptAction::Split(sides.clone()));
                    Ok(())
                }
                (RecordSubject::Parent, RecordKind::Heal) => {
                    tracks.actions.push(ScriptAction::Heal);
                    Ok(())
                }
                _ => Ok(()),
            };
            followed.map_err(refused)?;
        }
        let size = trace.header.n;
        let never = (0..size).map(ProcessId).filter(|at| !tracks.lives.contains_key(at));
        let down = never.chain(tracks.down_at_first.iter().copied()).collect();
        let cycle = last_steps(&tracks.actions, trace.header.repeats as usize);
        Ok(Schedule { size, down_at_start: down, actions: tracks.actions, cycle_length: cycle })
    }

    /// Returns the number of steps in this schedule. An action that only modifies the next step is
    /// not a step.
    pub fn step_count(&self) -> usize {
        self.step_count_within(self.actions.len())
    }

    /// Returns the number of steps among the first `action_count` actions.
    pub(crate) fn step_count_within(&self, action_count: usize) -> usize {
        self.actions[..action_count].iter().filter(|action| action.is_step()).count()
    }

    /// Returns how many steps of this schedule have begun by the end of `records`. `records` are
    /// the first records of a run of this schedule.
    pub fn begun_step_count(&self, records: &[Record]) -> usize {
        self.step_count_within(self.first_records_of_actions(records).len())
    }

    /// Returns one number for each block with actions: how many of the `records` come before the
    /// first action of the next such block. For the last block, this is the number of all
    /// `records`. The records must come from a run of the last group that the script starts.
    ///
    /// # Errors
    ///
    /// Returns a [`PerformError`] at the first action that is not possible.
    pub fn cumulative_record_counts_by_block<P: Protocol<Command: ServiceCommand>>(
        script: &Script,
        config: impl Fn(Group) -> P::Config,
        records: &[Record],
    ) -> Result<Vec<u64>, PerformError> {
        let mut done = Vec::new();
        for (place, block) in script.blocks.iter().enumerate() {
            if block.actions_with_lines().next().is_some() {
                let before = Script { blocks: script.blocks[..=place].to_vec() };
                let courses = Schedule::from_script::<P>(&before, &config)?;
                done.push(courses.last().map_or(0, |schedule| schedule.actions.len()));
            }
        }
        let courses = Schedule::from_script::<P>(script, &config)?;
        let Some(schedule) = courses.last() else { return Ok(Vec::new()) };
        let started = schedule.first_records_of_actions(records);
        let behind = |done: usize| started.get(done).copied().unwrap_or(records.len()) as u64;
        Ok(done.into_iter().map(behind).collect())
    }

    /// Returns one index for each action that has begun in `records`: the index of the action's
    /// first record. If the action has no record, this is the index of the first record of the next
    /// action. `records` are the first records of a run of this schedule.
    fn first_records_of_actions(&self, records: &[Record]) -> Vec<usize> {
        let mut places = Vec::new();
        for (place, record) in records.iter().enumerate() {
            let mut left = self.actions[places.len()..].iter();
            if let Some(passed) = left.position(|action| begins(action, record)) {
                places.resize(places.len() + passed + 1, place);
            }
        }
        places
    }

    /// Extends the schedule by up to `max_steps` steps that show how the run continues without
    /// further faults.
    ///
    /// If the schedule ends with a cycle of actions that repeat forever, this cycle is repeated. If
    /// there is no cycle, or if a repetition is impossible, pending messages are delivered, the
    /// oldest first, and timers fire. When no message is in flight and no timer is armed, a process
    /// that is inside the critical section exits. The exits are not included in `max_steps`.
    ///
    /// # Errors
    ///
    /// Returns a [`ScheduleReplayError`] if this protocol cannot perform the schedule.
    pub fn extended<P: RecordableProtocol>(
        &self,
        config: impl Fn(Group) -> P::Config,
        max_steps: u32,
    ) -> Result<Self, ScheduleReplayError> {
        let (size, down) = (self.size, &self.down_at_start);
        let cluster = TestCluster::<P>::booted(size, down, ChannelOrder::Reordered, config, false);
        let mut staged = ClusterWithUsers::new(cluster);
        staged.replay(self)?;
        if self.cycle_length > 0 && self.repeats_cycle(&mut staged, max_steps) {
            return Ok(Schedule { actions: staged.cluster.performed_actions, ..self.clone() });
        }
        let mut left = max_steps;
        loop {
            while left > 0 && staged.take_step() {
                left -= 1;
            }
            let Some(at) = staged.process_inside() else { break };
            let step = staged.cluster.performed_actions.len() + 1;
            let exit =
                staged.perform(&ScriptAction::Command(mutex::Command::Exit.to_script_command(at)));
            exit.map_err(|why| ScheduleReplayError::Impossible { step, why })?;
        }
        Ok(Schedule { actions: staged.cluster.performed_actions, ..self.clone() })
    }

    /// Performs the cycle as many times as fit into `most` steps, but at least once. Returns false
    /// if a step is not possible.
    ///
    /// After one cycle, the processes may have exchanged their roles: the new state is a
    /// permutation of the old one. The same steps may then be impossible in a repetition.
    fn repeats_cycle(&self, cluster: &mut impl ScriptRunner, most: u32) -> bool {
        let cycle = &self.actions[self.actions.len() - self.cycle_length..];
        let rounds = (most as usize / self.cycle_length).max(1);
        let goes = cycle.iter().all(|action| cluster.perform(action).is_ok());
        goes && (1..rounds).flat_map(|_| cycle).all(|action| cluster.perform(action).is_ok())
    }
}

/// Returns the number of actions at the end of `actions` that belong to the last `steps` steps. An
/// action that only modifies a step belongs to the step that it modifies.
fn last_steps(actions: &[ScriptAction], steps: usize) -> usize {
    let mut left = steps;
    let is_of_them = |action: &&ScriptAction| {
        let is_step = action.is_step();
        let is_of_them = left > 0 || !is_step;
        left = left.saturating_sub(usize::from(is_step));
        is_of_them
    };
    match steps {
        0 => 0,
        _ => actions.iter().rev().take_while(is_of_them).count(),
    }
}

fn begins(action: &ScriptAction, record: &Record) -> bool {
    let RecordSubject::Process(me) = record.process else {
        return matches!(
            (action, &record.kind),
            (ScriptAction::Split(_), RecordKind::Partition(_))
                | (ScriptAction::Heal, RecordKind::Heal)
        );
    };
    let link = |pick: &MessageSelector, from, to| (pick.from, pick.to) == (from, to);
    match (action, &record.kind) {
        (ScriptAction::Command(script_command), RecordKind::Command(_)) => script_command.at == me,
        (
            ScriptAction::Deliver(pick) | ScriptAction::Hear(pick),
            RecordKind::Receive(message_record),
        ) => link(pick, message_record.peer, me),
        (
            ScriptAction::Deliver(pick) | ScriptAction::Lose(pick),
            RecordKind::Drop(message_record),
        )
        | (ScriptAction::Duplicate(pick), RecordKind::Duplicate(message_record)) => {
            link(pick, me, message_record.peer)
        }
        (ScriptAction::Tell { from, to }, RecordKind::Send(message_record)) => {
            message_record.is_between_users() && (*from, *to) == (me, message_record.peer)
        }
        (ScriptAction::Fire { at, .. }, RecordKind::Timer(_))
        | (ScriptAction::Mute(at), RecordKind::Mute)
        | (ScriptAction::Crash(at), RecordKind::Crash)
        | (ScriptAction::Recover(at), RecordKind::Recover)
        | (ScriptAction::Suspicion { at, .. }, RecordKind::Suspicion { .. }) => *at == me,
        _ => false,
    }
}

/// Returns true if the record before `record` is the boot of the same process at the same time.
fn follows_boot(before: Option<&Record>, record: &Record) -> bool {
    before.is_some_and(|before| {
        before.kind == RecordKind::Boot
            && (before.process, before.time) == (record.process, record.time)
    })
}

/// Returns an error if the record is a command that the user may not issue now. A user may request
/// to enter only while its process neither waits nor is inside the critical section. A user may
/// request to exit only while its process is inside.
fn check_command_permitted(process_states: &ProcessStates, record: &Record) -> Result<(), String> {
    let (RecordSubject::Process(at), RecordKind::Command(command)) = (record.process, &record.kind)
    else {
        return Ok(());
    };
    let process_state = process_states.state(at);
    let holds = |condition| process_state.condition_start(condition).is_some();
    match command.mutex() {
        Some(mutex::Command::Enter)
            if holds(ProcessCondition::Waiting) || holds(ProcessCondition::Inside) =>
        {
            Err(format!("{at} asks to enter while it waits or is inside"))
        }
        Some(mutex::Command::Exit)
            if process_state.is_exiting || !holds(ProcessCondition::Inside) =>
        {
            Err(format!("{at} asks to exit and is not inside"))
        }
        _ => Ok(()),
    }
}

/// Identity of a message on its link: the session of the sender when it sent the message, and the
/// number of the message.
type SentAs = (u64, u64);

/// Actions, messages in flight and states of processes, while the records of a trace are read.
#[derive(Default)]
struct Tracks {
    actions: Vec<ScriptAction>,
    /// For each process that has booted: true if it is up.
    lives: BTreeMap<ProcessId, bool>,
    down_at_first: Vec<ProcessId>,
    /// Messages in flight on each link, the oldest first. The key of a link is the sender, the
    /// receiver, and true if the link transports messages between applications.
    links: BTreeMap<(ProcessId, ProcessId, bool), Vec<SentAs>>,
}

impl Tracks {
    fn follow(&mut self, at: ProcessId, session: u64, kind: &RecordKind) -> Result<(), String> {
        match kind {
            RecordKind::Boot => drop(self.lives.insert(at, true)),
            RecordKind::Command(command) => {
                let script_command = command.to_script_command(at);
                let script_command = script_command
                    .ok_or_else(|| "a command that scripts cannot express".to_owned())?;
                self.actions.push(ScriptAction::Command(script_command));
            }
            RecordKind::Send(message_record) => self.send(at, session, message_record),
            RecordKind::Receive(message_record) => {
                let pick =
                    self.take((message_record.peer, message_record.session), at, message_record)?;
                let is_application = message_record.is_between_users();
                self.actions.push(if is_application {
                    ScriptAction::Hear(pick)
                } else {
                    ScriptAction::Deliver(pick)
                });
            }
            RecordKind::Drop(message_record) => {
                let pick = self.take((at, session), message_record.peer, message_record)?;
                let is_up = self.lives.get(&message_record.peer).is_some_and(|is_up| *is_up);
                // If the receiver is down, the drop is a delivery without effect, and not a fault
                // of the network.
                self.actions.push(if is_up {
                    ScriptAction::Lose(pick)
                } else {
                    ScriptAction::Deliver(pick)
                });
            }
            RecordKind::Duplicate(message_record) => {
                let (place, link) =
                    self.find((at, session), message_record.peer, message_record)?;
                let sent = link[place];
                link.insert(place + 1, sent);
                self.actions.push(ScriptAction::Duplicate(pick(at, message_record.peer, place)));
            }
            RecordKind::Timer(timer) => {
                self.actions.push(ScriptAction::Fire { at, timer: timer.clone() })
            }
            // A number that a process drew at its first boot belongs to no action, and is left out.
            RecordKind::Choice(choice) => {
                self.of_last_step(ScriptAction::Choose { at, value: choice.value }, at)
            }
            RecordKind::Unsaved => self.of_last_step(ScriptAction::Unsaved(at), at),
            RecordKind::Mute => self.actions.push(ScriptAction::Mute(at)),
            RecordKind::Suspicion { peer, verdict } => {
                self.actions.push(ScriptAction::Suspicion { at, peer: *peer, verdict: *verdict });
            }
            RecordKind::Crash => {
                self.lives.insert(at, false);
                self.actions.push(ScriptAction::Crash(at));
            }
            RecordKind::Recover => {
                self.lives.insert(at, true);
                self.actions.push(ScriptAction::Recover(at));
            }
            _ => {}
        }
        Ok(())
    }

    fn is_down_at_first(&mut self, at: ProcessId) {
        self.lives.insert(at, false);
        self.down_at_first.push(at);
    }

    /// Inserts an action that modifies the last step of the process `at`. The action is inserted
    /// directly before this step.
    fn of_last_step(&mut self, description: ScriptAction, at: ProcessId) {
        let step = self.actions.iter().rposition(|action| action.actor() == Some(at));
        if let Some(step) = step {
            self.actions.insert(step, description);
        }
    }

    fn send(&mut self, from: ProcessId, session: u64, message_record: &MessageRecord) {
        let applications = message_record.is_between_users();
        if applications {
            self.actions.push(ScriptAction::Tell { from, to: message_record.peer });
        }
        let link = self.links.entry((from, message_record.peer, applications)).or_default();
        link.push((session, message_record.number));
    }

    /// Finds a message among the messages in flight on its link. Returns its index, and the list of
    /// all these messages.
    fn find(
        &mut self,
        (from, session): (ProcessId, u64),
        to: ProcessId,
        message_record: &MessageRecord,
    ) -> Result<(usize, &mut Vec<SentAs>), String> {
        let applications = message_record.is_between_users();
        let link = self.links.entry((from, to, applications)).or_default();
        let sent = link.iter().position(|sent| *sent == (session, message_record.number));
        match sent {
            Some(place) => Ok((place, link)),
            None => Err(format!(
                "{from} never sent {} {}",
                message_record.message, message_record.number
            )),
        }
    }

    fn take(
        &mut self,
        sender: (ProcessId, u64),
        to: ProcessId,
        message_record: &MessageRecord,
    ) -> Result<MessageSelector, String> {
        let (place, link) = self.find(sender, to, message_record)?;
        link.remove(place);
        Ok(pick(sender.0, to, place))
    }
}

fn pick(from: ProcessId, to: ProcessId, place: usize) -> MessageSelector {
    MessageSelector { ordinal: place + 1, ..MessageSelector::oldest(from, to) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::service::{commit, replicated_list, with_election};

    use super::*;
    use crate::Service;
    use crate::format::{Header, RecordedCommand, TraceProducer};

    fn actions_of(command: RecordedCommand) -> Result<Vec<ScriptAction>, ScheduleError> {
        let header = Header::new("primary-backup", Service::Other, 1, TraceProducer::Simulator);
        let records = [RecordKind::Boot, RecordKind::Command(command)];
        let records = records.map(|kind| Record::new(0, ProcessId(0), kind)).to_vec();
        Schedule::from_trace(&Trace { header, records, torn: None })
            .map(|schedule| schedule.actions)
    }

    #[test]
    fn rejects_second_request_and_exit_from_outside() {
        let failing_record = |commands: &[mutex::Command]| {
            let header = Header::new("central", Service::Mutex, 2, TraceProducer::Simulator);
            let command = commands.iter().map(|command| RecordKind::Command((*command).into()));
            let kinds = std::iter::once(RecordKind::Boot).chain(command);
            let records = kinds.map(|kind| Record::new(0, ProcessId(0), kind)).collect();
            let refused = Schedule::from_trace(&Trace { header, records, torn: None }).err();
            refused.map(|refused| refused.record)
        };
        assert_eq!(failing_record(&[mutex::Command::Enter]), None);
        assert_eq!(failing_record(&[mutex::Command::Enter, mutex::Command::Enter]), Some(3));
        assert_eq!(failing_record(&[mutex::Command::Exit]), Some(2));
    }

    #[test]
    fn application_commands_can_be_replayed() {
        let write = replicated_list::Command::Write { value: 7 };
        let again = actions_of(with_election::Command::Application(write).into());
        assert_eq!(again, Ok(vec![ScriptAction::Command(write.to_script_command(ProcessId(0)))]));
        let veto = actions_of(commit::Command::Veto.into());
        assert_eq!(
            veto,
            Ok(vec![ScriptAction::Command(commit::Command::Veto.to_script_command(ProcessId(0)))])
        );
        assert!(actions_of(RecordedCommand::Other(json!("Dance"))).is_err(), "no script form");
    }
}
