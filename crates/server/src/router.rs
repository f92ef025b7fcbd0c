//! From the path of a request to what serves it.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use http::{HeaderMap, Request, Response};
use hyper::body::Bytes;
use prost::Message;
use tenure_etcd::frames::{self, Frames, Messages};
use tenure_store::Asker;
use tonic::body::Body;
use tonic::server::{Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Code, Status, Streaming};

use crate::budget;
use crate::caller::Caller;
use crate::member::Member;
use crate::refusal::Refusal;
use crate::rpc::{
    auth, cluster, election, health, kv, lease, lock, maintenance, observe, session, watch,
};
use crate::secrets;
use crate::stopping::until_stopped;

/// The longest message of a client: what etcd takes by default, and what goes with it.
pub(crate) const LONGEST_REQUEST: usize = (3 << 20) / 2 + (512 << 10);

/// Serves a call of gRPC; in time, where the client says how much there is.
pub(crate) async fn call(member: Arc<Member>, request: Request<Body>) -> Response<Body> {
    let time = request.headers().get("grpc-timeout").and_then(|it| time_of(it.to_str().ok()?));
    let (visited, uri) = (member.clone(), request.uri().clone());
    let address = request.extensions().get::<SocketAddr>().copied();
    let caller = match is_for_anybody(uri.path()) {
        true => Ok(Caller::new(member, Asker::Anybody)),
        false => caller(member, request.headers()),
    };
    let name = caller.as_ref().ok().and_then(Caller::name).map(str::to_owned);
    let called = async {
        match caller {
            Ok(caller) => led(caller, request).await,
            Err(refused) => Status::from(refused).into_http(),
        }
    };
    let stopped = visited.stopped();
    let called = async {
        tokio::select! {
            biased;
            response = called => response,
            () = stopped => Status::from(Refusal::STOPPED).into_http(),
        }
    };
    let response = match time {
        None => called.await,
        Some(time) => tokio::time::timeout(time, called).await.unwrap_or_else(|_| {
            Status::new(Code::DeadlineExceeded, "context deadline exceeded").into_http()
        }),
    };
    let failed = Status::from_header_map(response.headers()).map(as_etcd_says);
    let Some(status) = failed.filter(|status| status.code() != Code::Ok) else { return response };
    visited.refusals.note(status.code());
    visited.refusals.tell(&status, &described(address, name.as_deref()), uri.path());
    status.into_http()
}

/// Whether nobody is asked who they are, so that not even a token counts that is void: whoever has
/// one asks for another by this.
fn is_for_anybody(path: &str) -> bool {
    let (service, _) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let known = [
        "/etcdserverpb.Auth/Authenticate",
        "/etcdserverpb.Cluster/MemberList",
        "/etcdserverpb.Maintenance/Status",
    ];
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

/// Who asks, as their token says where everybody has to say it.
fn caller(member: Arc<Member>, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let token = headers.get("token").or_else(|| headers.get("authorization"));
    let Some(token) = token else { return Ok(Caller::new(member, Asker::Anybody)) };
    let token = token.to_str().unwrap_or_default();
    let token = token.strip_prefix("Bearer ").unwrap_or(token);
    let known = member.look(|state| {
        let access = state.store.access();
        access.is_enabled().then(|| secrets::read(access, token))
    });
    match known {
        Some(known) => Caller::with(member, known?),
        None => Ok(Caller::new(member, Asker::Anybody)),
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

/// Serves a call, where somebody leads if that is wanted.
async fn led(member: Caller, request: Request<Body>) -> Response<Body> {
    let wants_leader = request.headers().get("hasleader").is_some_and(|it| it == "true");
    if wants_leader {
        let deadline = tokio::time::Instant::now() + HANDED_OVER;
        if let Err(refused) = member.somebody_leads(deadline).await {
            return Status::from(refused).into_http();
        }
    }
    route(member, request, wants_leader).await
}

fn route(member: Caller, request: Request<Body>, wants_leader: bool) -> Called {
    let uri = request.uri().clone();
    let Some((service, method)) = uri.path().trim_start_matches('/').split_once('/') else {
        return unknown(uri.path());
    };
    match service {
        "etcdserverpb.KV" => keys(member, request, method),
        "etcdserverpb.Lease" => leases(member, request, method),
        "etcdserverpb.Watch" if method == "Watch" => {
            let watch = move |member, asked| watch::watch(member, asked, wants_leader);
            streaming(member, request, watch)
        }
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
        _ => unknown(uri.path()),
    }
}

fn keys(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "Range" => large(member, request, kv::read),
        "Put" => unary(member, request, kv::write),
        "DeleteRange" => large(member, request, kv::remove),
        "Txn" => large(member, request, kv::transact),
        "Compact" => unary(member, request, kv::compact),
        other => unknown(other),
    }
}

fn leases(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "LeaseGrant" => unary(member, request, lease::grant),
        "LeaseRevoke" => unary(member, request, lease::revoke),
        "LeaseKeepAlive" => streaming(member, request, lease::keep_alive),
        "LeaseTimeToLive" => unary(member, request, lease::time_to_live),
        "LeaseLeases" => unary(member, request, lease::list),
        other => unknown(other),
    }
}

fn locks(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "Lock" => unary(member, request, lock::lock),
        "Unlock" => unary(member, request, lock::unlock),
        other => unknown(other),
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
        other => unknown(other),
    }
}

fn clusters(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "MemberList" => unary(member, request, cluster::list),
        "MemberAdd" => unary(member, request, cluster::add),
        "MemberRemove" => unary(member, request, cluster::remove),
        "MemberPromote" => unary(member, request, cluster::promote),
        other => unknown(other),
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
        other => unknown(other),
    }
}

fn maintenances(member: Caller, request: Request<Body>, method: &str) -> Called {
    match method {
        "Alarm" => unary(member, request, maintenance::alarm),
        "Status" => unary(member, request, maintenance::status),
        "Defragment" => unary(member, request, maintenance::defragment),
        "HashKV" => unary(member, request, maintenance::hash),
        "Snapshot" => server_streaming(member, request, maintenance::snapshot),
        "MoveLeader" => unary(member, request, maintenance::move_leader),
        other => unknown(other),
    }
}

fn unknown(what: &str) -> Called {
    refused(Refusal::unimplemented(what))
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

/// Many messages, one after the other.
struct Answers(Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>);

impl Stream for Answers {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
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

fn grpc() -> Grpc<Frames> {
    Grpc::new(Frames).max_decoding_message_size(LONGEST_REQUEST)
}

fn unary<Asked, Answer, F, Served>(member: Caller, request: Request<Body>, mut serve: F) -> Called
where
    Asked: Message + Default + 'static,
    Answer: Message + 'static,
    F: FnMut(Caller, Asked) -> Served + Send + 'static,
    Served: Future<Output = Result<Answer, Refusal>> + Send + 'static,
{
    one(request, move |asked| {
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
    let called = one(request, move |asked| {
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
    let serving = Serving(Box::new(move |asked| {
        let served = frames::read(asked).map(|asked| serve(member.clone(), asked));
        let member = member.clone();
        Box::pin(async move { Ok(served?.await?.map(|all| answers(until_stopped(&member, all)))) })
    }));
    Box::pin(async { budget::hold(grpc().server_streaming(serving, request).await) })
}

fn streaming<Asked, Answer, All, F>(member: Caller, request: Request<Body>, mut serve: F) -> Called
where
    Asked: Message + Default + 'static,
    Answer: Message + 'static,
    All: Stream<Item = Result<Answer, Status>> + Send + 'static,
    F: FnMut(Caller, Messages<Asked>) -> All + Send + 'static,
{
    let serving = Serving(Box::new(move |asked| {
        let all = serve(member.clone(), Messages::new(asked));
        let all = answers(until_stopped(&member, all));
        Box::pin(async { Ok(tonic::Response::new(all)) })
    }));
    Box::pin(async { grpc().streaming(serving, request).await })
}

/// A call of one message that is answered by one.
fn one(
    request: Request<Body>,
    serve: impl FnMut(Bytes) -> Served<Bytes> + Send + 'static,
) -> Called {
    let serving = Serving(Box::new(serve));
    Box::pin(async { grpc().unary(serving, request).await })
}

fn answers<Answer: Message>(
    all: impl Stream<Item = Result<Answer, Status>> + Send + 'static,
) -> Answers {
    Answers(Box::pin(all.map(|answer| answer.map(|answer| frames::written(&answer)))))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use http::{HeaderName, HeaderValue};

    use super::*;
    use crate::caller::tests::closed;

    #[test]
    fn who_is_refused_is_named_with_what_is_known_of_them() {
        let address = Some(SocketAddr::from(([127, 0, 0, 1], 7)));
        assert_eq!(described(address, Some("a b")), "127.0.0.1:7 user \"a b\"");
        assert_eq!(described(address, None), "127.0.0.1:7");
        assert_eq!(described(None, Some("a b")), "somebody user \"a b\"");
    }

    #[tokio::test]
    async fn a_token_counts_beyond_its_own_time_as_long_as_it_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let member = closed(folder.path(), "secret").await;
        // The time is over that it says itself.
        let token = member.look(|state| {
            let access = state.store.access();
            let kept = &access.user("root").expect("root").password;
            secrets::token(access, "root", kept, Duration::ZERO).expect("a token")
        });
        let headers = [("token", &token)].map(|(name, token)| {
            (HeaderName::from_static(name), token.parse::<HeaderValue>().expect("a header"))
        });
        let headers = HeaderMap::from_iter(headers);
        let called = || caller(member.clone(), &headers).map(|it| it.name().map(str::to_owned));
        assert_eq!(called(), Err(Refusal::INVALID_TOKEN));
        let read = member.look(|state| secrets::read(state.store.access(), &token));
        member.tokens.note(read.expect("a token").seal, Instant::now());
        assert_eq!(called(), Ok(Some("root".into())));
    }

    #[test]
    fn nobody_is_asked_for_a_name_to_get_a_token_and_to_see_how_a_member_is() {
        for path in ["etcdserverpb.Auth/Authenticate", "grpc.health.v1.Health/Check"] {
            assert!(is_for_anybody(&format!("/{path}")), "{path}");
        }
        for path in ["/etcdserverpb.Auth/AuthStatus", "/etcdserverpb.KV/Range", "/", ""] {
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
