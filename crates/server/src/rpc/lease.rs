//! Service `Lease`: grants, renews, revokes and lists leases.

use futures_util::{Stream, StreamExt};
use hyper::body::Bytes;
use tenure_store::{Bytes as Key, Command, CommandResult, Error, LeaseId, Store};
use tonic::{Response, Status};
use tracing::field::display;
use tracing::info;

use crate::auth::caller::Caller;
use crate::log::state::StoreAndWaiters;
use crate::net::response_budget::KEY_OVERHEAD_BYTES;
use crate::rpc::convert::{lease_from_wire, lease_to_wire, signed, unsigned_or_zero};
use crate::rpc::error::RpcError;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames::MessageStream;

const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";

/// Upper bound on the renewals of one stream that are in progress. A renewal that needs a log entry
/// waits up to 50 ms for others. So one stream renews at most 20 times as many leases per second in
/// this way.
const MAX_CONCURRENT_RENEWALS: usize = 256;

/// Largest encoding of a lease in the list of all leases, in bytes.
const LEASE_STATUS_BYTES: usize = 13;

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

/// Responds to each request with the new time to live of its lease, which is 0 if the lease does
/// not exist. The stream ends with an error at the first failed request, for example for a lease
/// that the caller may not renew. etcd does the same.
pub(crate) fn keep_alive(
    caller: Caller,
    requests: MessageStream<rpc::LeaseKeepAliveRequest>,
) -> impl Stream<Item = Result<rpc::LeaseKeepAliveResponse, Status>> + Send + 'static {
    let renewed = requests.map(move |request| {
        let caller = caller.clone();
        async move {
            let renewed = renew(&caller, request?.id).await;
            renewed.map_err(|error| caller.record_rejection(KEEP_ALIVE, &error))
        }
    });
    renewed.buffered(MAX_CONCURRENT_RENEWALS)
}

async fn renew(caller: &Caller, id: i64) -> Result<rpc::LeaseKeepAliveResponse, RpcError> {
    caller.check_authenticated()?;
    let lease = lease_from_wire(id);
    caller.check_store_access(|store, principal| store.authorize_renewal(principal, lease))?;
    let ttl = caller.renew_lease(lease).await?.unwrap_or_default();
    let header = caller.current_response_header();
    Ok(rpc::LeaseKeepAliveResponse { header, id, ttl: signed(ttl) })
}

pub(crate) async fn time_to_live(
    caller: Caller,
    request: rpc::LeaseTimeToLiveRequest,
) -> Result<Response<Bytes>, RpcError> {
    caller.check_authenticated()?;
    let _undecided = caller.track_undecided_request();
    let lease = lease_from_wire(request.id);
    let left = caller.lease_time_left(lease).await?;
    // The leader may have applied entries about the lease and its keys before this member.
    if left.is_some() {
        caller.wait_linearizable().await?;
    }
    let key_count = |state: &mut StoreAndWaiters| {
        state.store.lease(lease).filter(|_| request.keys).map_or(0, |stored| stored.keys.len())
    };
    let _permit = caller.scan_limit.acquire_for_scan(caller.with_state(key_count)).await?;
    let (revision, granted_ttl, keys) = read_lease(&caller, lease, request.keys)?;
    let header = caller.response_header(revision);
    let gone =
        rpc::LeaseTimeToLiveResponse { header, id: request.id, ttl: -1, ..Default::default() };
    let bytes = keys.iter().map(|key| KEY_OVERHEAD_BYTES + key.len()).sum();
    let make = move || match granted_ttl.zip(left) {
        Some((granted_ttl, left)) => rpc::LeaseTimeToLiveResponse {
            ttl: signed(left),
            granted_ttl: signed(granted_ttl),
            keys: keys.iter().map(|key| key.to_vec()).collect(),
            ..gone
        },
        None => gone,
    };
    caller.response_budget.encode_within_budget(bytes, make).await
}

/// Returns the revision of the store, the TTL of a lease, and the keys of the lease if `wants_keys`
/// is true. The TTL is `None` if the lease does not exist. Fails if `wants_keys` is true and the
/// caller may not read one of the keys.
fn read_lease(
    caller: &Caller,
    lease: LeaseId,
    wants_keys: bool,
) -> Result<(u64, Option<u64>, Vec<Key>), RpcError> {
    caller.with_state(|state| {
        let store = &state.store;
        let stored = store.lease(lease);
        let mut keys = Vec::new();
        if let Some(stored) = stored.filter(|stored| wants_keys && !stored.keys.is_empty()) {
            let principal = caller.verified_principal(store.access_control())?;
            store.authorize_lease_key_list(&principal, lease)?;
            keys.extend(stored.keys.iter().cloned());
        }
        Ok((store.revision(), stored.map(|stored| stored.ttl), keys))
    })
}

pub(crate) async fn list(
    caller: Caller,
    _: rpc::LeaseLeasesRequest,
) -> Result<Response<Bytes>, RpcError> {
    caller.wait_linearizable().await?;
    caller.recheck_identity()?;
    let count = caller.with_state(|state| state.store.leases().len());
    let _permit = caller.scan_limit.acquire_for_scan(count).await?;
    caller.check_store_access(Store::authorize_lease_list)?;
    let leases = caller.list_leases().await?;
    let header = caller.current_response_header();
    let bytes = leases.len() * LEASE_STATUS_BYTES;
    let status = |lease| rpc::LeaseStatus { id: lease_to_wire(lease) };
    let make = move || {
        let leases = leases.into_iter().map(status).collect();
        rpc::LeaseLeasesResponse { header, leases }
    };
    caller.response_budget.encode_within_budget(bytes, make).await
}

/// Returns the lease that a request names. If the request names no lease, grants a lease of one
/// minute, which the client does not renew.
pub(crate) async fn requested_or_new_lease(caller: &Caller, id: i64) -> Result<u64, RpcError> {
    if id != 0 {
        return Ok(lease_from_wire(id));
    }
    let grant = Command::Grant { lease: caller.new_lease_id(), ttl: 60 };
    match caller.execute(grant).await? {
        (_, CommandResult::Granted { lease, .. }) => Ok(lease),
        _ => Err(Error::LeaseNotFound.into()),
    }
}
