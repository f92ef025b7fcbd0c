//! Validation of the processes that a record names: they must belong to the group of the header.

use tenure_core::service::{
    agreement, broadcast, election, log, membership, snapshot, stream, termination,
};
use tenure_core::{ProcessId, Term};

use crate::format::event::{Kind, Record};
use crate::format::service::{CommandData, EventData};
use crate::format::subject::Subject;

/// Returns an explanation if the record names a process outside a group of `size`.
pub(crate) fn stranger(record: &Record, size: u32) -> Option<String> {
    let clock = record.clock.as_ref().map_or(0, |clock| clock.counts().len());
    if clock > size as usize {
        return Some(format!("a clock of {clock} processes does not fit a group of {size}"));
    }
    let mut found = None;
    let mut look = |process: ProcessId| {
        if process.0 >= size {
            found = Some(process);
        }
    };
    if let Subject::Process(process) = record.process {
        look(process);
    }
    in_kind(&record.kind, &mut look);
    let number = u64::from(found?.0) + 1;
    Some(format!("there is no P{number} in a group of {size}"))
}

fn in_agreement(event: &agreement::Event, look: &mut impl FnMut(ProcessId)) {
    use agreement::Event::{Barrier, Broadcast, Consensus, Membership, Renaming};
    match event {
        Broadcast(broadcast::Event::Delivered { item }) => look(item.from),
        agreement::Event::Snapshot(event) => match event {
            snapshot::Event::Given { to: peer, .. } | snapshot::Event::Taken { from: peer, .. } => {
                look(*peer);
            }
            snapshot::Event::Recorded { snapshot, .. }
            | snapshot::Event::Collected { snapshot, .. } => look(snapshot.by),
            snapshot::Event::Closed { snapshot, channels } => {
                look(snapshot.by);
                channels.iter().for_each(|(from, _)| look(*from));
            }
        },
        agreement::Event::Termination(event) => match event {
            termination::Event::Tasked { of } | termination::Event::Done { of, .. } => look(*of),
            termination::Event::Terminated => {}
        },
        Membership(membership::Event::Installed { view } | membership::Event::Removed { view }) => {
            view.members.iter().for_each(look)
        }
        agreement::Event::Log(
            log::Event::Following { leader, .. } | log::Event::Declined { leader, .. },
        ) => leader.iter().copied().for_each(look),
        agreement::Event::Log(log::Event::Relaying { leader, .. }) => look(*leader),
        agreement::Event::Log(log::Event::Restored { members, .. }) => {
            members.all().iter().for_each(look);
        }
        agreement::Event::Log(
            log::Event::Stored { entry, .. } | log::Event::Committed { entry, .. },
        ) => {
            if let log::Content::Members(members) = &entry.content {
                members.all().iter().for_each(look);
            }
        }
        Consensus(_) | Barrier(_) | Renaming(_) | agreement::Event::Log(_) => {}
    }
}

fn in_kind(kind: &Kind, look: &mut impl FnMut(ProcessId)) {
    match kind {
        Kind::Command(CommandData::Stream(stream::Command::Send { to, .. })) => look(*to),
        Kind::Event(EventData::Stream(stream::Event::Received { from, .. })) => look(*from),
        Kind::Command(CommandData::Agreement(agreement::Command::Snapshot(
            snapshot::Command::Give { to, .. },
        ))) => look(*to),
        Kind::Command(CommandData::Agreement(agreement::Command::Log(
            log::Command::Transfer { to, .. },
        ))) => look(*to),
        Kind::Command(CommandData::Agreement(agreement::Command::Log(
            log::Command::ChangeMembers { voters, learners, .. },
        ))) => voters.iter().chain(learners).for_each(look),
        Kind::Event(EventData::Agreement(event)) => in_agreement(event, look),
        Kind::Event(event) => match event.election() {
            Some(election::Event::Elected { leader, term: Term { leader: winner, .. } }) => {
                look(*leader);
                look(*winner);
            }
            Some(election::Event::Deposed { term }) => look(term.leader),
            None => {}
        },
        Kind::Send(message_record)
        | Kind::Receive(message_record)
        | Kind::Drop(message_record)
        | Kind::Duplicate(message_record) => look(message_record.peer),
        Kind::Suspicion { peer, .. } => look(*peer),
        Kind::Partition(sides) => sides.iter().flatten().copied().for_each(look),
        Kind::Access(access) => look(access.by),
        _ => {}
    }
}
