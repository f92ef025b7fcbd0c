//! Latency of puts while another client reads or deletes very many keys.

use std::time::{Duration, Instant};

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use tenure_etcd::etcdserverpb::request_op::Request;
use tokio::time::sleep;
use tonic::Status;
use tonic::transport::Channel;

use crate::Options;
use crate::cluster::Cluster;
use crate::puts::{Pace, PutLoad};
use crate::recipe::{RANGE, TXN, ask, channel_to, status};
use crate::side::ServiceKind;

const DELETE: &str = "/etcdserverpb.KV/DeleteRange";
const HASH: &str = "/etcdserverpb.Maintenance/HashKV";

const KEYS_PER_TXN: usize = 100;

const MAX_REPETITIONS: usize = 10;
const MAX_DURATION: Duration = Duration::from_secs(3);

/// Pause of writers, which leaves CPU time to the service.
const PAUSE: Duration = Duration::from_millis(3);

enum HeavyRequest {
    Nothing,
    Range(rpc::RangeRequest),
    Hash,
    Txn(rpc::TxnRequest),
    Delete(rpc::DeleteRangeRequest),
}

pub async fn report(options: &Options) {
    let kinds = [ServiceKind::Etcd, ServiceKind::Tenure].into_iter();
    for kind in kinds.filter(|kind| *kind != ServiceKind::Etcd || !options.without_etcd) {
        let folder = tempfile::tempdir_in(&options.place).expect("a folder");
        let cluster = Cluster::start(kind, &options.programs, folder.path()).await;
        let leader = channel_to(cluster.clients()[cluster.leader().await]);
        fill(&leader, options.keys).await;
        println!("| {kind:?}, {} keys | took | the slowest put |\n|---|---:|---:|", options.keys);
        for (what, question) in questions(revision(&leader).await) {
            if options.leaves_out(what) {
                continue;
            }
            let term = term(&cluster).await;
            let load = PutLoad::start(cluster.clients(), PAUSE);
            let took = measure_request(&leader, &question).await;
            let Pace { slowest, .. } = load.end().await;
            let lost = if self::term(&cluster).await == term { "" } else { "; the lead was lost" };
            println!("| {what} | {took:.1?} | {slowest:.1?}{lost} |");
        }
    }
}

fn key(number: usize) -> Vec<u8> {
    format!("k/{number:08}").into_bytes()
}

async fn fill(leader: &Channel, keys: usize) {
    for from in (0..keys).step_by(KEYS_PER_TXN) {
        let put = |number: usize| {
            let value = format!("{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let (key, value) = (key(number), value.into_bytes());
            op(Request::RequestPut(rpc::PutRequest { key, value, ..Default::default() }))
        };
        let success = (from..keys.min(from + KEYS_PER_TXN)).map(put).collect();
        let request = rpc::TxnRequest { success, ..Default::default() };
        let done: Result<rpc::TxnResponse, Status> = ask(leader, TXN, request).await;
        done.expect("the put is accepted");
    }
}

fn op(request: Request) -> rpc::RequestOp {
    rpc::RequestOp { request: Some(request) }
}

/// Returns the heavy requests with their names. Some read a past revision, after which a few keys
/// have changed.
fn questions(revision: i64) -> Vec<(&'static str, HeavyRequest)> {
    let (first, end) = (b"k/".to_vec(), b"k0".to_vec());
    let all =
        rpc::RangeRequest { key: first.clone(), range_end: end.clone(), ..Default::default() };
    let one = rpc::RangeRequest { limit: 1, ..all.clone() };
    let (order, target) = (SortOrder::Ascend.into(), SortTarget::Value.into());
    let least = rpc::RangeRequest { sort_order: order, sort_target: target, ..one.clone() };
    let old = rpc::RangeRequest { revision: revision - 20, ..one.clone() };
    let names = rpc::RangeRequest { keys_only: true, ..all.clone() };
    let put = rpc::PutRequest { key: b"x".to_vec(), ..Default::default() };
    let reads = vec![op(Request::RequestRange(least.clone()))];
    let success = [&reads[..], &[op(Request::RequestPut(put))]].concat();
    let txn = |success| HeavyRequest::Txn(rpc::TxnRequest { success, ..Default::default() });
    let delete = rpc::DeleteRangeRequest { key: first, range_end: end, ..Default::default() };
    vec![
        ("nothing", HeavyRequest::Nothing),
        ("the first, and how many there are", HeavyRequest::Range(one)),
        ("the one with the least value", HeavyRequest::Range(least)),
        ("the first as of an earlier revision", HeavyRequest::Range(old)),
        ("the names of all", HeavyRequest::Range(names)),
        ("all", HeavyRequest::Range(all)),
        ("their hash", HeavyRequest::Hash),
        ("the one with the least value, in a transaction", txn(reads)),
        ("the same in a transaction that writes", txn(success)),
        ("to delete all", HeavyRequest::Delete(delete)),
    ]
}

/// Sends a request repeatedly, and returns the time of the slowest response.
async fn measure_request(leader: &Channel, question: &HeavyRequest) -> Duration {
    let (started, mut slowest) = (Instant::now(), Duration::ZERO);
    let mut times = 0;
    while times < MAX_REPETITIONS && started.elapsed() < MAX_DURATION {
        let sent = Instant::now();
        if let Err(status) = ask_once(leader, question).await {
            eprintln!("refused: {}", status.message());
        }
        slowest = slowest.max(sent.elapsed());
        times += 1;
        sleep(Duration::from_millis(100)).await;
    }
    slowest
}

async fn ask_once(leader: &Channel, question: &HeavyRequest) -> Result<(), Status> {
    match question {
        HeavyRequest::Nothing => Ok(()),
        HeavyRequest::Range(it) => {
            ask::<_, rpc::RangeResponse>(leader, RANGE, it.clone()).await.map(drop)
        }
        HeavyRequest::Hash => {
            let all = rpc::HashKvRequest::default();
            ask::<_, rpc::HashKvResponse>(leader, HASH, all).await.map(drop)
        }
        HeavyRequest::Txn(it) => {
            ask::<_, rpc::TxnResponse>(leader, TXN, it.clone()).await.map(drop)
        }
        HeavyRequest::Delete(it) => {
            ask::<_, rpc::DeleteRangeResponse>(leader, DELETE, it.clone()).await.map(drop)
        }
    }
}

async fn revision(leader: &Channel) -> i64 {
    let request = rpc::RangeRequest { key: b"x".to_vec(), ..Default::default() };
    let seen: Result<rpc::RangeResponse, Status> = ask(leader, RANGE, request).await;
    seen.ok().and_then(|it| it.header).map_or(0, |header| header.revision)
}

async fn term(cluster: &Cluster) -> u64 {
    cluster.leader().await;
    status(cluster.clients()[0]).await.map_or(0, |it| it.raft_term)
}
