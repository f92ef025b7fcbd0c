//! Routes gRPC requests to services, by their paths.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
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
use crate::net::shutdown::until_stopped;
use crate::rpc::error::RpcError;
use crate::rpc::{
    auth, cluster, election, health, kv, lease, lock, maintenance, observe, session, watch,
};
use crate::spans;

/// Serves a gRPC call. Responds before the deadline of the client, if it has one.
pub(crate) async fn call(member: Arc<Member>, request: Request<Body>) -> Response<Body> {
    let span = spans::receive(request.uri().path());
    serve(member, request).instrument(span).await
}

async fn serve(member: Arc<Member>, request: Request<Body>) -> Response<Body> {
    let address = request.extensions().get::<SocketAddr>().copied();
    let options = CallOptions { address, ..options(request.headers()) };
    let (counters, uri) = (member.clone(), request.uri().clone());
    let caller = match is_public_path(uri.path()) {
        true => Ok(Caller::new(member, Principal::Anonymous)),
        false => Caller::from_headers(member, request.headers()),
    };
    let caller = caller.map(|caller| caller.with_options(options));
    let response = match caller.clone() {
        Ok(caller) => {
            let response = unless_stopped(&caller, require_leader(caller.clone(), request));
            with_deadline(&caller, response, options.deadline).await
        }
        Err(error) => Status::from(error).into_http(),
    };
    let failed = Status::from_header_map(response.headers()).map(with_etcd_code);
    let Some(status) = failed.filter(|status| status.code() != Code::Ok) else { return response };
    let name = caller.as_ref().ok().and_then(Caller::log_name);
    counters.rejections.count(status.code());
    counters.rejections.log(&status, &describe_caller(address, name), uri.path());
    status.into_http()
}

/// Returns the options in the metadata of a call. They have no address.
fn options(headers: &HeaderMap) -> CallOptions {
    let time = headers.get("grpc-timeout").and_then(|it| parse_timeout(it.to_str().ok()?));
    CallOptions {
        requires_leader: headers.get("hasleader").is_some_and(|it| it == "true"),
        deadline: time.map(|time| Instant::now() + time),
        address: None,
    }
}

/// Serves a call. If the member stops serving first, responds with an error.
async fn unless_stopped(
    caller: &Caller,
    called: impl Future<Output = Response<Body>>,
) -> Response<Body> {
    tokio::select! {
        biased;
        response = called => response,
        () = caller.stopped() => Status::from(RpcError::STOPPED).into_http(),
    }
}

/// Serves a call. If its deadline passes first, responds with an error.
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

/// Returns true if the path needs no authentication. Even an invalid token is accepted there,
/// because its owner uses this path to get a new one.
fn is_public_path(path: &str) -> bool {
    let (service, _) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let public = ["/etcdserverpb.Auth/Authenticate", "/etcdserverpb.Maintenance/Status"];
    public.contains(&path) || service == "grpc.health.v1.Health"
}

/// Returns the address and the name of a caller as text, for the log.
pub(crate) fn describe_caller(address: Option<SocketAddr>, name: Option<&str>) -> String {
    let address = address.map_or("unknown client".to_owned(), |address| address.to_string());
    match name {
        Some(name) => format!("{address} user {name:?}"),
        None => address,
    }
}

/// Replaces tonic's status for a message that is too large by the one of etcd.
pub(crate) fn with_etcd_code(status: Status) -> Status {
    match status.message().contains("message length too large") {
        true => Status::resource_exhausted("grpc: received message larger than max"),
        false => status,
    }
}

/// Parses a timeout in the format of gRPC: `100m` means 100 milliseconds.
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

/// Longest time for which a call that requires a leader waits until one is known. A handover of
/// leadership takes less.
const HANDOVER_TIMEOUT: Duration = Duration::from_millis(100);

/// Serves a call. A call that requires a leader is rejected if no leader is known. It ends when
/// none has been known for the grace period.
async fn require_leader(caller: Caller, request: Request<Body>) -> Response<Body> {
    if caller.requires_leader() {
        let deadline = Instant::now() + HANDOVER_TIMEOUT;
        if let Err(error) = caller.wait_for_known_leader(deadline).await {
            return Status::from(error).into_http();
        }
    }
    route(caller, request).await
}

fn route(caller: Caller, request: Request<Body>) -> CallFuture {
    let uri = request.uri().clone();
    let Some((service, method)) = uri.path().trim_start_matches('/').split_once('/') else {
        return unknown_service(uri.path());
    };
    match service {
        "etcdserverpb.KV" => route_kv(caller, request, method),
        "etcdserverpb.Lease" => route_lease(caller, request, method),
        "etcdserverpb.Watch" if method == "Watch" => streaming(caller, request, watch::watch),
        "tenure.Session" if method == "Transact" => streaming(caller, request, session::transact),
        "v3lockpb.Lock" => route_lock(caller, request, method),
        "v3electionpb.Election" => route_election(caller, request, method),
        "etcdserverpb.Cluster" => route_cluster(caller, request, method),
        "etcdserverpb.Maintenance" => route_maintenance(caller, request, method),
        "etcdserverpb.Auth" => route_auth(caller, request, method),
        "grpc.health.v1.Health" if method == "Check" => unary(caller, request, health::check),
        "grpc.health.v1.Health" if method == "Watch" => {
            let watch = |caller, request| async {
                Ok(tonic::Response::new(health::watch(caller, request)))
            };
            server_streaming(caller, request, watch)
        }
        _ => unknown_service(service),
    }
}

fn route_kv(caller: Caller, request: Request<Body>, method: &str) -> CallFuture {
    match method {
        "Range" => unary_large(caller, request, kv::read),
        "Put" => unary(caller, request, kv::write),
        "DeleteRange" => unary_large(caller, request, kv::remove),
        "Txn" => unary_large(caller, request, kv::transact),
        "Compact" => unary(caller, request, kv::compact),
        _ => unknown_method(&request),
    }
}

fn route_lease(caller: Caller, request: Request<Body>, method: &str) -> CallFuture {
    match method {
        "LeaseGrant" => unary(caller, request, lease::grant),
        "LeaseRevoke" => unary(caller, request, lease::revoke),
        "LeaseKeepAlive" => streaming(caller, request, lease::keep_alive),
        "LeaseTimeToLive" => unary(caller, request, lease::time_to_live),
        "LeaseLeases" => unary(caller, request, lease::list),
        _ => unknown_method(&request),
    }
}

fn route_lock(caller: Caller, request: Request<Body>, method: &str) -> CallFuture {
    match method {
        "Lock" => unary(caller, request, lock::lock),
        "Unlock" => unary(caller, request, lock::unlock),
        _ => unknown_method(&request),
    }
}

fn route_election(caller: Caller, request: Request<Body>, method: &str) -> CallFuture {
    match method {
        "Campaign" => unary(caller, request, election::campaign),
        "Proclaim" => unary(caller, request, election::proclaim),
        "Leader" => unary(caller, request, election::leader),
        "Observe" => {
            let observe = |caller, request| async {
                Ok(tonic::Response::new(observe::observe(caller, request)))
            };
            server_streaming(caller, request, observe)
        }
        "Resign" => unary(caller, request, election::resign),
        _ => unknown_method(&request),
    }
}

fn route_cluster(caller: Caller, request: Request<Body>, method: &str) -> CallFuture {
    match method {
        "MemberList" => unary(caller, request, cluster::list),
        "MemberAdd" => unary(caller, request, cluster::add),
        "MemberRemove" => unary(caller, request, cluster::remove),
        "MemberPromote" => unary(caller, request, cluster::promote),
        _ => unknown_method(&request),
    }
}

fn route_auth(caller: Caller, request: Request<Body>, method: &str) -> CallFuture {
    match method {
        "AuthEnable" => unary(caller, request, auth::enable),
        "AuthDisable" => unary(caller, request, auth::disable),
        "AuthStatus" => unary(caller, request, auth::status),
        "Authenticate" => unary(caller, request, auth::authenticate),
        "UserAdd" => unary(caller, request, auth::add_user),
        "UserGet" => unary(caller, request, auth::get_user),
        "UserList" => unary(caller, request, auth::list_users),
        "UserDelete" => unary(caller, request, auth::delete_user),
        "UserChangePassword" => unary(caller, request, auth::change_password),
        "UserGrantRole" => unary(caller, request, auth::grant_role),
        "UserRevokeRole" => unary(caller, request, auth::revoke_role),
        "RoleAdd" => unary(caller, request, auth::add_role),
        "RoleGet" => unary(caller, request, auth::get_role),
        "RoleList" => unary(caller, request, auth::list_roles),
        "RoleDelete" => unary(caller, request, auth::delete_role),
        "RoleGrantPermission" => unary(caller, request, auth::grant),
        "RoleRevokePermission" => unary(caller, request, auth::revoke),
        _ => unknown_method(&request),
    }
}

fn route_maintenance(caller: Caller, request: Request<Body>, method: &str) -> CallFuture {
    match method {
        "Alarm" => unary(caller, request, maintenance::alarm),
        "Status" => unary(caller, request, maintenance::status),
        "Defragment" => unary(caller, request, maintenance::defragment),
        "Hash" => unary(caller, request, maintenance::hash),
        "HashKV" => unary(caller, request, maintenance::hash_kv),
        "Snapshot" => server_streaming(caller, request, maintenance::snapshot),
        "MoveLeader" => unary(caller, request, maintenance::move_leader),
        _ => unknown_method(&request),
    }
}

/// Rejects a call of an unknown method, with the message of gRPC for Go.
fn unknown_method(request: &Request<Body>) -> CallFuture {
    let path = request.uri().path().trim_start_matches('/');
    let (service, method) = path.split_once('/').unwrap_or((path, ""));
    rejected(RpcError::unknown(format!("unknown method {method} for service {service}")))
}

fn unknown_service(service: &str) -> CallFuture {
    rejected(RpcError::unknown(format!("unknown service {service}")))
}

fn rejected(error: RpcError) -> CallFuture {
    let response = Status::from(error).into_http();
    Box::pin(async { response })
}

/// Handler of a call. Only the handler depends on the types of the messages, so the rest of the
/// code is compiled once for all types.
struct Handler<In, Out>(Box<dyn FnMut(In) -> HandlerFuture<Out> + Send>);

/// Future of a handler. Its output is one message, or a stream of messages.
type HandlerFuture<Out> =
    Pin<Box<dyn Future<Output = Result<tonic::Response<Out>, Status>> + Send>>;

/// Messages of a streaming call. The stream ends early at the deadline of the call, or when the
/// call requires a leader and the leader is lost.
struct ResponseStream {
    messages: Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>,
    ended: Pin<Box<dyn Future<Output = RpcError> + Send>>,
    caller: Caller,
}

impl ResponseStream {
    fn new<Reply: Message>(
        caller: Caller,
        responses: impl Stream<Item = Result<Reply, Status>> + Send + 'static,
    ) -> Self {
        let messages = responses.map(|response| response.map(|response| frames::encode(&response)));
        ResponseStream {
            messages: Box::pin(messages),
            ended: Box::pin(caller.stream_end()),
            caller,
        }
    }
}

impl Stream for ResponseStream {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.messages.as_mut().poll_next(context) {
            Poll::Pending => {
                let why: Status = ready!(self.ended.as_mut().poll(context)).into();
                // Stops the service immediately, and not when the client has read the status.
                self.messages = Box::pin(stream::empty());
                self.caller.rejections.count(why.code());
                Poll::Ready(Some(Err(why)))
            }
            ready => ready,
        }
    }
}

/// Future of an HTTP response.
type CallFuture = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

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
    Grpc::new(RawCodec).max_decoding_message_size(caller.plan.bounds.longest_message())
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

/// Like [`unary`], for responses that may be so large that they need a share of the response
/// budget.
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
    Box::pin(async { response_budget::hold_share(called.await) })
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
        Box::pin(async move {
            Ok(served?.await?.map(|messages| {
                let messages = until_stopped(&caller, messages);
                ResponseStream::new(caller, messages)
            }))
        })
    }));
    Box::pin(
        async move { response_budget::hold_share(grpc.server_streaming(serving, request).await) },
    )
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
        let messages = ResponseStream::new(caller.clone(), until_stopped(&caller, messages));
        Box::pin(async { Ok(tonic::Response::new(messages)) })
    }));
    Box::pin(async move { grpc.streaming(serving, request).await })
}

/// Serves a call with one request and one response.
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

    #[test]
    fn rejected_caller_is_described_by_address_and_user() {
        let address = Some(SocketAddr::from(([127, 0, 0, 1], 7)));
        assert_eq!(describe_caller(address, Some("a b")), "127.0.0.1:7 user \"a b\"");
        assert_eq!(describe_caller(address, None), "127.0.0.1:7");
        assert_eq!(describe_caller(None, Some("a b")), "unknown client user \"a b\"");
    }

    #[test]
    fn authentication_and_health_need_no_token() {
        for path in ["etcdserverpb.Auth/Authenticate", "grpc.health.v1.Health/Check"] {
            assert!(is_public_path(&format!("/{path}")), "{path}");
        }
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
