//! Routes gRPC requests to services, by their paths.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, Request, Response};
use hyper::body::Bytes;
use prost::Message;
use tenure_etcd::frames::{self, MessageStream, RawCodec};
use tenure_store::Principal;
use tokio::time::{Instant, timeout_at};
use tonic::body::Body;
use tonic::server::{Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Code, Status, Streaming};
use tracing::Instrument;

use crate::auth::caller::{CallOptions, Caller};
use crate::member::Member;
use crate::net::response_budget;
use crate::rpc::descriptors::DESCRIPTOR_POOL;
use crate::rpc::error::RpcError;
use crate::rpc::{
    auth, cluster, election, health, kv, lease, lock, maintenance, observe, session, watch,
};
use crate::spans;

/// Serves a gRPC call. If the client has set a deadline, responds at the deadline at the latest.
pub(crate) async fn serve_grpc_call(member: Arc<Member>, request: Request<Body>) -> Response<Body> {
    let span = spans::receive_span(request.uri().path());
    serve(member, request).instrument(span).await
}

async fn serve(member: Arc<Member>, request: Request<Body>) -> Response<Body> {
    let address = request.extensions().get::<SocketAddr>().copied();
    let options = CallOptions { client_address: address, ..options(request.headers()) };
    let (counters, uri) = (member.clone(), request.uri().clone());
    let caller = identify_caller(member, options, uri.path(), request.headers()).await;
    let response = match caller.clone() {
        Ok(caller) => {
            let response = unless_stopped(&caller, require_leader(caller.clone(), request));
            with_deadline(&caller, response, options.deadline).await
        }
        Err(error) => Status::from(error).into_http(),
    };
    let failed = Status::from_header_map(response.headers()).map(with_etcd_size_error);
    let Some(status) = failed.filter(|status| status.code() != Code::Ok) else { return response };
    let name = caller.as_ref().ok().and_then(Caller::initial_user_name);
    counters.rejections.record(&status, address, name, uri.path());
    status.into_http()
}

/// Returns the caller of a request, with the rights that its token proves. For a public path, the
/// caller is anonymous.
///
/// Waits until this member has recovered, unless the call is served without a leader. Until then,
/// the store of this member may lack committed entries. If the call did not wait, the member would
/// judge the rights of the caller by old users, and would send old events as new ones.
async fn identify_caller(
    member: Arc<Member>,
    options: CallOptions,
    path: &str,
    headers: &HeaderMap,
) -> Result<Caller, RpcError> {
    let anonymous = Caller::new(member.clone(), Principal::Anonymous).with_options(options);
    if is_public_path(path) {
        return Ok(anonymous);
    }
    if !member.has_recovered() && !is_served_without_leader(path) {
        wait_recovered(&anonymous).await?;
    }
    Caller::from_headers(member, headers).map(|caller| caller.with_options(options))
}

/// Waits until this member has recovered. Fails at the deadline of the call, after the time limit
/// of a request, if the member stops, or if the call requires a leader and none is known.
async fn wait_recovered(caller: &Caller) -> Result<(), RpcError> {
    let recovered = async {
        wait_for_required_leader(caller).await?;
        caller.wait_recovered().await
    };
    tokio::select! {
        biased;
        recovered = recovered => recovered,
        () = caller.wait_for_shutdown_grace() => Err(RpcError::STOPPED),
        error = caller.wait_for_stream_end_error() => Err(error),
    }
}

/// Returns the options in the metadata of a call, without the address of the client.
fn options(headers: &HeaderMap) -> CallOptions {
    let time = headers.get("grpc-timeout").and_then(|it| parse_timeout(it.to_str().ok()?));
    CallOptions {
        requires_leader: headers.get("hasleader").is_some_and(|it| it == "true"),
        deadline: time.map(|time| Instant::now() + time),
        client_address: None,
    }
}

/// Returns the response of `called`. If the member stops first, returns an error response.
async fn unless_stopped(
    caller: &Caller,
    called: impl Future<Output = Response<Body>>,
) -> Response<Body> {
    tokio::select! {
        biased;
        response = called => response,
        () = caller.wait_for_shutdown_grace() => Status::from(RpcError::STOPPED).into_http(),
    }
}

async fn with_deadline(
    caller: &Caller,
    called: impl Future<Output = Response<Body>>,
    deadline: Option<Instant>,
) -> Response<Body> {
    let Some(deadline) = deadline else { return called.await };
    let mut called = pin!(called);
    let response = timeout_at(deadline, called.as_mut()).await;
    response.unwrap_or_else(|_| Status::from(caller.deadline_error()).into_http())
}

/// Returns true if a call with this path needs no authentication. An invalid token does not prevent
/// such a call, so that a client can replace an invalid token.
fn is_public_path(path: &str) -> bool {
    let (service, _) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let public = ["/etcdserverpb.Auth/Authenticate", "/etcdserverpb.Maintenance/Status"];
    public.contains(&path) || service == "grpc.health.v1.Health"
}

/// Returns true if a call with this path is served by a member that has not recovered yet.
/// Operators need the list of members when a cluster has no leader.
fn is_served_without_leader(path: &str) -> bool {
    is_public_path(path) || path == "/etcdserverpb.Cluster/MemberList"
}

/// Converts tonic's error for a message that exceeds the size limit to the error that etcd returns.
/// Returns any other status unchanged.
pub(crate) fn with_etcd_size_error(status: Status) -> Status {
    match status.message().contains("message length too large") {
        true => Status::resource_exhausted("grpc: received message larger than max"),
        false => status,
    }
}

/// Parses a timeout in the format of gRPC: `100m` means 100 milliseconds. Returns `None` if the
/// text has another form.
pub(crate) fn parse_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = digits.parse().ok().filter(|_| digits.len() <= 8)?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Longest time for which a call that requires a leader waits until a leader is known. A handover
/// of leadership takes less time.
const HANDOVER_TIMEOUT: Duration = Duration::from_millis(100);

/// Serves a call. A call that requires a leader is rejected if no leader becomes known within
/// [`HANDOVER_TIMEOUT`].
async fn require_leader(caller: Caller, request: Request<Body>) -> Response<Body> {
    match wait_for_required_leader(&caller).await {
        Ok(()) => route(caller, request).await,
        Err(error) => Status::from(error).into_http(),
    }
}

/// Waits for at most [`HANDOVER_TIMEOUT`] until a leader is known, if the call requires a leader.
async fn wait_for_required_leader(caller: &Caller) -> Result<(), RpcError> {
    match caller.requires_leader() {
        true => caller.wait_for_known_leader(Instant::now() + HANDOVER_TIMEOUT).await,
        false => Ok(()),
    }
}

fn route(caller: Caller, request: Request<Body>) -> CallFuture {
    let uri = request.uri().clone();
    match uri.path().trim_start_matches('/') {
        "etcdserverpb.KV/Range" => unary_large(caller, request, kv::read),
        "etcdserverpb.KV/Put" => unary_large(caller, request, kv::put_key),
        "etcdserverpb.KV/DeleteRange" => unary_large(caller, request, kv::delete_range),
        "etcdserverpb.KV/Txn" => unary_large(caller, request, kv::transact),
        "etcdserverpb.KV/Compact" => unary(caller, request, kv::compact),
        "etcdserverpb.Lease/LeaseGrant" => unary(caller, request, lease::grant),
        "etcdserverpb.Lease/LeaseRevoke" => unary(caller, request, lease::revoke),
        "etcdserverpb.Lease/LeaseKeepAlive" => streaming(caller, request, lease::keep_alive),
        "etcdserverpb.Lease/LeaseTimeToLive" => unary_large(caller, request, lease::time_to_live),
        "etcdserverpb.Lease/LeaseLeases" => unary_large(caller, request, lease::list),
        "etcdserverpb.Watch/Watch" => streaming(caller, request, watch::watch),
        "tenure.Session/Transact" => streaming(caller, request, session::transact),
        "v3lockpb.Lock/Lock" => unary(caller, request, lock::lock),
        "v3lockpb.Lock/Unlock" => unary(caller, request, lock::unlock),
        "v3electionpb.Election/Campaign" => unary(caller, request, election::campaign),
        "v3electionpb.Election/Proclaim" => unary(caller, request, election::proclaim),
        "v3electionpb.Election/Leader" => unary_large(caller, request, election::leader),
        "v3electionpb.Election/Observe" => server_streaming(caller, request, observe::observe),
        "v3electionpb.Election/Resign" => unary(caller, request, election::resign),
        "etcdserverpb.Cluster/MemberList" => unary(caller, request, cluster::list),
        "etcdserverpb.Cluster/MemberAdd" => unary(caller, request, cluster::add),
        "etcdserverpb.Cluster/MemberRemove" => unary(caller, request, cluster::remove),
        "etcdserverpb.Cluster/MemberPromote" => unary(caller, request, cluster::promote),
        "etcdserverpb.Maintenance/Alarm" => unary(caller, request, maintenance::alarm),
        "etcdserverpb.Maintenance/Status" => unary(caller, request, maintenance::status),
        "etcdserverpb.Maintenance/Defragment" => unary(caller, request, maintenance::defragment),
        "etcdserverpb.Maintenance/Hash" => unary(caller, request, maintenance::hash),
        "etcdserverpb.Maintenance/HashKV" => unary(caller, request, maintenance::hash_kv),
        "etcdserverpb.Maintenance/Snapshot" => {
            server_streaming(caller, request, maintenance::snapshot)
        }
        "etcdserverpb.Maintenance/MoveLeader" => unary(caller, request, maintenance::move_leader),
        "etcdserverpb.Auth/AuthEnable" => unary(caller, request, auth::enable),
        "etcdserverpb.Auth/AuthDisable" => unary(caller, request, auth::disable),
        "etcdserverpb.Auth/AuthStatus" => unary(caller, request, auth::status),
        "etcdserverpb.Auth/Authenticate" => unary(caller, request, auth::authenticate),
        "etcdserverpb.Auth/UserAdd" => unary(caller, request, auth::add_user),
        "etcdserverpb.Auth/UserGet" => unary(caller, request, auth::get_user),
        "etcdserverpb.Auth/UserList" => unary(caller, request, auth::list_users),
        "etcdserverpb.Auth/UserDelete" => unary(caller, request, auth::delete_user),
        "etcdserverpb.Auth/UserChangePassword" => unary(caller, request, auth::change_password),
        "etcdserverpb.Auth/UserGrantRole" => unary(caller, request, auth::grant_role),
        "etcdserverpb.Auth/UserRevokeRole" => unary(caller, request, auth::revoke_role),
        "etcdserverpb.Auth/RoleAdd" => unary(caller, request, auth::add_role),
        "etcdserverpb.Auth/RoleGet" => unary(caller, request, auth::get_role),
        "etcdserverpb.Auth/RoleList" => unary(caller, request, auth::list_roles),
        "etcdserverpb.Auth/RoleDelete" => unary(caller, request, auth::delete_role),
        "etcdserverpb.Auth/RoleGrantPermission" => unary(caller, request, auth::grant_permission),
        "etcdserverpb.Auth/RoleRevokePermission" => unary(caller, request, auth::revoke_permission),
        "grpc.health.v1.Health/Check" => unary(caller, request, health::check),
        "grpc.health.v1.Health/Watch" => server_streaming(caller, request, health::watch),
        _ => unknown(uri.path()),
    }
}

/// Rejects a call of an unknown method or service, with the same error message as gRPC for Go.
fn unknown(path: &str) -> CallFuture {
    let message = match path.trim_start_matches('/').split_once('/') {
        Some((service, method)) if DESCRIPTOR_POOL.get_service_by_name(service).is_some() => {
            format!("unknown method {method} for service {service}")
        }
        Some((service, _)) => format!("unknown service {service}"),
        None => format!("unknown service {path}"),
    };
    let response = Status::from(RpcError::unimplemented(message)).into_http();
    Box::pin(async { response })
}

/// Handler of a call with requests of the type `In` and responses of the type `Out`. Both types
/// contain encoded messages. Only the function inside depends on the types of the messages, so the
/// rest of the code is compiled once for all types.
struct Handler<In, Out>(Box<dyn FnMut(In) -> HandlerFuture<Out> + Send>);

/// Future of a handler. Its output is one encoded message, or a stream of them.
type HandlerFuture<Out> = BoxFuture<'static, Result<tonic::Response<Out>, Status>>;

type EncodedMessages = BoxStream<'static, Result<Bytes, Status>>;

struct ResponseStream(EncodedMessages);

impl ResponseStream {
    fn new<Reply: Message>(
        caller: Caller,
        messages: impl Stream<Item = Result<Reply, Status>> + Send + 'static,
    ) -> Self {
        let encoded = messages.map(|message| message.map(|message| frames::encode(&message)));
        ResponseStream(end_early(caller, encoded.boxed()))
    }
}

impl Stream for ResponseStream {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

/// Forwards the messages of a stream. Ends the stream with an error in three cases: the member
/// shuts down, the deadline of the call passes, or the call requires a leader and the leader is
/// lost. No message is forwarded after the error.
fn end_early(caller: Caller, messages: EncodedMessages) -> EncodedMessages {
    let (stopped, ended) =
        (Box::pin(caller.wait_for_shutdown_grace()), Box::pin(caller.wait_for_stream_end_error()));
    let forwarded = stream::unfold(Some((messages, stopped, ended, caller)), async |state| {
        let (mut messages, mut stopped, mut ended, caller) = state?;
        tokio::select! {
            biased;
            () = &mut stopped => Some((Err(RpcError::STOPPED.into()), None)),
            next = messages.next() => {
                next.map(|next| (next, Some((messages, stopped, ended, caller))))
            }
            why = &mut ended => {
                let why = Status::from(why);
                caller.rejections.increment(why.code());
                Some((Err(why), None))
            }
        }
    });
    forwarded.fuse().boxed()
}

type CallFuture = BoxFuture<'static, Response<Body>>;

impl UnaryService<Bytes> for Handler<Bytes, Bytes> {
    type Response = Bytes;
    type Future = HandlerFuture<Bytes>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        self.0(request.into_inner())
    }
}

impl ServerStreamingService<Bytes> for Handler<Bytes, ResponseStream> {
    type Response = Bytes;
    type ResponseStream = ResponseStream;
    type Future = HandlerFuture<ResponseStream>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        self.0(request.into_inner())
    }
}

impl StreamingService<Bytes> for Handler<Streaming<Bytes>, ResponseStream> {
    type Response = Bytes;
    type ResponseStream = ResponseStream;
    type Future = HandlerFuture<ResponseStream>;

    fn call(&mut self, request: tonic::Request<Streaming<Bytes>>) -> Self::Future {
        self.0(request.into_inner())
    }
}

fn grpc(caller: &Caller) -> Grpc<RawCodec> {
    Grpc::new(RawCodec).max_decoding_message_size(caller.config.limits.max_message_bytes())
}

fn unary<Input, Reply, F, Fut>(caller: Caller, request: Request<Body>, mut serve: F) -> CallFuture
where
    Input: Message + Default + 'static,
    Reply: Message + 'static,
    F: FnMut(Caller, Input) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Reply, RpcError>> + Send + 'static,
{
    let grpc = grpc(&caller);
    unary_call(grpc, request, move |request| {
        let served = frames::decode(request).map(|request| serve(caller.clone(), request));
        Box::pin(async { Ok(tonic::Response::new(frames::encode(&served?.await?))) })
    })
}

/// Serves a call with one request and one response that may be large. The function `serve` encodes
/// the response, because it must first reserve memory from the response budget.
fn unary_large<Input, F, Fut>(caller: Caller, request: Request<Body>, mut serve: F) -> CallFuture
where
    Input: Message + Default + 'static,
    F: FnMut(Caller, Input) -> Fut + Send + 'static,
    Fut: Future<Output = Result<tonic::Response<Bytes>, RpcError>> + Send + 'static,
{
    let grpc = grpc(&caller);
    let called = unary_call(grpc, request, move |request| {
        let served = frames::decode(request).map(|request| serve(caller.clone(), request));
        Box::pin(async { Ok(served?.await?) })
    });
    Box::pin(async { response_budget::move_share_to_body(called.await) })
}

fn server_streaming<Input, Reply, Messages, F, Fut>(
    caller: Caller,
    request: Request<Body>,
    mut serve: F,
) -> CallFuture
where
    Input: Message + Default + 'static,
    Reply: Message + 'static,
    Messages: Stream<Item = Result<Reply, Status>> + Send + 'static,
    F: FnMut(Caller, Input) -> Fut + Send + 'static,
    Fut: Future<Output = Result<tonic::Response<Messages>, RpcError>> + Send + 'static,
{
    let mut grpc = grpc(&caller);
    let serving = Handler(Box::new(move |request| {
        let (caller, served) = (caller.clone(), frames::decode(request));
        let served = served.map(|request| serve(caller.clone(), request));
        Box::pin(
            async move { Ok(served?.await?.map(|messages| ResponseStream::new(caller, messages))) },
        )
    }));
    Box::pin(async move {
        response_budget::move_share_to_body(grpc.server_streaming(serving, request).await)
    })
}

fn streaming<Input, Reply, Messages, F>(
    caller: Caller,
    request: Request<Body>,
    mut serve: F,
) -> CallFuture
where
    Input: Message + Default + 'static,
    Reply: Message + 'static,
    Messages: Stream<Item = Result<Reply, Status>> + Send + 'static,
    F: FnMut(Caller, MessageStream<Input>) -> Messages + Send + 'static,
{
    let mut grpc = grpc(&caller);
    let serving = Handler(Box::new(move |request| {
        let messages = serve(caller.clone(), MessageStream::new(request));
        let messages = ResponseStream::new(caller.clone(), messages);
        Box::pin(async { Ok(tonic::Response::new(messages)) })
    }));
    Box::pin(async move { grpc.streaming(serving, request).await })
}

fn unary_call(
    mut grpc: Grpc<RawCodec>,
    request: Request<Body>,
    serve: impl FnMut(Bytes) -> HandlerFuture<Bytes> + Send + 'static,
) -> CallFuture {
    let serving = Handler(Box::new(serve));
    Box::pin(async move { grpc.unary(serving, request).await })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_member::TestMember;

    #[tokio::test]
    async fn stream_ends_with_error_at_shutdown() {
        let TestMember { member, .. } = &TestMember::start();
        let caller = || Caller::new(member.clone(), Principal::Anonymous);
        let endless = stream::iter([Ok(1)]).chain(stream::pending());
        let mut endless = ResponseStream::new(caller(), endless);
        let first = endless.next().await.expect("an item").expect("a message");
        assert_eq!(frames::decode::<i32>(first).ok(), Some(1));
        member.shared.stop_serving();
        let status = endless.next().await.expect("an item").expect_err("an error");
        assert_eq!(status.message(), "etcdserver: server stopped");
        assert!(endless.next().await.is_none());
        let ended = ResponseStream::new(caller(), stream::empty::<Result<(), _>>());
        assert!(ended.count().await <= 1);
    }

    #[test]
    fn authentication_and_health_need_no_token() {
        for path in ["etcdserverpb.Auth/Authenticate", "grpc.health.v1.Health/Check"] {
            assert!(is_public_path(&format!("/{path}")), "{path}");
            assert!(is_served_without_leader(&format!("/{path}")), "{path}");
        }
        assert!(is_served_without_leader("/etcdserverpb.Cluster/MemberList"));
        assert!(!is_served_without_leader("/etcdserverpb.Maintenance/HashKV"));
        for path in ["/etcdserverpb.Cluster/MemberList", "/etcdserverpb.KV/Range", "/", ""] {
            assert!(!is_public_path(path), "{path}");
        }
    }

    #[test]
    fn parses_grpc_timeouts() {
        assert_eq!(parse_timeout("100m"), Some(Duration::from_millis(100)));
        assert_eq!(parse_timeout("2S"), Some(Duration::from_secs(2)));
        for wrong in ["", "S", "1", "-1S", "123456789S", "1x", "ä"] {
            assert_eq!(parse_timeout(wrong), None, "{wrong}");
        }
    }
}
