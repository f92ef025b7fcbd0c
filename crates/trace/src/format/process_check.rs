//! Check that the group in the header contains each process that a record names.

use tenure_core::service::{
    agreement, broadcast, drinking, election, log, membership, snapshot, spanning_tree, stream,
    termination, wave,
};
use tenure_core::{ProcessId, Term};

use crate::format::event::{Record, RecordKind};
use crate::format::service::{RecordedCommand, RecordedEvent};
use crate::format::subject::RecordSubject;

/// Returns an error message if the record names a process that does not belong to a group of `size`
/// processes, or if its vector clock has more than `size` components.
pub(crate) fn unknown_process_error(record: &Record, size: u32) -> Option<String> {
    let clock = record.clock.as_ref().map_or(0, |clock| clock.counts().len());
    if clock > size as usize {
        return Some(format!("a clock of {clock} processes does not fit a group of {size}"));
    }
    let mut found = None;
    let mut check = |process: ProcessId| {
        if process.0 >= size {
            found = Some(process);
        }
    };
    if let RecordSubject::Process(process) = record.process {
        check(process);
    }
    in_kind(&record.kind, &mut check);
    let number = u64::from(found?.0) + 1;
    Some(format!("there is no P{number} in a group of {size}"))
}

impl RecordedCommand {
    /// Returns a process that the command names and that does not belong to a group of `size`
    /// processes. Returns `None` if there is no such process. Does not check a command of
    /// [`RecordedCommand::Other`].
    pub fn process_outside_group(&self, size: u32) -> Option<ProcessId> {
        let mut found = None;
        in_command(self, &mut |process: ProcessId| {
            if process.0 >= size {
                found = Some(process);
            }
        });
        found
    }
}

fn in_command(command: &RecordedCommand, check: &mut impl FnMut(ProcessId)) {
    match command {
        RecordedCommand::Stream(stream::Command::Send { to, .. })
        | RecordedCommand::Agreement(
            agreement::Command::Snapshot(snapshot::Command::Give { to, .. })
            | agreement::Command::Log(log::Command::Transfer { to, .. }),
        ) => check(*to),
        RecordedCommand::Agreement(agreement::Command::Log(log::Command::ChangeMembers {
            voters,
            learners,
            ..
        })) => voters.iter().chain(learners).for_each(check),
        RecordedCommand::Agreement(agreement::Command::Drinking(drinking::Command::Thirst {
            bottles,
        })) => bottles.iter().for_each(check),
        _ => {}
    }
}

fn in_agreement(event: &agreement::Event, check: &mut impl FnMut(ProcessId)) {
    use agreement::Event::{
        Barrier, Broadcast, Consensus, Drinking, Forum, Membership, Renaming, Resources, Shares,
    };
    match event {
        Broadcast(broadcast::Event::Delivered { item }) => check(item.from),
        agreement::Event::Snapshot(event) => match event {
            snapshot::Event::Given { to: peer, .. } | snapshot::Event::Taken { from: peer, .. } => {
                check(*peer);
            }
            snapshot::Event::Recorded { snapshot, .. }
            | snapshot::Event::Collected { snapshot, .. } => check(snapshot.by),
            snapshot::Event::Closed { snapshot, channels } => {
                check(snapshot.by);
                channels.iter().for_each(|(from, _)| check(*from));
            }
        },
        agreement::Event::Termination(event) => match event {
            termination::Event::Tasked { of } | termination::Event::Done { of, .. } => check(*of),
            termination::Event::Terminated => {}
        },
        agreement::Event::Wave(event) => match event {
            wave::Event::Reached { initiator, parent } => {
                check(*initiator);
                parent.iter().copied().for_each(check);
            }
            wave::Event::Returned { .. } => {}
        },
        agreement::Event::SpanningTree(spanning_tree::Event::Built { neighbours }) => {
            neighbours.iter().copied().for_each(check);
        }
        Membership(membership::Event::Installed { view } | membership::Event::Removed { view }) => {
            view.members.iter().for_each(check)
        }
        agreement::Event::Log(
            log::Event::Following { leader, .. } | log::Event::Declined { leader, .. },
        ) => leader.iter().copied().for_each(check),
        agreement::Event::Log(log::Event::Relaying { leader, .. }) => check(*leader),
        agreement::Event::Log(log::Event::Restored { members, .. }) => {
            members.all().iter().for_each(check);
        }
        agreement::Event::Log(
            log::Event::Stored { entry, .. } | log::Event::Committed { entry, .. },
        ) => {
            if let log::Content::Members(members) = &entry.content {
                members.all().iter().for_each(check);
            }
        }
        Drinking(drinking::Event::Drinking { bottles }) => bottles.iter().for_each(check),
        Consensus(_)
        | Barrier(_)
        | Renaming(_)
        | Resources(_)
        | Shares(_)
        | Drinking(_)
        | Forum(_)
        | agreement::Event::Log(_) => {}
    }
}

fn in_kind(kind: &RecordKind, check: &mut impl FnMut(ProcessId)) {
    match kind {
        RecordKind::Command(command) => in_command(command, check),
        RecordKind::Event(RecordedEvent::Stream(stream::Event::Received { from, .. })) => {
            check(*from)
        }
        RecordKind::Event(RecordedEvent::Agreement(event)) => in_agreement(event, check),
        RecordKind::Event(event) => match event.election() {
            Some(election::Event::Elected { leader, term: Term { leader: winner, .. } }) => {
                check(*leader);
                check(*winner);
            }
            Some(election::Event::Deposed { term }) => check(term.leader),
            None => {}
        },
        RecordKind::Send(message_record)
        | RecordKind::Receive(message_record)
        | RecordKind::Drop(message_record)
        | RecordKind::Duplicate(message_record) => check(message_record.peer),
        RecordKind::Suspicion { peer, .. } => check(*peer),
        RecordKind::Partition(sides) => sides.iter().flatten().copied().for_each(check),
        RecordKind::Access(access) => check(access.by),
        _ => {}
    }
}
