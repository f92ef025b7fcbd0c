//! gRPC client with full control over messages and metadata.

use std::net::SocketAddr;
use std::time::Duration;

use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request};
use hyper::body::Bytes;
use prost::Message;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::{Code, Status};

use crate::member::TIME_LIMIT;

#[derive(Clone)]
pub(crate) struct Connection(SendRequest<Bytes>);

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).await.expect("a member that listens");
        let (requests, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        tokio::spawn(connection);
        Connection(requests)
    }

    pub(crate) async fn call(&self, path: &str, metadata: &[(&str, &str)]) -> Call {
        let mut request = Request::post(format!("http://member{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        for (name, value) in metadata {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a request");
        let mut requests = self.0.clone().ready().await.expect("a connection");
        let (response, sends) = requests.send_request(request, false).expect("a stream");
        Call { sends, response: Some(response), body: None, received: Vec::new() }
    }

    pub(crate) async fn unary<A: Message + Default>(
        &self,
        path: &str,
        metadata: &[(&str, &str)],
        message: &impl Message,
    ) -> Result<A, Status> {
        let mut call = self.call(path, metadata).await;
        call.send(message);
        call.end();
        call.next().await
    }
}

pub(crate) struct Call {
    sends: SendStream<Bytes>,
    response: Option<ResponseFuture>,
    body: Option<RecvStream>,
    received: Vec<u8>,
}

impl Call {
    /// Sends a request. Ignores a failure, because the server may reject a call before it has read
    /// the request.
    pub(crate) fn send(&mut self, message: &impl Message) {
        let message = message.encode_to_vec();
        let length = u32::try_from(message.len()).expect("a short message");
        let frame = [&[0], &length.to_be_bytes()[..], &message].concat();
        let _ = self.sends.send_data(frame.into(), false);
    }

    pub(crate) fn end(&mut self) {
        let _ = self.sends.send_data(Bytes::new(), true);
    }

    pub(crate) async fn next<A: Message + Default>(&mut self) -> Result<A, Status> {
        timeout(TIME_LIMIT, self.received()).await.expect("a response")
    }

    pub(crate) async fn is_silent_for(&mut self, time: Duration) -> bool {
        timeout(time, self.received::<()>()).await.is_err()
    }

    pub(crate) async fn received<A: Message + Default>(&mut self) -> Result<A, Status> {
        if let Some(response) = &mut self.response {
            let (head, body) = response.await.map_err(connection_lost)?.into_parts();
            self.response = None;
            if head.headers.contains_key("grpc-status") {
                return Err(status_of(&head.headers));
            }
            self.body = Some(body);
        }
        let body = self.body.as_mut().expect("a response that began");
        loop {
            if let Some(head) = self.received.first_chunk::<5>() {
                let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if self.received.len() >= 5 + length {
                    let message = self.received.drain(..5 + length).skip(5).collect::<Vec<u8>>();
                    return Ok(A::decode(&message[..]).expect("a message"));
                }
            }
            match body.data().await {
                Some(data) => {
                    let data = data.map_err(connection_lost)?;
                    let _ = body.flow_control().release_capacity(data.len());
                    self.received.extend_from_slice(&data);
                }
                None => {
                    let trailers = body.trailers().await.map_err(connection_lost)?;
                    return Err(status_of(&trailers.unwrap_or_default()));
                }
            }
        }
    }
}

fn status_of(headers: &HeaderMap) -> Status {
    Status::from_header_map(headers).unwrap_or_else(|| Status::unknown("no status"))
}

fn connection_lost(error: h2::Error) -> Status {
    Status::new(Code::Unavailable, format!("connection lost: {error}"))
}
