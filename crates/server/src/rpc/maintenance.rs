//! How a member is, and what operators do with it.

use std::fs;

use futures_util::{Stream, stream};
use sha2::{Digest, Sha256};
use tenure_core::ProcessId;
use tenure_store::{Access, Range, Reading, Span, Store};
use tonic::{Response, Status};

use crate::backup;
use crate::beside::{beside, looking_at};
use crate::caller::Caller;
use crate::convert::{signed, unsigned};
use crate::refusal::Refusal;
use tenure_etcd::etcdserverpb as rpc;

/// The version of etcd whose services these are.
pub(crate) const VERSION: &str = "3.5.1";

/// How many bytes of a snapshot one message has.
const PIECE: usize = 64 * 1024;

pub(crate) async fn status(
    member: Caller,
    _: rpc::StatusRequest,
) -> Result<rpc::StatusResponse, Refusal> {
    let standing = member.standing();
    let me = ProcessId::at(member.plan.me);
    let (revision, applied, is_learner) = member.look(|state| {
        let is_learner = state.members.learners.contains(me);
        (state.store.revision(), state.store.applied().index, is_learner)
    });
    let size = signed(bytes_in(member.directory()));
    let errors =
        if standing.leader.is_none() { vec!["etcdserver: no leader".into()] } else { vec![] };
    Ok(rpc::StatusResponse {
        header: member.header(revision),
        version: VERSION.into(),
        db_size: size,
        db_size_in_use: size,
        leader: standing.leader.map_or(0, |leader| member.plan.members[leader].id),
        raft_index: applied,
        raft_term: standing.term,
        raft_applied_index: applied,
        errors,
        is_learner,
    })
}

/// How many bytes the files of a folder have.
fn bytes_in(directory: &std::path::Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|it| it.len()).sum()
}

/// There are no alarms: what goes wrong ends a member, or is refused.
pub(crate) async fn alarm(
    member: Caller,
    asked: rpc::AlarmRequest,
) -> Result<rpc::AlarmResponse, Refusal> {
    match asked.action() {
        rpc::alarm_request::AlarmAction::Activate => Err(Refusal::unimplemented("an alarm")),
        _ => Ok(rpc::AlarmResponse { header: member.header_now(), alarms: Vec::new() }),
    }
}

/// There is nothing to do: what is deleted leaves no holes.
pub(crate) async fn defragment(
    member: Caller,
    _: rpc::DefragmentRequest,
) -> Result<rpc::DefragmentResponse, Refusal> {
    member.may_all()?;
    Ok(rpc::DefragmentResponse { header: member.header_now() })
}

/// A number that is the same on members whose keys are, as of a revision.
pub(crate) async fn hash(
    member: Caller,
    asked: rpc::HashKvRequest,
) -> Result<rpc::HashKvResponse, Refusal> {
    let range = Range { revision: unsigned(asked.revision), ..Range::of(Span::all()) };
    let read = |store: &Store| Ok((store.reading(&range)?, store.compacted()));
    let (reading, compacted) = member.read(Access::may_all, read)?;
    let (revision, hash) = looking_at(reading.len(), move || hashed(reading)).await?;
    Ok(rpc::HashKvResponse {
        header: member.header(revision),
        hash,
        compact_revision: signed(compacted),
    })
}

/// The revision of the store when keys were read, and the first bytes of their hash.
fn hashed(reading: Reading) -> (u64, u32) {
    let found = reading.found();
    let mut hash = Sha256::new();
    for kv in &found.kvs {
        for part in [&kv.key[..], &kv.value[..]] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        for number in [kv.create_revision, kv.mod_revision, kv.version, kv.lease] {
            hash.update(number.to_be_bytes());
        }
    }
    let first: [u8; 4] = hash.finalize()[..4].try_into().expect("a hash has more than 4 bytes");
    (found.revision, u32::from_be_bytes(first))
}

/// The whole store, as `tenure-store` writes it, in pages and with its hash.
pub(crate) async fn snapshot(
    member: Caller,
    _: rpc::SnapshotRequest,
) -> Result<
    Response<impl Stream<Item = Result<rpc::SnapshotResponse, Status>> + Send + 'static>,
    Refusal,
> {
    member.confirm().await?;
    member.may_all()?;
    let write = async || {
        let store = member.read(Access::may_all, |store| Ok(store.snapshot()))?;
        let revision = store.revision();
        let bytes = beside(move || backup::written(&store)).await?;
        Ok((bytes.len(), (revision, bytes)))
    };
    let written = member.budget.answer_whole(write).await?;
    let piece = move |revision, bytes: &[u8], from: usize| {
        let to = bytes.len().min(from + PIECE);
        let remaining_bytes = (bytes.len() - to) as u64;
        let header = member.header(revision);
        Ok(rpc::SnapshotResponse { header, remaining_bytes, blob: bytes[from..to].to_vec() })
    };
    Ok(written.map(|(revision, bytes)| {
        let pieces = (0..bytes.len()).step_by(PIECE);
        stream::iter(pieces.map(move |from| piece(revision, &bytes, from)))
    }))
}

pub(crate) async fn move_leader(
    member: Caller,
    asked: rpc::MoveLeaderRequest,
) -> Result<rpc::MoveLeaderResponse, Refusal> {
    member.may_all()?;
    let to = member.plan.members.iter().position(|it| it.id == asked.target_id);
    member.transfer(to.ok_or(Refusal::NO_TRANSFEREE)?).await?;
    Ok(rpc::MoveLeaderResponse { header: member.header_now() })
}
