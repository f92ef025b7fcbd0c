//! Baseline: the throughput of a server that responds to each request immediately, without any
//! work. The server uses the same libraries as the members of a service.

use std::net::SocketAddr;
use std::process::Stdio;

use http::{Request, Response};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames::{self, RawCodec};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic::{Request as GrpcRequest, Response as GrpcResponse, Status};

use crate::Options;
use crate::load::LOADS;
use crate::side::Side;

/// Option that makes this program run as the baseline server.
pub const SERVE_OPTION: &str = "--answers";

/// Measures the baseline server without contention. Prints how often per second clients acquire and
/// release a lock.
pub async fn report(options: &Options) {
    let myself = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(myself);
    let server = command.arg(SERVE_OPTION).stdout(Stdio::piped()).kill_on_drop(true).spawn();
    let mut server = server.expect("this program starts again");
    let said = server.stdout.take().expect("its output");
    let line = BufReader::new(said).lines().next_line().await.expect("a line");
    let at: SocketAddr = line.and_then(|line| line.parse().ok()).expect("an address");
    for load in LOADS.iter().filter(|load| load.is_apart) {
        let rate = load.rate(Side::TenureByRecipe, &[at], 0, options.long).await;
        println!("{}, of a server that only answers: {rate:.0} cycles a second", load.name);
    }
}

/// Responds to all requests until the process is killed.
pub async fn serve() {
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
    // Renewals are a stream; this server never responds to them.
    if path.ends_with("LeaseKeepAlive") {
        return std::future::pending().await;
    }
    let answer = match path {
        path if path.ends_with("Txn") => frames::encode(&granted()),
        path if path.ends_with("LeaseGrant") => {
            frames::encode(&rpc::LeaseGrantResponse { id: 7, ttl: 10, ..Default::default() })
        }
        _ => Bytes::new(),
    };
    Ok(Grpc::new(RawCodec).unary(FixedResponse(answer), request.map(Body::new)).await)
}

/// Returns the response to every transaction of a lock recipe. The response states that the
/// transaction succeeded, so each client believes that it is first in its queue.
fn granted() -> rpc::TxnResponse {
    let header = rpc::ResponseHeader { revision: 1, ..Default::default() };
    rpc::TxnResponse { header: Some(header), succeeded: true, ..Default::default() }
}

struct FixedResponse(Bytes);

impl UnaryService<Bytes> for FixedResponse {
    type Response = Bytes;
    type Future = std::future::Ready<Result<GrpcResponse<Bytes>, Status>>;

    fn call(&mut self, _: GrpcRequest<Bytes>) -> Self::Future {
        std::future::ready(Ok(GrpcResponse::new(self.0.clone())))
    }
}
