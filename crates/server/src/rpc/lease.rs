//! Leases: granted, renewed, ended, looked at.

use futures_util::{Stream, StreamExt};
use tenure_store::{Answer, Command, Error, Span, Store};
use tonic::Status;

use crate::caller::Caller;
use crate::convert::{lease, lease_id, signed, unsigned};
use crate::refusal::Refusal;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames::Messages;

/// How many renewals of one stream are under way at most.
const AT_ONCE: usize = 64;

pub(crate) async fn grant(
    member: Caller,
    asked: rpc::LeaseGrantRequest,
) -> Result<rpc::LeaseGrantResponse, Refusal> {
    let lease = match asked.id {
        0 => member.new_lease(),
        id => lease(id),
    };
    match member.answer(Command::Grant { lease, ttl: unsigned(asked.ttl) }).await? {
        (revision, Answer::Granted { lease, ttl }) => Ok(rpc::LeaseGrantResponse {
            header: member.header(revision),
            id: lease_id(lease),
            ttl: signed(ttl),
            error: String::new(),
        }),
        other => unreachable!("a grant is answered as one, not by {other:?}"),
    }
}

pub(crate) async fn revoke(
    member: Caller,
    asked: rpc::LeaseRevokeRequest,
) -> Result<rpc::LeaseRevokeResponse, Refusal> {
    let lease = lease(asked.id);
    let (revision, _) = member.answer(Command::Revoke { lease }).await?;
    Ok(rpc::LeaseRevokeResponse { header: member.header(revision) })
}

/// One answer for each renewal; one of a lease that is gone has no time to live. The stream ends at
/// the first renewal that the caller has no right to, as at etcd.
pub(crate) fn keep_alive(
    member: Caller,
    asked: Messages<rpc::LeaseKeepAliveRequest>,
) -> impl Stream<Item = Result<rpc::LeaseKeepAliveResponse, Status>> + Send + 'static {
    let renewed = asked.map(move |asked| {
        let member = member.clone();
        async move {
            let id = asked?.id;
            member.is_named()?;
            member.may_in(|store, asker| store.may_renew(asker, lease(id)))?;
            let ttl = member.renew(lease(id)).await?.unwrap_or_default();
            let header = member.header_now();
            Ok(rpc::LeaseKeepAliveResponse { header, id, ttl: signed(ttl) })
        }
    });
    renewed.buffered(AT_ONCE)
}

pub(crate) async fn time_to_live(
    member: Caller,
    asked: rpc::LeaseTimeToLiveRequest,
) -> Result<rpc::LeaseTimeToLiveResponse, Refusal> {
    member.is_named()?;
    let _undecided = member.undecided();
    let left = member.left(lease(asked.id)).await?;
    // The leader may have taken entries that this member has not: of the lease, and of its keys.
    if left.is_some() {
        member.confirm().await?;
    }
    let keys = member.look(|state| {
        let known = state.store.lease(lease(asked.id)).filter(|_| asked.keys);
        known.into_iter().flat_map(|known| &known.keys).cloned().collect::<Vec<_>>()
    });
    for key in &keys {
        member.may(|access, asker| access.may_read(asker, &Span::one(key.clone())))?;
    }
    let header = member.header_now();
    let gone = rpc::LeaseTimeToLiveResponse { header, id: asked.id, ttl: -1, ..Default::default() };
    Ok(member.look(|state| {
        let Some((known, left)) = state.store.lease(lease(asked.id)).zip(left) else {
            return gone;
        };
        // Those that were looked at: whoever asks may not read others that it has by now.
        let keys = keys.iter().map(|key| key.to_vec()).collect();
        rpc::LeaseTimeToLiveResponse {
            ttl: signed(left),
            granted_ttl: signed(known.ttl),
            keys,
            ..gone
        }
    }))
}

pub(crate) async fn list(
    member: Caller,
    _: rpc::LeaseLeasesRequest,
) -> Result<rpc::LeaseLeasesResponse, Refusal> {
    member.confirm().await?;
    member.may_in(Store::may_list_leases)?;
    let leases = member.leases().await?;
    let header = member.header_now();
    let leases = leases.into_iter().map(|lease| rpc::LeaseStatus { id: lease_id(lease) }).collect();
    Ok(rpc::LeaseLeasesResponse { header, leases })
}

/// The lease that is meant, or one of a minute that nobody renews where none is.
pub(crate) async fn given_or_hidden(member: &Caller, id: i64) -> Result<u64, Refusal> {
    if id != 0 {
        return Ok(lease(id));
    }
    let grant = Command::Grant { lease: member.new_lease(), ttl: 60 };
    match member.answer(grant).await? {
        (_, Answer::Granted { lease, .. }) => Ok(lease),
        _ => Err(Error::LeaseNotFound.into()),
    }
}
