//! How long puts wait while somebody reads very many keys, or deletes them.

use std::time::{Duration, Instant};

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use tenure_etcd::etcdserverpb::request_op::Request;
use tokio::time::sleep;
use tonic::Status;
use tonic::transport::Channel;

use crate::Options;
use crate::cluster::Cluster;
use crate::puts::{Load, Pace};
use crate::recipe::{RANGE, TXN, ask, line_to, status};
use crate::side::Kind;

const DELETE: &str = "/etcdserverpb.KV/DeleteRange";
const HASH: &str = "/etcdserverpb.Maintenance/HashKV";

/// How many keys are put at once.
const AT_ONCE: usize = 100;

/// How often a question is asked, and for how long at most.
const TIMES: usize = 10;
const LONG: Duration = Duration::from_secs(3);

/// How long those who put pause, which leaves the processors time.
const PAUSE: Duration = Duration::from_millis(3);

/// What is asked of the leader.
enum Question {
    Nothing,
    Range(rpc::RangeRequest),
    Hash,
    Txn(rpc::TxnRequest),
    Delete(rpc::DeleteRangeRequest),
}

/// Prints a table for each service.
pub async fn report(options: &Options) {
    let kinds = [Kind::Etcd, Kind::Tenure].into_iter();
    for kind in kinds.filter(|kind| *kind != Kind::Etcd || !options.without_etcd) {
        let folder = tempfile::tempdir_in(&options.place).expect("a folder");
        let cluster = Cluster::start(kind, &options.programs, folder.path()).await;
        let leader = line_to(cluster.clients()[cluster.led().await]);
        fill(&leader, options.keys).await;
        println!("| {kind:?}, {} keys | took | the slowest put |\n|---|---:|---:|", options.keys);
        for (what, question) in questions(revision(&leader).await) {
            if options.leaves_out(what) {
                continue;
            }
            let term = term(&cluster).await;
            let load = Load::begin(cluster.clients(), PAUSE);
            let took = asked(&leader, &question).await;
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
    for from in (0..keys).step_by(AT_ONCE) {
        let put = |number: usize| {
            let value = format!("{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let (key, value) = (key(number), value.into_bytes());
            op(Request::RequestPut(rpc::PutRequest { key, value, ..Default::default() }))
        };
        let success = (from..keys.min(from + AT_ONCE)).map(put).collect();
        let asked = rpc::TxnRequest { success, ..Default::default() };
        let done: Result<rpc::TxnResponse, Status> = ask(leader, TXN, asked).await;
        done.expect("what is put is taken");
    }
}

fn op(request: Request) -> rpc::RequestOp {
    rpc::RequestOp { request: Some(request) }
}

/// All of them, of which a few have changed since a revision.
fn questions(revision: i64) -> Vec<(&'static str, Question)> {
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
    let txn = |success| Question::Txn(rpc::TxnRequest { success, ..Default::default() });
    let delete = rpc::DeleteRangeRequest { key: first, range_end: end, ..Default::default() };
    vec![
        ("nothing", Question::Nothing),
        ("the first, and how many there are", Question::Range(one)),
        ("the one with the least value", Question::Range(least)),
        ("the first as of an earlier revision", Question::Range(old)),
        ("the names of all", Question::Range(names)),
        ("all", Question::Range(all)),
        ("their hash", Question::Hash),
        ("the one with the least value, in a transaction", txn(reads)),
        ("the same in a transaction that writes", txn(success)),
        ("to delete all", Question::Delete(delete)),
    ]
}

/// How long the slowest answer took.
async fn asked(leader: &Channel, question: &Question) -> Duration {
    let (begun, mut slowest) = (Instant::now(), Duration::ZERO);
    let mut times = 0;
    while times < TIMES && begun.elapsed() < LONG {
        let asked = Instant::now();
        if let Err(status) = ask_once(leader, question).await {
            eprintln!("refused: {}", status.message());
        }
        slowest = slowest.max(asked.elapsed());
        times += 1;
        sleep(Duration::from_millis(100)).await;
    }
    slowest
}

async fn ask_once(leader: &Channel, question: &Question) -> Result<(), Status> {
    match question {
        Question::Nothing => Ok(()),
        Question::Range(it) => {
            ask::<_, rpc::RangeResponse>(leader, RANGE, it.clone()).await.map(drop)
        }
        Question::Hash => {
            let all = rpc::HashKvRequest::default();
            ask::<_, rpc::HashKvResponse>(leader, HASH, all).await.map(drop)
        }
        Question::Txn(it) => ask::<_, rpc::TxnResponse>(leader, TXN, it.clone()).await.map(drop),
        Question::Delete(it) => {
            ask::<_, rpc::DeleteRangeResponse>(leader, DELETE, it.clone()).await.map(drop)
        }
    }
}

async fn revision(leader: &Channel) -> i64 {
    let asked = rpc::RangeRequest { key: b"x".to_vec(), ..Default::default() };
    let seen: Result<rpc::RangeResponse, Status> = ask(leader, RANGE, asked).await;
    seen.ok().and_then(|it| it.header).map_or(0, |header| header.revision)
}

async fn term(cluster: &Cluster) -> u64 {
    cluster.led().await;
    status(cluster.clients()[0]).await.map_or(0, |it| it.raft_term)
}
