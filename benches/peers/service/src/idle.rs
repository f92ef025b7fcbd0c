//! Memory of watchers that never read their events.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tenure_etcd::etcdserverpb as rpc;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tonic::transport::Endpoint;
use tonic::{Status, Streaming};

use crate::Options;
use crate::cluster::{Cluster, MEMBERS, memory};
use crate::recipe::{channel_to, put, watch};
use crate::side::ServiceKind;

const WRITERS: usize = 16;

const PUTS_PER_WRITER: usize = 3_000;

const VALUE_BYTES: usize = 1024;

const KEYS: usize = 1_000;

/// A watch, which ends when it is dropped.
type Watcher = (Sender<rpc::WatchRequest>, Streaming<rpc::WatchResponse>);

/// Performs the same puts twice, first without watchers and then with the configured number of
/// watchers. Prints the memory and the duration of each.
pub async fn report(options: &Options) {
    let mut grown = Vec::new();
    for watchers in [0, options.watchers] {
        let folder = tempfile::tempdir_in(&options.place).expect("a folder");
        let cluster = Cluster::start(ServiceKind::Tenure, &options.programs, folder.path()).await;
        let watched = (cluster.leader().await + 1) % MEMBERS;
        let started = memory(&cluster)[watched];
        let mut open = Vec::new();
        for _ in 0..watchers {
            open.push(open_watch(cluster.clients()[watched]).await.expect("a watcher"));
        }
        sleep(Duration::from_secs(1)).await;
        let opened = memory(&cluster)[watched];
        let took = put_all(cluster.clients()).await;
        let after = memory(&cluster)[watched];
        let grew =
            [(opened, started), (after, opened)].map(|(now, before)| now.saturating_sub(before));
        let [opening, putting] = grew.map(|bytes| bytes >> 20);
        println!("{watchers} watchers: {opening} MiB for them, {putting} MiB more in {took:.1?}");
        grown.push(after.saturating_sub(started));
    }
    let each = grown[1].saturating_sub(grown[0]) / options.watchers as u64;
    println!(
        "{} puts of {VALUE_BYTES} bytes; {each} bytes for each watcher",
        WRITERS * PUTS_PER_WRITER
    );
}

/// Opens a watch of all keys on its own connection and waits for its confirmation.
async fn open_watch(member: SocketAddr) -> Result<Watcher, Status> {
    let endpoint = Endpoint::from_shared(format!("http://{member}")).expect("an address");
    let connection = endpoint.connect().await.map_err(|error| Status::from_error(error.into()))?;
    let (key, range_end) = (b"k/".to_vec(), b"k0".to_vec());
    let create = rpc::WatchCreateRequest { key, range_end, ..Default::default() };
    let mut watcher = watch(&connection, create).await?;
    watcher.1.message().await?;
    Ok(watcher)
}

async fn put_all(members: &[SocketAddr]) -> Duration {
    let started = Instant::now();
    let mut writing = JoinSet::new();
    for writer in 0..WRITERS {
        let channel = channel_to(members[writer % members.len()]);
        writing.spawn(async move {
            for time in 0..PUTS_PER_WRITER {
                let key = format!("k/{writer}/{}", time % KEYS).into_bytes();
                while put(&channel, key.clone(), vec![7; VALUE_BYTES]).await.is_err() {}
            }
        });
    }
    writing.join_all().await;
    started.elapsed()
}
