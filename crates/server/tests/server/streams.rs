//! Open streams, and the events that end them.

use std::time::Duration;

use serde_json::json;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::watch_request::RequestUnion;
use tenure_etcd::{tenure, v3electionpb, v3lockpb};
use tonic::Status;

use crate::access::{enable_users, token};
use crate::grpc::{Call, Connection};
use crate::member::{Files, Member, base64, eventually, follow_with, post_as};
use crate::three::{HOUR, SOON, led_by_first_member, start_led_by_first};

const WATCH: &str = "/etcdserverpb.Watch/Watch";
const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";
const TRANSACT: &str = "/tenure.Session/Transact";
/// Time to live of a lease that outlives a test, in seconds.
const TTL: i64 = 600;

const REQUIRE_LEADER: &[(&str, &str)] = &[("hasleader", "true")];

fn watch_of(key: &str) -> rpc::WatchRequest {
    let create = rpc::WatchCreateRequest { key: key.into(), ..Default::default() };
    rpc::WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) }
}

async fn watch(connection: &Connection, metadata: &[(&str, &str)], key: &str) -> Call {
    let mut call = connection.call(WATCH, metadata).await;
    call.send(&watch_of(key));
    let created: rpc::WatchResponse = call.next().await.expect("a response");
    assert!(created.created && !created.canceled, "{created:?}");
    call
}

async fn keep_alive(connection: &Connection, metadata: &[(&str, &str)], lease: i64) -> Call {
    let mut call = connection.call(KEEP_ALIVE, metadata).await;
    call.send(&rpc::LeaseKeepAliveRequest { id: lease });
    let renewed: rpc::LeaseKeepAliveResponse = call.next().await.expect("a response");
    assert_eq!(renewed.ttl, TTL);
    call
}

fn lease_of(member: &Member) -> i64 {
    let granted = member.ask("/v3/lease/grant", &json!({ "TTL": TTL }));
    granted["ID"].as_str().and_then(|id| id.parse().ok()).expect("a lease")
}

fn has_no_leader(status: &Status) -> bool {
    (i32::from(status.code()), status.message()) == (14, "etcdserver: no leader")
}

/// A member without a leader must end the calls that require a leader. Clients of etcd in Go then
/// move their sessions to another member.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_require_a_leader_end_without_one() {
    let files = Files::of(3);
    // The third member starts elections when no leader runs. It cannot depose a leader that runs.
    let mut members = start_led_by_first(&files, [HOUR, SOON]);
    let follower = 2;
    let stays = members.remove(follower);
    let [holds, waits, stands, renewed] = [(); 4].map(|()| lease_of(&stays));
    for (path, name) in [("lock/lock", "jobs"), ("election/campaign", "office")] {
        stays.ask(&format!("/v3/{path}"), &json!({ "name": base64(name), "lease": holds }));
    }
    let connection = Connection::open(stays.address).await;
    let mut unbound = watch(&connection, &[], "a").await;
    let mut calls = vec![
        ("watch", watch(&connection, REQUIRE_LEADER, "a").await),
        ("keep-alive", keep_alive(&connection, REQUIRE_LEADER, renewed).await),
    ];
    let mut transact = connection.call(TRANSACT, REQUIRE_LEADER).await;
    transact.send(&rpc::TxnRequest::default());
    let done: tenure::Transacted = transact.next().await.expect("a response");
    assert_eq!(done.code, 0, "{done:?}");
    calls.push(("transact", transact));
    let mut observe = connection.call("/v3electionpb.Election/Observe", REQUIRE_LEADER).await;
    observe.send(&v3electionpb::LeaderRequest { name: b"office".to_vec() });
    observe.end();
    let observed: v3electionpb::LeaderResponse = observe.next().await.expect("a response");
    assert!(observed.kv.is_some());
    calls.push(("observe", observe));
    let mut lock = connection.call("/v3lockpb.Lock/Lock", REQUIRE_LEADER).await;
    lock.send(&v3lockpb::LockRequest { name: b"jobs".to_vec(), lease: waits });
    lock.end();
    calls.push(("lock", lock));
    let mut campaign = connection.call("/v3electionpb.Election/Campaign", REQUIRE_LEADER).await;
    let stand =
        v3electionpb::CampaignRequest { name: b"office".to_vec(), lease: stands, value: vec![] };
    campaign.send(&stand);
    campaign.end();
    calls.push(("campaign", campaign));
    let claims = || ["jobs", "office"].map(|name| stays.claims(name));
    eventually("both are queued", || claims() == [2, 2]);
    members.into_iter().for_each(Member::kill);
    for (name, call) in &mut calls {
        let ended = call.next::<()>().await.expect_err("an end");
        assert!(has_no_leader(&ended), "{name}: {ended:?}");
    }
    assert!(unbound.is_silent_for(Duration::from_millis(100)).await);
    let ended = connection.call(KEEP_ALIVE, REQUIRE_LEADER).await.next::<()>().await;
    assert!(has_no_leader(&ended.expect_err("an end")));
    // Claims keep their places, because clients continue with them at other members.
    let _others: Vec<Member> =
        (0..3).filter(|at| *at != follower).map(|at| files.start(at)).collect();
    stays.put("a", "2");
    assert_eq!(claims(), [2, 2]);
}

/// The member examines a long history in several steps, some of which find no event.
#[tokio::test(flavor = "multi_thread")]
async fn watch_resumes_across_long_history_of_other_keys() {
    let (_files, member) = Member::single();
    let connection = Connection::open(member.address).await;
    let others = rpc::TxnRequest {
        success: (0..128).flat_map(|number| put_of(&format!("b/{number}")).success).collect(),
        ..Default::default()
    };
    for _ in 0..2 {
        for _ in 0..150 {
            let done = connection.unary("/etcdserverpb.KV/Txn", &[], &others).await;
            let rpc::TxnResponse { succeeded, .. } = done.expect("a response");
            assert!(succeeded);
        }
        member.put("a", "1");
    }
    let create =
        rpc::WatchCreateRequest { key: b"a".to_vec(), start_revision: 2, ..Default::default() };
    let mut call = connection.call(WATCH, &[]).await;
    call.send(&rpc::WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) });
    let mut revisions = Vec::new();
    while revisions.len() < 2 {
        let response: rpc::WatchResponse = call.next().await.expect("a response");
        revisions.extend(response.events.into_iter().filter_map(|it| Some(it.kv?.mod_revision)));
    }
    assert_eq!(revisions, [152, 303]);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_calls_of_stopping_member_end_with_error() {
    let (_files, member) = Member::single();
    let [holds, waits, renewed] = [(); 3].map(|()| lease_of(&member));
    member.ask("/v3/lock/lock", &json!({ "name": base64("jobs"), "lease": holds }));
    let connection = Connection::open(member.address).await;
    let watch = watch(&connection, &[], "a").await;
    let keep_alive = keep_alive(&connection, &[], renewed).await;
    let mut lock = connection.call("/v3lockpb.Lock/Lock", &[]).await;
    lock.send(&v3lockpb::LockRequest { name: b"jobs".to_vec(), lease: waits });
    lock.end();
    member.wait_for_claims("jobs", 2);
    member.signal("TERM");
    for (name, mut call) in [("watch", watch), ("keep-alive", keep_alive), ("lock", lock)] {
        let ended = call.next::<()>().await.expect_err("an end");
        let response = (i32::from(ended.code()), ended.message());
        assert_eq!(response, (14, "etcdserver: server stopped"), "{name}");
    }
    assert_eq!(member.wait_exit(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_survives_suspension_and_election() {
    let files = Files::of(3);
    let mut members = start_led_by_first(&files, [1_500, SOON]);
    let (leads, stays) = (members.remove(0), members.remove(0));
    let connection = Connection::open(stays.address).await;
    let mut watch = watch(&connection, REQUIRE_LEADER, "a").await;
    stays.signal("STOP");
    // Longer than the longest election timeout, and shorter than the grace period of streams.
    tokio::time::sleep(Duration::from_millis(2_300)).await;
    stays.signal("CONT");
    leads.kill();
    members[0].put("a", "2");
    let response: rpc::WatchResponse = watch.next().await.expect("an open stream");
    assert_eq!(response.events.len(), 1);
}

#[test]
fn json_stream_that_requires_a_leader_ends_without_one() {
    let files = Files::of(3);
    let mut members = start_led_by_first(&files, [HOUR, SOON]);
    let stays = members.remove(2);
    let body = json!({ "create_request": { "key": base64("a") } });
    let metadata = [("Grpc-Metadata-Hasleader", "true")];
    let mut lines = follow_with(&metadata, stays.address, "/v3/watch", &body);
    assert_eq!(lines.next().expect("a line")["result"]["created"], true);
    members.into_iter().for_each(Member::kill);
    let ended = lines.next().expect("a line");
    assert_eq!(ended["error"]["message"], "etcdserver: no leader", "{ended}");
    assert_eq!(lines.next(), None);
}

fn with_users(member: &Member) -> String {
    enable_users(member, "READWRITE");
    token(member, "root", "secret")
}

fn change(member: &Member, root: &str, path: &str, body: &serde_json::Value) {
    let response = post_as(root, member.address, &format!("/v3/auth/{path}"), body);
    assert_eq!(response.as_ref().map(|it| it.0), Some(200), "{response:?}");
}

/// Open streams of the user bob. Each stream has already served one request.
struct Streams {
    watch: Call,
    transact: Call,
    keep_alive: Call,
    lease: i64,
}

const INVALID: &str = "etcdserver: invalid auth token";

fn put_of(key: &str) -> rpc::TxnRequest {
    let put = rpc::PutRequest { key: key.into(), ..Default::default() };
    let request = Some(rpc::request_op::Request::RequestPut(put));
    rpc::TxnRequest { success: vec![rpc::RequestOp { request }], ..Default::default() }
}

impl Streams {
    async fn open(member: &Member, token: &str) -> Streams {
        let connection = Connection::open(member.address).await;
        let metadata = [("token", token)];
        let grant = rpc::LeaseGrantRequest { ttl: TTL, id: 0 };
        let granted = connection.unary("/etcdserverpb.Lease/LeaseGrant", &metadata, &grant).await;
        let rpc::LeaseGrantResponse { id: lease, .. } = granted.expect("a lease");
        let watch = watch(&connection, &metadata, "jobs/a").await;
        let keep_alive = keep_alive(&connection, &metadata, lease).await;
        let mut transact = connection.call(TRANSACT, &metadata).await;
        transact.send(&put_of("jobs/b"));
        let done: tenure::Transacted = transact.next().await.expect("a response");
        assert_eq!(done.code, 0, "{done:?}");
        Streams { watch, transact, keep_alive, lease }
    }

    async fn assert_rejected(mut self) {
        self.watch.send(&watch_of("jobs/c"));
        let refused: rpc::WatchResponse = self.watch.next().await.expect("a response");
        let why = format!("rpc error: code = Unauthenticated desc = {INVALID}");
        assert!(refused.created && refused.canceled, "{refused:?}");
        assert_eq!((refused.watch_id, refused.cancel_reason), (-1, why));
        self.transact.send(&put_of("jobs/b"));
        let refused: tenure::Transacted = self.transact.next().await.expect("a response");
        assert_eq!((refused.code, refused.message.as_str()), (16, INVALID));
        self.keep_alive.send(&rpc::LeaseKeepAliveRequest { id: self.lease });
        let ended = self.keep_alive.next::<()>().await.expect_err("an end");
        assert_eq!((i32::from(ended.code()), ended.message()), (16, INVALID));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_end_when_the_password_changes() {
    let (_files, member) = Member::single();
    let root = with_users(&member);
    let mut streams = Streams::open(&member, &token(&member, "bob", "one")).await;
    change(&member, &root, "user/changepw", &json!({ "name": "bob", "password": "two" }));
    // The existing watcher receives no more events.
    let put = json!({ "key": base64("jobs/a") });
    assert_eq!(post_as(&root, member.address, "/v3/kv/put", &put).map(|it| it.0), Some(200));
    let canceled: rpc::WatchResponse = streams.watch.next().await.expect("a response");
    assert!(canceled.canceled && canceled.events.is_empty(), "{canceled:?}");
    assert!(canceled.cancel_reason.ends_with(INVALID), "{canceled:?}");
    streams.assert_rejected().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_end_when_their_user_is_replaced() {
    let (_files, member) = Member::single();
    let root = with_users(&member);
    let streams = Streams::open(&member, &token(&member, "bob", "one")).await;
    let bob = json!({ "name": "bob" });
    change(&member, &root, "user/delete", &bob);
    change(&member, &root, "user/add", &json!({ "name": "bob", "password": "one" }));
    change(&member, &root, "user/grant", &json!({ "user": "bob", "role": "jobs" }));
    streams.assert_rejected().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_end_when_users_are_reenabled() {
    let (_files, member) = Member::single();
    let root = with_users(&member);
    let mut streams = Streams::open(&member, &token(&member, "bob", "one")).await;
    change(&member, &root, "disable", &json!({}));
    // Without authentication, the streams continue.
    streams.transact.send(&put_of("jobs/a"));
    let done: tenure::Transacted = streams.transact.next().await.expect("a response");
    assert_eq!(done.code, 0, "{done:?}");
    let event: rpc::WatchResponse = streams.watch.next().await.expect("a response");
    assert_eq!((event.canceled, event.events.len()), (false, 1), "{event:?}");
    change(&member, "", "enable", &json!({}));
    streams.assert_rejected().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn renewal_does_not_revive_an_expired_token() {
    // Each use extends the token for eight seconds. The last use is a request of the streams.
    let (_files, member) = Member::configured("auth-token-ttl = 8");
    with_users(&member);
    let bob = token(&member, "bob", "one");
    let streams = Streams::open(&member, &bob).await;
    tokio::time::sleep(Duration::from_millis(9_500)).await;
    streams.assert_rejected().await;
    let put = json!({ "key": base64("jobs/a") });
    assert_eq!(post_as(&bob, member.address, "/v3/kv/put", &put).map(|it| it.0), Some(401));
}

/// Code and message of an error.
type Failure = (i32, String);

/// Sends a request with a deadline of eight seconds, and returns the error that ends the call.
async fn failure_at_deadline(
    connection: &Connection,
    path: &str,
    message: &dyn Sendable,
) -> Failure {
    let mut call = connection.call(path, &[("grpc-timeout", "8S")]).await;
    message.send(&mut call);
    loop {
        match call.next::<()>().await {
            Ok(()) => {}
            Err(status) => return (i32::from(status.code()), status.message().to_owned()),
        }
    }
}

/// Starts three members, of which the first leads. Lets a client acquire the lock `jobs`, and
/// returns the lease of this client.
fn with_held_lock() -> (Files, [Member; 3], i64) {
    let (files, members) = led_by_first_member();
    let held = lease_of(&members[0]);
    members[0].ask("/v3/lock/lock", &json!({ "name": base64("jobs"), "lease": held }));
    (files, members, held)
}

#[tokio::test(flavor = "multi_thread")]
async fn undecided_write_is_unavailable_at_its_deadline() {
    tokio::join!(check_undecided_calls(), check_waiting_calls());
}

fn deadline_exceeded() -> Failure {
    (4, "context deadline exceeded".to_owned())
}

/// Sends three requests to a cluster that has a majority. Each request waits for an event that
/// never occurs, and has a deadline. Each request must fail with the code `DeadlineExceeded`.
async fn check_waiting_calls() {
    let (_files, members, _) = with_held_lock();
    let connection = Connection::open(members[1].address).await;
    let waits = async |path: &str, message| failure_at_deadline(&connection, path, message).await;
    let lock = v3lockpb::LockRequest { name: b"jobs".to_vec(), lease: 0 };
    let observe = v3electionpb::LeaderRequest { name: b"office".to_vec() };
    let watch = watch_of("a");
    let with_majority = tokio::join!(
        waits("/v3lockpb.Lock/Lock", &lock),
        waits("/v3electionpb.Election/Observe", &observe),
        waits(WATCH, &watch),
    );
    assert_eq!(<[_; 3]>::from(with_majority), [(); 3].map(|()| deadline_exceeded()));
}

/// Suspends two of three members. The third member can then complete no write before the deadline
/// of the write. The writes must fail with the code `Unavailable`.
async fn check_undecided_calls() {
    let (_files, members, held) = with_held_lock();
    let connection = Connection::open(members[1].address).await;
    let waits = async |path: &str, message| failure_at_deadline(&connection, path, message).await;
    let unknown = (14, "etcdserver: request timed out".to_owned());
    [0, 2].iter().for_each(|at: &usize| members[*at].signal("STOP"));
    let put = rpc::PutRequest { key: b"a".to_vec(), ..Default::default() };
    let range = rpc::RangeRequest { key: b"a".to_vec(), ..Default::default() };
    let delete = rpc::DeleteRangeRequest { key: b"a".to_vec(), ..Default::default() };
    let grant = rpc::LeaseGrantRequest { ttl: 60, id: 0 };
    let left = rpc::LeaseTimeToLiveRequest { id: held, keys: false };
    let lock = v3lockpb::LockRequest { name: b"jobs".to_vec(), lease: 0 };
    let elected = v3electionpb::LeaderRequest { name: b"office".to_vec() };
    let address = members[1].address;
    let json = std::thread::spawn(move || {
        let body = json!({ "key": base64("a") });
        follow_with(&[("Grpc-Timeout", "8S")], address, "/v3/kv/put", &body).next()
    });
    let txn = put_of("a");
    let (put, delete, txn, grant, left, lock, range, elected) = tokio::join!(
        waits("/etcdserverpb.KV/Put", &put),
        waits("/etcdserverpb.KV/DeleteRange", &delete),
        waits("/etcdserverpb.KV/Txn", &txn),
        waits("/etcdserverpb.Lease/LeaseGrant", &grant),
        waits("/etcdserverpb.Lease/LeaseTimeToLive", &left),
        waits("/v3lockpb.Lock/Lock", &lock),
        waits("/etcdserverpb.KV/Range", &range),
        waits("/v3electionpb.Election/Leader", &elected),
    );
    let undecided = [put, delete, txn, grant, left, lock];
    assert_eq!(undecided, [(); 6].map(|()| unknown.clone()));
    assert_eq!([range, elected], [(); 2].map(|()| deadline_exceeded()));
    assert_eq!(json.join().expect("a thread").expect("a response")["code"], 14);
    [0, 2].iter().for_each(|at: &usize| members[*at].signal("CONT"));
}

/// Unknown methods and invalid URLs cause errors with the codes and messages of etcd. Clients use
/// these codes and messages to tell errors apart.
#[tokio::test(flavor = "multi_thread")]
async fn rejects_unknown_methods_and_invalid_urls_like_etcd() {
    let (_files, member) = Member::single();
    member.put("a", "1");
    let connection = Connection::open(member.address).await;
    let add = rpc::MemberAddRequest { peer_ur_ls: vec!["nonsense".into()], is_learner: false };
    let none = rpc::MemberAddRequest::default();
    for (path, message, code, words) in [
        ("/etcdserverpb.KV/No", &none, 12, "unknown method No for service etcdserverpb.KV"),
        ("/etcdserverpb.Watch/No", &none, 12, "unknown method No for service etcdserverpb.Watch"),
        ("/tenure.Session/No", &none, 12, "unknown method No for service tenure.Session"),
        ("/x.Y/No", &none, 12, "unknown service x.Y"),
        ("/etcdserverpb.Cluster/MemberAdd", &none, 3, "etcdserver: given member URLs are invalid"),
        ("/etcdserverpb.Cluster/MemberAdd", &add, 3, "etcdserver: given member URLs are invalid"),
    ] {
        let refused = connection.unary::<()>(path, &[], message).await.expect_err("an error");
        assert_eq!((i32::from(refused.code()), refused.message()), (code, words), "{path}");
    }
}

/// Message of any type, which a test can send on a stream.
trait Sendable {
    fn send(&self, call: &mut Call);
}

impl<M: prost::Message> Sendable for M {
    fn send(&self, call: &mut Call) {
        call.send(self);
        call.end();
    }
}
