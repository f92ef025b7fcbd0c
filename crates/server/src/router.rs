//! From the path of a request to what serves it.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use http::{HeaderMap, Request, Response};
use prost::Message;
use tenure_store::Asker;
use tonic::body::Body;
use tonic::server::{Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Code, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::budget;
use crate::caller::Caller;
use crate::member::Member;
use crate::refusal::Refusal;
use crate::rpc::{auth, cluster, election, health, kv, lease, lock, maintenance, observe, watch};
use crate::secrets;

/// The longest message of a client: what etcd takes by default, and what goes with it.
pub(crate) const LONGEST_REQUEST: usize = (3 << 20) / 2 + (512 << 10);

type Boxed<T> = Pin<Box<dyn Future<Output = Result<tonic::Response<T>, Status>> + Send>>;
type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Serves a call of gRPC; in time, where the client says how much there is.
pub(crate) async fn call(member: Arc<Member>, request: Request<Body>) -> Response<Body> {
    let time = request.headers().get("grpc-timeout").and_then(|it| time_of(it.to_str().ok()?));
    let (visited, path) = (member.clone(), request.uri().path().to_owned());
    let address = request.extensions().get::<SocketAddr>().copied();
    let asker = asker(&member, request.headers());
    let who = described(address, asker.as_ref().ok());
    let called = async {
        match asker {
            Ok(asker) => route(Caller::new(member, asker), request).await,
            Err(refused) => Status::from(refused).into_http(),
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
    visited.refusals.tell(&status, &who, &path);
    status.into_http()
}

/// Who asks, as the log says it.
fn described(address: Option<SocketAddr>, asker: Option<&Asker>) -> String {
    let address = address.map_or("somebody".to_owned(), |address| address.to_string());
    match asker {
        Some(Asker::User(name)) => format!("{address} user {name:?}"),
        _ => address,
    }
}

/// Who asks, as their token says where everybody has to say it.
fn asker(member: &Member, headers: &HeaderMap) -> Result<Asker, Refusal> {
    let token = headers.get("token").or_else(|| headers.get("authorization"));
    let Some(token) = token else { return Ok(Asker::Anybody) };
    let token = token.to_str().unwrap_or_default();
    let token = token.strip_prefix("Bearer ").unwrap_or(token);
    member.look(|state| match state.store.access() {
        access if access.is_enabled() => secrets::user_of(access, token).map(Asker::User),
        _ => Ok(Asker::Anybody),
    })
}

/// What is too long to be read is refused with another code by etcd than by the library.
pub(crate) fn as_etcd_says(status: Status) -> Status {
    match status.message().contains("message length too large") {
        true => Status::resource_exhausted("grpc: received message larger than max"),
        false => status,
    }
}

/// `100m` is a tenth of a second.
fn time_of(text: &str) -> Option<Duration> {
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

async fn route(member: Caller, request: Request<Body>) -> Response<Body> {
    let wants_leader = request.headers().get("hasleader").is_some_and(|it| it == "true");
    if wants_leader && member.standing().leader.is_none() {
        return Status::from(Refusal::NO_LEADER).into_http();
    }
    let path = request.uri().path().to_owned();
    let Some((service, method)) = path.trim_start_matches('/').split_once('/') else {
        return unknown(&path);
    };
    match service {
        "etcdserverpb.KV" => keys(member, request, method).await,
        "etcdserverpb.Lease" => leases(member, request, method).await,
        "etcdserverpb.Watch" if method == "Watch" => {
            let watch =
                move |member, asked| async move { Ok(watch::watch(member, asked, wants_leader)) };
            streaming(member, request, watch).await
        }
        "v3lockpb.Lock" => locks(member, request, method).await,
        "v3electionpb.Election" => elections(member, request, method).await,
        "etcdserverpb.Cluster" => clusters(member, request, method).await,
        "etcdserverpb.Maintenance" => maintenances(member, request, method).await,
        "etcdserverpb.Auth" => access(member, request, method).await,
        "grpc.health.v1.Health" if method == "Check" => unary(member, request, health::check).await,
        "grpc.health.v1.Health" if method == "Watch" => {
            let watch = |member, asked| async { Ok(health::watch(member, asked)) };
            server_streaming(member, request, watch).await
        }
        _ => unknown(&path),
    }
}

async fn keys(member: Caller, request: Request<Body>, method: &str) -> Response<Body> {
    match method {
        "Range" => large(member, request, kv::read).await,
        "Put" => unary(member, request, kv::write).await,
        "DeleteRange" => large(member, request, kv::remove).await,
        "Txn" => large(member, request, kv::transact).await,
        "Compact" => unary(member, request, kv::compact).await,
        other => unknown(other),
    }
}

async fn leases(member: Caller, request: Request<Body>, method: &str) -> Response<Body> {
    match method {
        "LeaseGrant" => unary(member, request, lease::grant).await,
        "LeaseRevoke" => unary(member, request, lease::revoke).await,
        "LeaseKeepAlive" => {
            let renew = |member, asked| async { Ok(lease::keep_alive(member, asked)) };
            streaming(member, request, renew).await
        }
        "LeaseTimeToLive" => unary(member, request, lease::time_to_live).await,
        "LeaseLeases" => unary(member, request, lease::list).await,
        other => unknown(other),
    }
}

async fn locks(member: Caller, request: Request<Body>, method: &str) -> Response<Body> {
    match method {
        "Lock" => unary(member, request, lock::lock).await,
        "Unlock" => unary(member, request, lock::unlock).await,
        other => unknown(other),
    }
}

async fn elections(member: Caller, request: Request<Body>, method: &str) -> Response<Body> {
    match method {
        "Campaign" => unary(member, request, election::campaign).await,
        "Proclaim" => unary(member, request, election::proclaim).await,
        "Leader" => unary(member, request, election::leader).await,
        "Observe" => {
            let observe = |member, asked| async { Ok(observe::observe(member, asked)) };
            server_streaming(member, request, observe).await
        }
        "Resign" => unary(member, request, election::resign).await,
        other => unknown(other),
    }
}

async fn clusters(member: Caller, request: Request<Body>, method: &str) -> Response<Body> {
    match method {
        "MemberList" => unary(member, request, cluster::list).await,
        "MemberAdd" => unary(member, request, cluster::add).await,
        "MemberRemove" => unary(member, request, cluster::remove).await,
        "MemberPromote" => unary(member, request, cluster::promote).await,
        other => unknown(other),
    }
}

async fn access(member: Caller, request: Request<Body>, method: &str) -> Response<Body> {
    match method {
        "AuthEnable" => unary(member, request, auth::enable).await,
        "AuthDisable" => unary(member, request, auth::disable).await,
        "AuthStatus" => unary(member, request, auth::status).await,
        "Authenticate" => unary(member, request, auth::authenticate).await,
        "UserAdd" => unary(member, request, auth::add_user).await,
        "UserGet" => unary(member, request, auth::get_user).await,
        "UserList" => unary(member, request, auth::list_users).await,
        "UserDelete" => unary(member, request, auth::delete_user).await,
        "UserChangePassword" => unary(member, request, auth::change_password).await,
        "UserGrantRole" => unary(member, request, auth::grant_role).await,
        "UserRevokeRole" => unary(member, request, auth::revoke_role).await,
        "RoleAdd" => unary(member, request, auth::add_role).await,
        "RoleGet" => unary(member, request, auth::get_role).await,
        "RoleList" => unary(member, request, auth::list_roles).await,
        "RoleDelete" => unary(member, request, auth::delete_role).await,
        "RoleGrantPermission" => unary(member, request, auth::grant).await,
        "RoleRevokePermission" => unary(member, request, auth::revoke).await,
        other => unknown(other),
    }
}

async fn maintenances(member: Caller, request: Request<Body>, method: &str) -> Response<Body> {
    match method {
        "Alarm" => unary(member, request, maintenance::alarm).await,
        "Status" => unary(member, request, maintenance::status).await,
        "Defragment" => unary(member, request, maintenance::defragment).await,
        "HashKV" => unary(member, request, maintenance::hash).await,
        "Snapshot" => server_streaming(member, request, maintenance::snapshot).await,
        "MoveLeader" => unary(member, request, maintenance::move_leader).await,
        other => unknown(other),
    }
}

fn unknown(what: &str) -> Response<Body> {
    Status::from(Refusal::unimplemented(what)).into_http()
}

/// A function that serves, with what it needs.
struct Serving<F> {
    member: Caller,
    serve: F,
}

impl<Asked, Answer, F, Served> UnaryService<Asked> for Serving<F>
where
    F: FnMut(Caller, Asked) -> Served,
    Served: Future<Output = Result<Answer, Refusal>> + Send + 'static,
{
    type Response = Answer;
    type Future = Boxed<Answer>;

    fn call(&mut self, request: tonic::Request<Asked>) -> Self::Future {
        let served = (self.serve)(self.member.clone(), request.into_inner());
        Box::pin(async { Ok(tonic::Response::new(served.await?)) })
    }
}

/// The same, whose answers may have a share of what there is for large ones.
struct Weighing<F>(Serving<F>);

impl<Asked, Answer, F, Served> UnaryService<Asked> for Weighing<F>
where
    F: FnMut(Caller, Asked) -> Served,
    Served: Future<Output = Result<tonic::Response<Answer>, Refusal>> + Send + 'static,
{
    type Response = Answer;
    type Future = Boxed<Answer>;

    fn call(&mut self, request: tonic::Request<Asked>) -> Self::Future {
        let served = (self.0.serve)(self.0.member.clone(), request.into_inner());
        Box::pin(async { Ok(served.await?) })
    }
}

impl<Asked, Answer, All, F, Served> ServerStreamingService<Asked> for Serving<F>
where
    F: FnMut(Caller, Asked) -> Served,
    Served: Future<Output = Result<All, Refusal>> + Send + 'static,
    All: Stream<Item = Result<Answer, Status>> + Send + 'static,
{
    type Response = Answer;
    type ResponseStream = Answers<Answer>;
    type Future = Boxed<Self::ResponseStream>;

    fn call(&mut self, request: tonic::Request<Asked>) -> Self::Future {
        let served = (self.serve)(self.member.clone(), request.into_inner());
        Box::pin(async { Ok(tonic::Response::new(Box::pin(served.await?) as Answers<Answer>)) })
    }
}

impl<Asked, Answer, All, F, Served> StreamingService<Asked> for Serving<F>
where
    F: FnMut(Caller, Streaming<Asked>) -> Served,
    Served: Future<Output = Result<All, Refusal>> + Send + 'static,
    All: Stream<Item = Result<Answer, Status>> + Send + 'static,
{
    type Response = Answer;
    type ResponseStream = Answers<Answer>;
    type Future = Boxed<Self::ResponseStream>;

    fn call(&mut self, request: tonic::Request<Streaming<Asked>>) -> Self::Future {
        let served = (self.serve)(self.member.clone(), request.into_inner());
        Box::pin(async { Ok(tonic::Response::new(Box::pin(served.await?) as Answers<Answer>)) })
    }
}

fn grpc<Asked, Answer>() -> Grpc<ProstCodec<Answer, Asked>>
where
    Asked: Message + Default + Send + 'static,
    Answer: Message + Send + 'static,
{
    Grpc::new(ProstCodec::default()).max_decoding_message_size(LONGEST_REQUEST)
}

async fn unary<Asked, Answer, F, Served>(
    member: Caller,
    request: Request<Body>,
    serve: F,
) -> Response<Body>
where
    Asked: Message + Default + Send + 'static,
    Answer: Message + Send + 'static,
    F: FnMut(Caller, Asked) -> Served + Send,
    Served: Future<Output = Result<Answer, Refusal>> + Send + 'static,
{
    grpc::<Asked, Answer>().unary(Serving { member, serve }, request).await
}

async fn large<Asked, Answer, F, Served>(
    member: Caller,
    request: Request<Body>,
    serve: F,
) -> Response<Body>
where
    Asked: Message + Default + Send + 'static,
    Answer: Message + Send + 'static,
    F: FnMut(Caller, Asked) -> Served + Send,
    Served: Future<Output = Result<tonic::Response<Answer>, Refusal>> + Send + 'static,
{
    let serving = Weighing(Serving { member, serve });
    budget::hold(grpc::<Asked, Answer>().unary(serving, request).await)
}

async fn server_streaming<Asked, Answer, All, F, Served>(
    member: Caller,
    request: Request<Body>,
    serve: F,
) -> Response<Body>
where
    Asked: Message + Default + Send + 'static,
    Answer: Message + Send + 'static,
    All: Stream<Item = Result<Answer, Status>> + Send + 'static,
    F: FnMut(Caller, Asked) -> Served + Send,
    Served: Future<Output = Result<All, Refusal>> + Send + 'static,
{
    grpc::<Asked, Answer>().server_streaming(Serving { member, serve }, request).await
}

async fn streaming<Asked, Answer, All, F, Served>(
    member: Caller,
    request: Request<Body>,
    serve: F,
) -> Response<Body>
where
    Asked: Message + Default + Send + 'static,
    Answer: Message + Send + 'static,
    All: Stream<Item = Result<Answer, Status>> + Send + 'static,
    F: FnMut(Caller, Streaming<Asked>) -> Served + Send,
    Served: Future<Output = Result<All, Refusal>> + Send + 'static,
{
    grpc::<Asked, Answer>().streaming(Serving { member, serve }, request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_is_named_with_what_is_known_of_them() {
        let address = Some(SocketAddr::from(([127, 0, 0, 1], 7)));
        let user = Asker::User("a b".into());
        assert_eq!(described(address, Some(&user)), "127.0.0.1:7 user \"a b\"");
        assert_eq!(described(address, Some(&Asker::Anybody)), "127.0.0.1:7");
        assert_eq!(described(address, None), "127.0.0.1:7");
        assert_eq!(described(None, Some(&user)), "somebody user \"a b\"");
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
