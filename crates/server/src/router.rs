//! From the path of a request to what serves it.

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
use tenure_etcd::frames::{self, Frames, Messages};
use tenure_store::Asker;
use tokio::time::{Instant, timeout_at};
use tonic::body::Body;
use tonic::server::{Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Code, Status, Streaming};

use crate::budget;
use crate::caller::{CallOptions, Caller};
use crate::member::Member;
use crate::refusal::Refusal;
use crate::rpc::{
    auth, cluster, election, health, kv, lease, lock, maintenance, observe, session, watch,
};
use crate::stopping::until_stopped;

/// Serves a call of gRPC; in time, where the client says how much there is.
pub(crate) async fn call(member: Arc<Member>, request: Request<Body>) -> Response<Body> {
    let options = options(request.headers());
    let (visited, uri) = (member.clone(), request.uri().clone());
    let address = request.extensions().get::<SocketAddr>().copied();
    let caller = match is_for_anybody(uri.path()) {
        true => Ok(Caller::new(member, Asker::Anybody)),
        false => Caller::named_by(member, request.headers()),
    };
    let caller = caller.map(|caller| caller.with_options(options));
    let response = match caller.clone() {
        Ok(caller) => {
            let called = unless_stopped(&caller, led(caller.clone(), request));
            in_time(&caller, called, options.deadline).await
        }
        Err(refused) => Status::from(refused).into_http(),
    };
    let failed = Status::from_header_map(response.headers()).map(as_etcd_says);
    let Some(status) = failed.filter(|status| status.code() != Code::Ok) else { return response };
    let name = caller.as_ref().ok().and_then(Caller::name);
    visited.refusals.note(status.code());
    visited.refusals.tell(&status, &described(address, name), uri.path());
    status.into_http()
}

/// What the metadata of a call asks for.
fn options(headers: &HeaderMap) -> CallOptions {
    let time = headers.get("grpc-timeout").and_then(|it| time_of(it.to_str().ok()?));
    CallOptions {
        requires_leader: headers.get("hasleader").is_some_and(|it| it == "true"),
        deadline: time.map(|time| Instant::now() + time),
    }
}

/// Serves a call until the member stops serving, and responds with an error then.
async fn unless_stopped(
    caller: &Caller,
    called: impl Future<Output = Response<Body>>,
) -> Response<Body> {
    tokio::select! {
        biased;
        response = called => response,
        () = caller.stopped() => Status::from(Refusal::STOPPED).into_http(),
    }
}

/// Responds before the deadline, with an error if there is nothing else.
async fn in_time(
    caller: &Caller,
    called: impl Future<Output = Response<Body>>,
    deadline: Option<Instant>,
) -> Response<Body> {
    let Some(deadline) = deadline else { return called.await };
    let mut called = pin!(called);
    let response = timeout_at(deadline, called.as_mut()).await;
    response.unwrap_or_else(|_| Status::from(caller.at_deadline()).into_http())
}

/// Whether nobody is asked who they are, so that not even a token counts that is void: whoever has
/// one asks for another by this.
fn is_for_anybody(path: &str) -> bool {
    let (service, _) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let known = ["/etcdserverpb.Auth/Authenticate", "/etcdserverpb.Maintenance/Status"];
    known.contains(&path) || service == "grpc.health.v1.Health"
}

/// Who asks, as the log says it.
pub(crate) fn described(address: Option<SocketAddr>, name: Option<&str>) -> String {
    let address = address.map_or("somebody".to_owned(), |address| address.to_string());
    match name {
        Some(name) => format!("{address} user {name:?}"),
        None => address,
    }
}

/// What is too long to be read is refused with another code by etcd than by the library.
pub(crate) fn as_etcd_says(status: Status) -> Status {
    match status.message().contains("message length too large") {
        true => Status::resource_exhausted("grpc: received message larger than max"),
        false => status,
    }
}

/// `100m` is a tenth of a second.
pub(crate) fn time_of(text: &str) -> Option<Duration> {
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

/// How long who wants a leader waits for one: a lead is handed over in less.
const HANDED_OVER: Duration = Duration::from_millis(100);

/// Serves a call. One that requires a leader is rejected while none is known, and is ended when
/// none has been known for a while.
async fn led(member: Caller, request: Request<Body>) -> Response<Body> {
    if member.requires_leader() {
        let deadline = Instant::now() + HANDED_OVER;
        if let Err(refused) = member.somebody_leads(deadline).await {
            return Status::from(refused).into_http();
        }
    }
    route(member, request).await
}

fn route(member: Caller, request: Request<Body>) -> Called {
    let uri = request.uri().clone();
    let Some((service, method)) = uri.path().trim_start_matches('/').split_once('/') else {
        return unknown_service(uri.path());
    };
    match service {
        "etcdserverpb.KV" => keys(member, request, method),
        "etcdserverpb.Lease" => leases(member, request, method),
        "etcdserverpb.Watch" if method == "Watch" => streaming(member, request, watch::watch),
        "tenure.Session" if method == "Transact" => streaming(member, request, session::transact),
        "v3lockpb.Lock" => locks(member, request, method),
        "v3electionpb.Election" => elections(member, request, method),
        "etcdserverpb.Cluster" => clusters(member, request, method),
        "etcdserverpb.Maintenance" => maintenances(member, request, method),
        "etcdserverpb.Auth" => access(member, request, method),
        "grpc.health.v1.Health" if method == "Check" => unary(member, request, health::check),
        "grpc.health.v1.Health" if method == "Watch" => {
            let watch =
                |member, asked| async { Ok(tonic::Response::new(health::watch(member, asked))) };
            server_streaming(member, request, watch)
        }
        _ => unknown_service(service),
    }
}

fn keys(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "Range" => large(member, request, kv::read),
        "Put" => unary(member, request, kv::write),
        "DeleteRange" => large(member, request, kv::remove),
        "Txn" => large(member, request, kv::transact),
        "Compact" => unary(member, request, kv::compact),
        _ => unknown_method(&request),
    }
}

fn leases(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "LeaseGrant" => unary(member, request, lease::grant),
        "LeaseRevoke" => unary(member, request, lease::revoke),
        "LeaseKeepAlive" => streaming(member, request, lease::keep_alive),
        "LeaseTimeToLive" => unary(member, request, lease::time_to_live),
        "LeaseLeases" => unary(member, request, lease::list),
        _ => unknown_method(&request),
    }
}

fn locks(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "Lock" => unary(member, request, lock::lock),
        "Unlock" => unary(member, request, lock::unlock),
        _ => unknown_method(&request),
    }
}

fn elections(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "Campaign" => unary(member, request, election::campaign),
        "Proclaim" => unary(member, request, election::proclaim),
        "Leader" => unary(member, request, election::leader),
        "Observe" => {
            let observe =
                |member, asked| async { Ok(tonic::Response::new(observe::observe(member, asked))) };
            server_streaming(member, request, observe)
        }
        "Resign" => unary(member, request, election::resign),
        _ => unknown_method(&request),
    }
}

fn clusters(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "MemberList" => unary(member, request, cluster::list),
        "MemberAdd" => unary(member, request, cluster::add),
        "MemberRemove" => unary(member, request, cluster::remove),
        "MemberPromote" => unary(member, request, cluster::promote),
        _ => unknown_method(&request),
    }
}

fn access(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "AuthEnable" => unary(member, request, auth::enable),
        "AuthDisable" => unary(member, request, auth::disable),
        "AuthStatus" => unary(member, request, auth::status),
        "Authenticate" => unary(member, request, auth::authenticate),
        "UserAdd" => unary(member, request, auth::add_user),
        "UserGet" => unary(member, request, auth::get_user),
        "UserList" => unary(member, request, auth::list_users),
        "UserDelete" => unary(member, request, auth::delete_user),
        "UserChangePassword" => unary(member, request, auth::change_password),
        "UserGrantRole" => unary(member, request, auth::grant_role),
        "UserRevokeRole" => unary(member, request, auth::revoke_role),
        "RoleAdd" => unary(member, request, auth::add_role),
        "RoleGet" => unary(member, request, auth::get_role),
        "RoleList" => unary(member, request, auth::list_roles),
        "RoleDelete" => unary(member, request, auth::delete_role),
        "RoleGrantPermission" => unary(member, request, auth::grant),
        "RoleRevokePermission" => unary(member, request, auth::revoke),
        _ => unknown_method(&request),
    }
}

fn maintenances(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "Alarm" => unary(member, request, maintenance::alarm),
        "Status" => unary(member, request, maintenance::status),
        "Defragment" => unary(member, request, maintenance::defragment),
        "Hash" => unary(member, request, maintenance::hash),
        "HashKV" => unary(member, request, maintenance::hash_kv),
        "Snapshot" => server_streaming(member, request, maintenance::snapshot),
        "MoveLeader" => unary(member, request, maintenance::move_leader),
        _ => unknown_method(&request),
    }
}

/// Rejects a call in the words of etcd's library of gRPC.
fn unknown_method(request: &Request<Body>) -> Called {
    let path = request.uri().path().trim_start_matches('/');
    let (service, method) = path.split_once('/').unwrap_or((path, ""));
    refused(Refusal::unknown(format!("unknown method {method} for service {service}")))
}

fn unknown_service(service: &str) -> Called {
    refused(Refusal::unknown(format!("unknown service {service}")))
}

fn refused(refusal: Refusal) -> Called {
    let response = Status::from(refusal).into_http();
    Box::pin(async { response })
}

/// What a call of gRPC is answered by. Only this reads and writes messages of the kind that is
/// meant; all that it is handed to is the same for all of them.
struct Serving<In, Out>(Box<dyn FnMut(In) -> Served<Out> + Send>);

/// What comes of a call: one message, or many.
type Served<Out> = Pin<Box<dyn Future<Output = Result<tonic::Response<Out>, Status>> + Send>>;

/// The messages of a streaming call, until the call has to end: for want of a leader that it
/// requires, or at its deadline.
struct Answers {
    messages: Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>,
    ended: Pin<Box<dyn Future<Output = Refusal> + Send>>,
    caller: Caller,
}

impl Answers {
    fn new<Answer: Message>(
        caller: Caller,
        answers: impl Stream<Item = Result<Answer, Status>> + Send + 'static,
    ) -> Self {
        let messages = answers.map(|answer| answer.map(|answer| frames::written(&answer)));
        Answers { messages: Box::pin(messages), ended: Box::pin(caller.ended()), caller }
    }
}

impl Stream for Answers {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.messages.as_mut().poll_next(context) {
            Poll::Pending => {
                let why: Status = ready!(self.ended.as_mut().poll(context)).into();
                // The service stops at once, and not when the client has read the status.
                self.messages = Box::pin(stream::empty());
                self.caller.refusals.note(why.code());
                Poll::Ready(Some(Err(why)))
            }
            ready => ready,
        }
    }
}

/// The answer to a call, when it has come.
type Called = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

impl UnaryService<Bytes> for Serving<Bytes, Bytes> {
    type Response = Bytes;
    type Future = Served<Bytes>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        self.0(request.into_inner())
    }
}

impl ServerStreamingService<Bytes> for Serving<Bytes, Answers> {
    type Response = Bytes;
    type ResponseStream = Answers;
    type Future = Served<Answers>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        self.0(request.into_inner())
    }
}

impl StreamingService<Bytes> for Serving<Streaming<Bytes>, Answers> {
    type Response = Bytes;
    type ResponseStream = Answers;
    type Future = Served<Answers>;

    fn call(&mut self, request: tonic::Request<Streaming<Bytes>>) -> Self::Future {
        self.0(request.into_inner())
    }
}

fn grpc(member: &Caller) -> Grpc<Frames> {
    Grpc::new(Frames).max_decoding_message_size(member.plan.bounds.longest_message())
}

fn unary<Asked, Answer, F, Served>(member: Caller, request: Request<Body>, mut serve: F) -> Called
where
    Asked: Message + Default + 'static,
    Answer: Message + 'static,
    F: FnMut(Caller, Asked) -> Served + Send + 'static,
    Served: Future<Output = Result<Answer, Refusal>> + Send + 'static,
{
    let grpc = grpc(&member);
    one(grpc, request, move |asked| {
        let served = frames::read(asked).map(|asked| serve(member.clone(), asked));
        Box::pin(async { Ok(tonic::Response::new(frames::written(&served?.await?))) })
    })
}

/// The same, whose answers may have a share of what there is for large ones.
fn large<Asked, F, Served>(member: Caller, request: Request<Body>, mut serve: F) -> Called
where
    Asked: Message + Default + 'static,
    F: FnMut(Caller, Asked) -> Served + Send + 'static,
    Served: Future<Output = Result<tonic::Response<Bytes>, Refusal>> + Send + 'static,
{
    let grpc = grpc(&member);
    let called = one(grpc, request, move |asked| {
        let served = frames::read(asked).map(|asked| serve(member.clone(), asked));
        Box::pin(async { Ok(served?.await?) })
    });
    Box::pin(async { budget::hold(called.await) })
}

fn server_streaming<Asked, Answer, All, F, Served>(
    member: Caller,
    request: Request<Body>,
    mut serve: F,
) -> Called
where
    Asked: Message + Default + 'static,
    Answer: Message + 'static,
    All: Stream<Item = Result<Answer, Status>> + Send + 'static,
    F: FnMut(Caller, Asked) -> Served + Send + 'static,
    Served: Future<Output = Result<tonic::Response<All>, Refusal>> + Send + 'static,
{
    let mut grpc = grpc(&member);
    let serving = Serving(Box::new(move |asked| {
        let (caller, served) = (member.clone(), frames::read(asked));
        let served = served.map(|asked| serve(member.clone(), asked));
        Box::pin(async move {
            Ok(served?.await?.map(|all| {
                let all = until_stopped(&caller, all);
                Answers::new(caller, all)
            }))
        })
    }));
    Box::pin(async move { budget::hold(grpc.server_streaming(serving, request).await) })
}

fn streaming<Asked, Answer, All, F>(member: Caller, request: Request<Body>, mut serve: F) -> Called
where
    Asked: Message + Default + 'static,
    Answer: Message + 'static,
    All: Stream<Item = Result<Answer, Status>> + Send + 'static,
    F: FnMut(Caller, Messages<Asked>) -> All + Send + 'static,
{
    let mut grpc = grpc(&member);
    let serving = Serving(Box::new(move |asked| {
        let all = serve(member.clone(), Messages::new(asked));
        let all = Answers::new(member.clone(), until_stopped(&member, all));
        Box::pin(async { Ok(tonic::Response::new(all)) })
    }));
    Box::pin(async move { grpc.streaming(serving, request).await })
}

/// A call of one message that is answered by one.
fn one(
    mut grpc: Grpc<Frames>,
    request: Request<Body>,
    serve: impl FnMut(Bytes) -> Served<Bytes> + Send + 'static,
) -> Called {
    let serving = Serving(Box::new(serve));
    Box::pin(async move { grpc.unary(serving, request).await })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_is_named_with_what_is_known_of_them() {
        let address = Some(SocketAddr::from(([127, 0, 0, 1], 7)));
        assert_eq!(described(address, Some("a b")), "127.0.0.1:7 user \"a b\"");
        assert_eq!(described(address, None), "127.0.0.1:7");
        assert_eq!(described(None, Some("a b")), "somebody user \"a b\"");
    }

    #[test]
    fn nobody_is_asked_for_a_name_to_get_a_token_and_to_see_how_a_member_is() {
        for path in ["etcdserverpb.Auth/Authenticate", "grpc.health.v1.Health/Check"] {
            assert!(is_for_anybody(&format!("/{path}")), "{path}");
        }
        for path in ["/etcdserverpb.Cluster/MemberList", "/etcdserverpb.KV/Range", "/", ""] {
            assert!(!is_for_anybody(path), "{path}");
        }
    }

    #[test]
    fn times_are_read_as_grpc_writes_them() {
        assert_eq!(time_of("100m"), Some(Duration::from_millis(100)));
        assert_eq!(time_of("2S"), Some(Duration::from_secs(2)));
        for wrong in ["", "S", "1", "-1S", "123456789S", "1x", "ä"] {
            assert_eq!(time_of(wrong), None, "{wrong}");
        }
    }
}
