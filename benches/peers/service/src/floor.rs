//! What requests cost where nothing is behind them: a server that answers each at once, made of the
//! libraries that members are made of.

use std::net::SocketAddr;
use std::process::Stdio;

use http::{Request, Response};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames::{self, Frames};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic::{Request as Asked, Response as Answer, Status};

use crate::Options;
use crate::load::LOADS;
use crate::side::Side;

/// The option by which this program is that server.
pub const ANSWERS: &str = "--answers";

/// Prints how often a second clients go through it whom nobody keeps waiting.
pub async fn report(options: &Options) {
    let myself = std::env::current_exe().expect("this program has a name");
    let mut command = Command::new(myself);
    let server = command.arg(ANSWERS).stdout(Stdio::piped()).kill_on_drop(true).spawn();
    let mut server = server.expect("this program starts once more");
    let said = server.stdout.take().expect("what it says");
    let line = BufReader::new(said).lines().next_line().await.expect("a line");
    let at: SocketAddr = line.and_then(|line| line.parse().ok()).expect("an address");
    for load in LOADS.iter().filter(|load| load.is_apart) {
        let rate = load.rate(Side::TenureByRecipe, &[at], 0, options.long).await;
        println!("{}, of a server that only answers: {rate:.0} cycles a second", load.name);
    }
}

/// Answers whoever asks, until this is killed.
pub async fn answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.set_nodelay(true);
        let served = Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service_fn(call));
        tokio::spawn(served);
    }
}

async fn call(request: Request<Incoming>) -> Result<Response<Body>, Status> {
    let path = request.uri().path();
    // Renewals are a stream, which is never answered here.
    if path.ends_with("LeaseKeepAlive") {
        return std::future::pending().await;
    }
    let answer = match path {
        path if path.ends_with("Txn") => frames::written(&granted()),
        path if path.ends_with("LeaseGrant") => {
            frames::written(&rpc::LeaseGrantResponse { id: 7, ttl: 10, ..Default::default() })
        }
        _ => Bytes::new(),
    };
    Ok(Grpc::new(Frames).unary(Says(answer), request.map(Body::new)).await)
}

/// Whoever queues is the first.
fn granted() -> rpc::TxnResponse {
    let header = rpc::ResponseHeader { revision: 1, ..Default::default() };
    rpc::TxnResponse { header: Some(header), succeeded: true, ..Default::default() }
}

/// The same to everybody.
struct Says(Bytes);

impl UnaryService<Bytes> for Says {
    type Response = Bytes;
    type Future = std::future::Ready<Result<Answer<Bytes>, Status>>;

    fn call(&mut self, _: Asked<Bytes>) -> Self::Future {
        std::future::ready(Ok(Answer::new(self.0.clone())))
    }
}
