//! Service `Lease`: grants, renews, revokes and lists leases.

use futures_util::{Stream, StreamExt};
use tenure_store::{Command, CommandResult, Error, KeySpan, Store};
use tonic::Status;
use tracing::field::display;
use tracing::info;

use crate::auth::caller::Caller;
use crate::rpc::convert::{lease_from_wire, lease_to_wire, signed, unsigned_or_zero};
use crate::rpc::error::RpcError;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames::MessageStream;

const MAX_CONCURRENT_RENEWALS: usize = 64;

pub(crate) async fn grant(
    caller: Caller,
    request: rpc::LeaseGrantRequest,
) -> Result<rpc::LeaseGrantResponse, RpcError> {
    let lease = match request.id {
        0 => caller.new_lease_id(),
        id => lease_from_wire(id),
    };
    match caller.execute(Command::Grant { lease, ttl: unsigned_or_zero(request.ttl) }).await? {
        (revision, CommandResult::Granted { lease, ttl }) => Ok(rpc::LeaseGrantResponse {
            header: caller.response_header(revision),
            id: lease_to_wire(lease),
            ttl: signed(ttl),
            error: String::new(),
        }),
        other => unreachable!("unexpected result of a grant: {other:?}"),
    }
}

pub(crate) async fn revoke(
    caller: Caller,
    request: rpc::LeaseRevokeRequest,
) -> Result<rpc::LeaseRevokeResponse, RpcError> {
    let lease = lease_from_wire(request.id);
    // A revocation is logged only if it deletes keys. Without keys, a client has only closed its
    // session.
    let held = caller.with_state(|state| {
        let keys = &state.store.lease(lease)?.keys;
        let first = String::from_utf8_lossy(keys.first()?).into_owned();
        Some((keys.len(), first))
    });
    let (revision, _) = caller.execute(Command::Revoke { lease }).await?;
    if let Some((keys, first)) = held {
        let (client, user) = (caller.client_address().map(display), caller.initial_user_name());
        let lease = format_args!("{lease:x}");
        info!(client, user, lease, keys, ?first, "lease revoked, keys deleted");
    }
    Ok(rpc::LeaseRevokeResponse { header: caller.response_header(revision) })
}

/// Responds to each request with the new time to live of its lease, which is 0 if the lease is
/// gone. The stream ends at the first request for a lease that the caller may not renew, as at
/// etcd.
pub(crate) fn keep_alive(
    caller: Caller,
    requests: MessageStream<rpc::LeaseKeepAliveRequest>,
) -> impl Stream<Item = Result<rpc::LeaseKeepAliveResponse, Status>> + Send + 'static {
    let renewed = requests.map(move |request| {
        let caller = caller.clone();
        async move {
            let id = request?.id;
            caller.check_authenticated()?;
            caller.check_store_access(|store, principal| {
                store.authorize_renewal(principal, lease_from_wire(id))
            })?;
            let ttl = caller.renew_lease(lease_from_wire(id)).await?.unwrap_or_default();
            let header = caller.current_response_header();
            Ok(rpc::LeaseKeepAliveResponse { header, id, ttl: signed(ttl) })
        }
    });
    renewed.buffered(MAX_CONCURRENT_RENEWALS)
}

pub(crate) async fn time_to_live(
    caller: Caller,
    request: rpc::LeaseTimeToLiveRequest,
) -> Result<rpc::LeaseTimeToLiveResponse, RpcError> {
    caller.check_authenticated()?;
    let _undecided = caller.track_undecided_request();
    let left = caller.lease_time_left(lease_from_wire(request.id)).await?;
    // The leader may have applied entries about the lease and its keys before this member.
    if left.is_some() {
        caller.wait_linearizable().await?;
    }
    let keys = caller.with_state(|state| {
        let stored = state.store.lease(lease_from_wire(request.id)).filter(|_| request.keys);
        stored.into_iter().flat_map(|stored| &stored.keys).cloned().collect::<Vec<_>>()
    });
    for key in &keys {
        caller.check_access(|access, principal| {
            access.authorize_read(principal, &KeySpan::single(key.clone()))
        })?;
    }
    let header = caller.current_response_header();
    let gone =
        rpc::LeaseTimeToLiveResponse { header, id: request.id, ttl: -1, ..Default::default() };
    Ok(caller.with_state(|state| {
        let Some((stored, left)) = state.store.lease(lease_from_wire(request.id)).zip(left) else {
            return gone;
        };
        // The response contains only keys that the caller may read. The lease may have further keys
        // by now, for which no right was checked.
        let keys = keys.iter().map(|key| key.to_vec()).collect();
        rpc::LeaseTimeToLiveResponse {
            ttl: signed(left),
            granted_ttl: signed(stored.ttl),
            keys,
            ..gone
        }
    }))
}

pub(crate) async fn list(
    caller: Caller,
    _: rpc::LeaseLeasesRequest,
) -> Result<rpc::LeaseLeasesResponse, RpcError> {
    caller.wait_linearizable().await?;
    caller.check_store_access(Store::authorize_lease_list)?;
    let leases = caller.list_leases().await?;
    let header = caller.current_response_header();
    let leases =
        leases.into_iter().map(|lease| rpc::LeaseStatus { id: lease_to_wire(lease) }).collect();
    Ok(rpc::LeaseLeasesResponse { header, leases })
}

/// Returns the lease that a request names. If the request names no lease, grants a lease of one
/// minute, which the client does not renew.
pub(crate) async fn lease_or_grant(caller: &Caller, id: i64) -> Result<u64, RpcError> {
    if id != 0 {
        return Ok(lease_from_wire(id));
    }
    let grant = Command::Grant { lease: caller.new_lease_id(), ttl: 60 };
    match caller.execute(grant).await? {
        (_, CommandResult::Granted { lease, .. }) => Ok(lease),
        _ => Err(Error::LeaseNotFound.into()),
    }
}
