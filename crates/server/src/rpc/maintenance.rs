//! How a member is, and what operators do with it.

use futures_util::{Stream, stream};
use sha2::{Digest, Sha256};
use tenure_core::ProcessId;
use tenure_store::{Access, Alarm, AlarmChange, Answer, Command, Range, Reading, Span, Store};
use tonic::{Response, Status};

use crate::backup;
use crate::beside::{beside, looking_at};
use crate::caller::Caller;
use crate::convert::{signed, unsigned};
use crate::refusal::Refusal;
use tenure_etcd::etcdserverpb as rpc;

/// Version of etcd that members report. Clients enable features by it: it is the newest one whose
/// behaviour is tested, and `docs/operations.md` lists what depends on it.
pub(crate) const VERSION: &str = "3.5.13";

/// How many bytes of a snapshot one message has.
const PIECE: usize = 64 * 1024;

pub(crate) async fn status(
    member: Caller,
    _: rpc::StatusRequest,
) -> Result<rpc::StatusResponse, Refusal> {
    let standing = member.standing();
    let me = ProcessId::at(member.plan.me);
    let (revision, applied, is_learner, size, alarms) = member.look(|state| {
        let is_learner = state.members.learners.contains(me);
        let store = &state.store;
        (store.revision(), store.applied().index, is_learner, store.size(), alarms(store))
    });
    let size = signed(size as u64);
    let no_leader = standing.leader.is_none().then(|| "etcdserver: no leader".to_owned());
    // As etcd writes them.
    let alarms = alarms.iter().map(|it| format!("memberID:{} alarm:NOSPACE ", it.member_id));
    let errors = no_leader.into_iter().chain(alarms).collect();
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

/// Returns the active alarms.
fn alarms(store: &Store) -> Vec<rpc::AlarmMember> {
    let active = store.alarms();
    active.map(|(member_id, alarm)| rpc::AlarmMember { member_id, alarm: kind(alarm) }).collect()
}

fn kind(alarm: Alarm) -> i32 {
    match alarm {
        Alarm::NoSpace => rpc::AlarmType::Nospace.into(),
    }
}

/// Lists alarms, activates one, or clears one. Only NOSPACE can be active: Tenure verifies
/// checksums of what it reads, and has no use for CORRUPT.
pub(crate) async fn alarm(
    member: Caller,
    asked: rpc::AlarmRequest,
) -> Result<rpc::AlarmResponse, Refusal> {
    use rpc::alarm_request::AlarmAction;
    let is_active = match asked.action() {
        AlarmAction::Get => {
            member.confirm().await?;
            let wanted = |it: &rpc::AlarmMember| asked.alarm == 0 || it.alarm == asked.alarm;
            let (header, mut alarms) = (member.header_now(), member.look(|it| alarms(&it.store)));
            alarms.retain(wanted);
            return Ok(rpc::AlarmResponse { header, alarms });
        }
        AlarmAction::Activate => true,
        AlarmAction::Deactivate => false,
    };
    let alarms = match asked.alarm() {
        rpc::AlarmType::Nospace => change(&member, asked.member_id, is_active).await?,
        rpc::AlarmType::Corrupt if is_active => {
            return Err(Refusal::unimplemented("the alarm CORRUPT"));
        }
        rpc::AlarmType::Corrupt | rpc::AlarmType::None => Vec::new(),
    };
    Ok(rpc::AlarmResponse { header: member.header_now(), alarms })
}

/// Activates or clears NOSPACE of a member. Returns the alarm if something has changed, or if it
/// was active before and is to be.
async fn change(
    member: &Caller,
    id: u64,
    is_active: bool,
) -> Result<Vec<rpc::AlarmMember>, Refusal> {
    let is_known = id == 0 || member.plan.members.iter().any(|it| it.id == id);
    if is_active && !is_known {
        return Err(Refusal::NO_MEMBER);
    }
    let change = AlarmChange { member: id, alarm: Alarm::NoSpace, is_active };
    let (_, answer) = member.answer(Command::Alarm(change)).await?;
    let has_changed = answer == Answer::Alarm { has_changed: true };
    let told = is_active || has_changed;
    let alarm = rpc::AlarmMember { member_id: id, alarm: kind(Alarm::NoSpace) };
    Ok(told.then_some(alarm).into_iter().collect())
}

/// There is nothing to do: what is deleted leaves no holes.
pub(crate) async fn defragment(
    member: Caller,
    _: rpc::DefragmentRequest,
) -> Result<rpc::DefragmentResponse, Refusal> {
    member.may_all()?;
    // As from etcd, without a header.
    Ok(rpc::DefragmentResponse::default())
}

/// Returns a hash of the whole store. It is equal on members that have applied the same entries.
pub(crate) async fn hash(
    member: Caller,
    _: rpc::HashRequest,
) -> Result<rpc::HashResponse, Refusal> {
    // It takes as much memory as a backup.
    let _turn = member.turns.next().await?;
    let store = member.read(Access::may_all, |store| Ok(store.snapshot()))?;
    let revision = store.revision();
    let hash = beside(move || first_bytes(Sha256::digest(store.encode()))).await?;
    Ok(rpc::HashResponse { header: member.header(revision), hash })
}

/// A number that is the same on members whose keys are, as of a revision.
pub(crate) async fn hash_kv(
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
        // As etcd says it before the first compaction.
        compact_revision: if compacted == 0 { -1 } else { signed(compacted) },
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
    (found.revision, first_bytes(hash.finalize()))
}

/// Returns the first four bytes of a hash.
fn first_bytes(hash: impl AsRef<[u8]>) -> u32 {
    let first = hash.as_ref().first_chunk().expect("a hash has more than 4 bytes");
    u32::from_be_bytes(*first)
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
    Ok(rpc::MoveLeaderResponse::default())
}
