//! Service `Maintenance`: status, alarms, hashes and backups.

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::{Stream, stream};
use sha2::{Digest, Sha256};
use tenure_core::ProcessId;
use tenure_runtime::transport::PeerStatus;
use tenure_store::{
    AccessControl, Alarm, AlarmChange, CollectedRead, Command, CommandResult, KeySpan, RangeRead,
    Store,
};
use tonic::{Response, Status};

use crate::auth::caller::Caller;
use crate::backup;
use crate::blocking::run_blocking;
use crate::rpc::convert::{signed, unsigned_or_zero};
use crate::rpc::error::RpcError;
use crate::rpc::scan::scan_range;
use tenure_etcd::etcdserverpb as rpc;

/// Version of etcd that members report. It is the newest version whose behaviour is tested. Clients
/// enable features according to this version. `docs/etcd.md` lists these features.
pub(crate) const ETCD_VERSION: &str = "3.5.13";

const CHUNK_BYTES: usize = 64 * 1024;

pub(crate) async fn status(
    caller: Caller,
    _: rpc::StatusRequest,
) -> Result<rpc::StatusResponse, RpcError> {
    let leader_status = caller.leader_status();
    let me = ProcessId::from_index(caller.config.me);
    let (revision, applied, is_learner, size, alarms) = caller.with_state(|state| {
        let is_learner = state.members.learners.contains(me);
        let store = &state.store;
        (store.revision(), store.applied().index, is_learner, store.quota_usage(), alarms(store))
    });
    let size = signed(size as u64);
    let no_leader = leader_status.leader.is_none().then(|| "etcdserver: no leader".to_owned());
    // The text has the format of etcd.
    let alarms = alarms.iter().map(|it| format!("memberID:{} alarm:NOSPACE ", it.member_id));
    let errors = no_leader.into_iter().chain(alarms).collect();
    Ok(rpc::StatusResponse {
        header: caller.response_header(revision),
        version: ETCD_VERSION.into(),
        db_size: size,
        db_size_in_use: size,
        leader: leader_status.leader.map_or(0, |leader| caller.config.members[leader].id),
        raft_index: applied,
        raft_term: leader_status.term,
        raft_applied_index: applied,
        errors,
        is_learner,
        links: links(&caller),
    })
}

/// Returns the states of the connections to all other processes of the configuration, including
/// those that are not members now.
fn links(caller: &Caller) -> Vec<rpc::MemberLink> {
    let millis = |at: Option<SystemTime>| {
        let since = at.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    };
    let link = |it: PeerStatus| rpc::MemberLink {
        id: caller.config.members[it.peer.index()].id,
        is_connected: it.is_connected,
        disconnected_at: millis(it.disconnected_at),
        last_contact_at: millis(it.last_contact_at),
    };
    caller.mesh_handle.peers().into_iter().map(link).collect()
}

fn alarms(store: &Store) -> Vec<rpc::AlarmMember> {
    let active = store.alarms();
    active.map(|(member_id, alarm)| rpc::AlarmMember { member_id, alarm: kind(alarm) }).collect()
}

fn kind(alarm: Alarm) -> i32 {
    match alarm {
        Alarm::NoSpace => rpc::AlarmType::Nospace.into(),
    }
}

/// Lists alarms, activates an alarm, or clears it. Any user may list alarms, and only root may
/// change them. NOSPACE is the only alarm that can be active. CORRUPT is not needed, because a
/// member verifies checksums when it reads data.
pub(crate) async fn alarm(
    caller: Caller,
    request: rpc::AlarmRequest,
) -> Result<rpc::AlarmResponse, RpcError> {
    use rpc::alarm_request::AlarmAction;
    let activates = match request.action() {
        AlarmAction::Get => {
            caller.check_authenticated()?;
            caller.wait_linearizable().await?;
            let wanted = |it: &rpc::AlarmMember| request.alarm == 0 || it.alarm == request.alarm;
            let (header, mut alarms) =
                (caller.current_response_header(), caller.with_state(|it| alarms(&it.store)));
            alarms.retain(wanted);
            return Ok(rpc::AlarmResponse { header, alarms });
        }
        AlarmAction::Activate => true,
        AlarmAction::Deactivate => false,
    };
    caller.wait_linearizable().await?;
    caller.check_root()?;
    let alarms = match request.alarm() {
        rpc::AlarmType::Nospace => set_alarm(&caller, request.member_id, activates).await?,
        rpc::AlarmType::Corrupt if activates => {
            return Err(RpcError::unimplemented("the alarm CORRUPT is not supported".into()));
        }
        rpc::AlarmType::Corrupt | rpc::AlarmType::None => Vec::new(),
    };
    Ok(rpc::AlarmResponse { header: caller.current_response_header(), alarms })
}

/// Activates or clears the alarm NOSPACE of a member, and returns the alarm. Returns an empty list
/// if the call clears an alarm that was not active. The activation fails if `id` is neither 0 nor
/// the ID of a configured member.
async fn set_alarm(
    caller: &Caller,
    id: u64,
    activates: bool,
) -> Result<Vec<rpc::AlarmMember>, RpcError> {
    let is_known = id == 0 || caller.config.members.iter().any(|it| it.id == id);
    if activates && !is_known {
        return Err(RpcError::MEMBER_NOT_FOUND);
    }
    let change = AlarmChange { member: id, alarm: Alarm::NoSpace, activates };
    let (_, answer) = caller.execute(Command::Alarm(change)).await?;
    let has_changed = answer == CommandResult::Alarm { has_changed: true };
    let is_listed = activates || has_changed;
    let alarm = rpc::AlarmMember { member_id: id, alarm: kind(Alarm::NoSpace) };
    Ok(is_listed.then_some(alarm).into_iter().collect())
}

/// Does nothing and succeeds if the caller is root: the store has no fragmentation.
pub(crate) async fn defragment(
    caller: Caller,
    _: rpc::DefragmentRequest,
) -> Result<rpc::DefragmentResponse, RpcError> {
    caller.check_root()?;
    // As at etcd, the response has no header.
    Ok(rpc::DefragmentResponse::default())
}

/// Returns the first four bytes of a hash of the whole store. They are equal on members that have
/// applied the same entries.
pub(crate) async fn hash(
    caller: Caller,
    _: rpc::HashRequest,
) -> Result<rpc::HashResponse, RpcError> {
    caller.check_root()?;
    // The encoded store takes as much memory as a backup.
    let _permit = caller.scan_limit.acquire().await?;
    let store =
        caller.check_and_read(AccessControl::authorize_root, |store| Ok(store.snapshot()))?;
    let revision = store.revision();
    let hash = run_blocking(move || first_hash_bytes(Sha256::digest(store.encode()))).await?;
    Ok(rpc::HashResponse { header: caller.response_header(revision), hash })
}

/// Returns a hash of all keys, values, revisions and leases as of a revision; 0 means the current
/// revision. If two members have the same keys at that revision, their hashes are equal.
pub(crate) async fn hash_kv(
    caller: Caller,
    request: rpc::HashKvRequest,
) -> Result<rpc::HashKvResponse, RpcError> {
    let range = RangeRead {
        revision: unsigned_or_zero(request.revision),
        ..RangeRead::at_current_revision(KeySpan::all())
    };
    let ((revision, hash), compacted) =
        scan_range(&caller, &range, AccessControl::authorize_root, hash_keys).await?;
    Ok(rpc::HashKvResponse {
        header: caller.response_header(revision),
        hash,
        // etcd reports -1 before the first compaction.
        compact_revision: if compacted == 0 { -1 } else { signed(compacted) },
    })
}

/// Returns the revision of the store at the time of the read. Also returns the first four bytes of
/// the hash of the keys that were read.
fn hash_keys(reading: CollectedRead) -> (u64, u32) {
    let found = reading.finish();
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
    (found.revision, first_hash_bytes(hash.finalize()))
}

fn first_hash_bytes(hash: impl AsRef<[u8]>) -> u32 {
    let first = hash.as_ref().first_chunk().expect("a hash has more than 4 bytes");
    u32::from_be_bytes(*first)
}

/// Streams a backup file: pages with the encoded store, and their hash.
pub(crate) async fn snapshot(
    caller: Caller,
    _: rpc::SnapshotRequest,
) -> Result<
    Response<impl Stream<Item = Result<rpc::SnapshotResponse, Status>> + Send + 'static>,
    RpcError,
> {
    caller.wait_linearizable().await?;
    caller.check_root()?;
    let write = async || {
        let store =
            caller.check_and_read(AccessControl::authorize_root, |store| Ok(store.snapshot()))?;
        let revision = store.revision();
        let bytes = run_blocking(move || backup::encode(&store)).await?;
        Ok((bytes.len(), (revision, bytes)))
    };
    let written = caller.response_budget.make_of_unknown_size(write).await?;
    let chunk = move |revision, bytes: &[u8], from: usize| {
        let to = bytes.len().min(from + CHUNK_BYTES);
        let remaining_bytes = (bytes.len() - to) as u64;
        let header = caller.response_header(revision);
        Ok(rpc::SnapshotResponse { header, remaining_bytes, blob: bytes[from..to].to_vec() })
    };
    Ok(written.map(|(revision, bytes)| {
        let chunks = (0..bytes.len()).step_by(CHUNK_BYTES);
        stream::iter(chunks.map(move |from| chunk(revision, &bytes, from)))
    }))
}

pub(crate) async fn move_leader(
    caller: Caller,
    request: rpc::MoveLeaderRequest,
) -> Result<rpc::MoveLeaderResponse, RpcError> {
    caller.check_root()?;
    let to = caller.config.members.iter().position(|it| it.id == request.target_id);
    caller.transfer_leadership(to.ok_or(RpcError::BAD_TRANSFEREE)?).await?;
    Ok(rpc::MoveLeaderResponse::default())
}
