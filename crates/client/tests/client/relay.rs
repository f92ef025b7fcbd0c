//! A relay between a client and a member, which injects network faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

#[derive(Debug, Default)]
pub(crate) struct Relay {
    /// Delay of each response, in milliseconds.
    pub(crate) delay: AtomicU64,
    /// True while the relay keeps its connections open but forwards no data.
    pub(crate) is_cut: AtomicBool,
    /// True if the relay drops the next response and then closes the connection.
    pub(crate) drops_next_response: AtomicBool,
    /// True while the relay closes all connections and accepts none.
    pub(crate) is_down: AtomicBool,
    /// Number of connections whose requests the relay holds back, beginning with the oldest
    /// connection.
    pub(crate) held: AtomicUsize,
    /// Number of connections that the relay has accepted.
    pub(crate) connections: AtomicUsize,
    pub(crate) open: AtomicUsize,
    /// Number of chunks of request data that the relay has forwarded.
    pub(crate) forwarded: AtomicUsize,
}

impl Relay {
    /// Starts a relay to an address. Returns the relay and its own address.
    pub(crate) async fn start(to: &str) -> (Arc<Relay>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (relay, to) = (Arc::new(Relay::default()), to.to_owned());
        let relays = relay.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if relays.is_down.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(member) = TcpStream::connect(&to).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_member, to_member) = member.into_split();
                let number = relays.connections.fetch_add(1, Ordering::Relaxed);
                let (there, back) = (relays.clone(), relays.clone());
                relays.open.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let asking = there.pass(from_client, to_member, Some(number));
                    let answering = back.pass(from_member, to_client, None);
                    tokio::select! {
                        () = there.goes_down() => {}
                        _ = async { tokio::join!(asking, answering) } => {}
                    }
                    there.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        (relay, address)
    }

    pub(crate) async fn close_connections(&self) {
        self.is_down.store(true, Ordering::Relaxed);
        while self.open.load(Ordering::Relaxed) > 0 {
            sleep(Duration::from_millis(5)).await;
        }
        self.is_down.store(false, Ordering::Relaxed);
    }

    async fn goes_down(&self) {
        while !self.is_down.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Forwards one direction of a connection. `request_number` is the number of the connection if
    /// the forwarded data are requests, and `None` if they are responses.
    async fn pass(
        &self,
        mut from: impl AsyncReadExt + Unpin,
        to: impl AsyncWriteExt + Unpin,
        request_number: Option<usize>,
    ) {
        let (sender, pieces) = mpsc::unbounded_channel();
        let reading = async move {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(count @ 1..) = from.read(&mut bytes).await {
                let _ = sender.send(bytes[..count].to_vec());
            }
        };
        let reading = async {
            reading.await;
            std::future::pending().await
        };
        tokio::select! {
            () = reading => {}
            () = self.write(pieces, to, request_number) => {}
        }
    }

    async fn write(
        &self,
        mut pieces: mpsc::UnboundedReceiver<Vec<u8>>,
        mut to: impl AsyncWriteExt + Unpin,
        request_number: Option<usize>,
    ) {
        let is_held =
            || request_number.is_some_and(|number| number < self.held.load(Ordering::Relaxed));
        let mut was_held = false;
        while let Some(piece) = pieces.recv().await {
            while self.is_cut.load(Ordering::Relaxed) || is_held() {
                was_held |= is_held();
                sleep(Duration::from_millis(5)).await;
            }
            if self.is_down.load(Ordering::Relaxed) {
                return;
            }
            if request_number.is_none() {
                if self.drops_next_response.swap(false, Ordering::Relaxed) {
                    return;
                }
                sleep(Duration::from_millis(self.delay.load(Ordering::Relaxed))).await;
            }
            if request_number.is_some() {
                self.forwarded.fetch_add(1, Ordering::Relaxed);
            }
            if to.write_all(&piece).await.is_err() {
                return;
            }
            if was_held {
                // The member has time to apply the requests before the relay closes the connection.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// A member that accepts connections and responds to pings, but never responds to a request.
#[derive(Debug)]
pub(crate) struct SilentMember {
    pub(crate) address: String,
    /// Number of requests that the member has received.
    pub(crate) requests: Arc<AtomicUsize>,
}

impl SilentMember {
    pub(crate) async fn start() -> SilentMember {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let requests: Arc<AtomicUsize> = Arc::default();
        let received = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let received = received.clone();
                tokio::spawn(async move {
                    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                    // Keeps the senders of the responses, because dropping a sender would reset its
                    // request.
                    let mut pending = Vec::<(_, h2::server::SendResponse<bytes::Bytes>)>::new();
                    while let Some(Ok(request)) = connection.accept().await {
                        received.fetch_add(1, Ordering::Relaxed);
                        pending.push(request);
                    }
                });
            }
        });
        SilentMember { address, requests }
    }
}

/// An endpoint that neither accepts nor rejects connections.
#[derive(Debug)]
pub(crate) struct UnresponsiveEndpoint {
    pub(crate) address: String,
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl UnresponsiveEndpoint {
    /// Opens a listener that accepts no connections, and fills its queue. Further attempts to
    /// connect then receive no response.
    pub(crate) async fn open() -> UnresponsiveEndpoint {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let listener = socket.listen(1).expect("it listens");
        let address = listener.local_addr().expect("an address").to_string();
        let mut waiting = Vec::new();
        while let Ok(Ok(one)) =
            timeout(Duration::from_millis(200), TcpStream::connect(&address)).await
        {
            waiting.push(one);
        }
        UnresponsiveEndpoint { address, _listener: listener, _waiting: waiting }
    }
}
