//! Test helpers: nodes, raw connections, and waiting with a time limit.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::ports::reserve_address;
use tenure_runtime::transport::frame::{
    BootId, Frame, FrameDecoder, Hello, HelloContent, Introduction,
};
use tenure_runtime::transport::{
    GroupPublicKeys, Inbox, Listen, Mesh, MeshEvent, MeshLimits, MeshSettings, MeshStatus,
    NodeKeys, PrivateKey, RejectionReason, ReplaceableKeys,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) const P1: ProcessId = ProcessId(0);
pub(crate) const P2: ProcessId = ProcessId(1);
pub(crate) const P3: ProcessId = ProcessId(2);

/// Ports of a group. Each port is reserved until its process starts.
pub(crate) struct Ports {
    listeners: Vec<Option<TcpListener>>,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Ports {
    pub(crate) fn of(size: usize) -> Ports {
        // The ports stay reserved, so that a process can listen again.
        let addresses: Vec<_> = (0..size).map(|_| reserve_address()).collect();
        let bind = |address| Some(TcpListener::bind(address).expect("a reserved port"));
        Ports { listeners: addresses.iter().map(bind).collect(), addresses }
    }

    /// Returns the settings of process `me`. Each call for the same process returns the same port.
    pub(crate) fn settings(&mut self, me: ProcessId, session: u64) -> MeshSettings {
        let listen = match self.listeners[me.index()].take() {
            Some(listener) => Listen::Listener(listener),
            None => Listen::Address(self.addresses[me.index()]),
        };
        MeshSettings {
            limits: limits(),
            ..MeshSettings::on_loopback(
                "test",
                me,
                session,
                self.addresses.iter().map(ToString::to_string).collect(),
                listen,
            )
        }
    }

    pub(crate) fn start(&mut self, me: ProcessId, session: u64) -> (Mesh, Inbox) {
        Mesh::start(self.settings(me, session)).expect("a mesh")
    }

    pub(crate) fn start_with(&mut self, me: ProcessId, limits: MeshLimits) -> (Mesh, Inbox) {
        Mesh::start(MeshSettings { limits, ..self.settings(me, 1) }).expect("a mesh")
    }
}

/// Returns limits for tests. The timeouts of connection attempts and handshakes are long, because
/// the machine may be busy. The pauses between connection attempts are short.
pub(crate) fn limits() -> MeshLimits {
    let (min_redial_pause, max_redial_pause) =
        (Duration::from_millis(1), Duration::from_millis(10));
    let (connect_timeout, handshake_timeout) = (TEST_TIMEOUT, TEST_TIMEOUT);
    MeshLimits {
        min_redial_pause,
        max_redial_pause,
        connect_timeout,
        handshake_timeout,
        ..MeshLimits::default()
    }
}

pub(crate) fn refused(view: &MeshStatus, reason: RejectionReason) -> u64 {
    view.counts().refused.get(&reason).copied().unwrap_or(0)
}

pub(crate) fn group(size: usize) -> Vec<ReplaceableKeys> {
    let new = |_| PrivateKey::generate().expect("entropy");
    let private: Vec<PrivateKey> = (0..size).map(new).collect();
    let public = private.iter().map(|key| vec![key.public()]).collect();
    let public = GroupPublicKeys::new(public).expect("keys that differ");
    let keys = private.into_iter().enumerate().map(|(index, private)| {
        NodeKeys::new(ProcessId::from_index(index), private, public.clone())
            .expect("a listed key")
            .into()
    });
    keys.collect()
}

pub(crate) async fn pair(ports: &mut Ports) -> [(Mesh, Inbox); 2] {
    let (mut first, mut second) = (ports.start(P1, 1), ports.start(P2, 1));
    assert_eq!(receive(&mut first.1).await, MeshEvent::PeerConnected { peer: P2, session: 1 });
    assert_eq!(receive(&mut second.1).await, MeshEvent::PeerConnected { peer: P1, session: 1 });
    [first, second]
}

pub(crate) async fn receive(inbox: &mut Inbox) -> MeshEvent {
    let received = timeout(TEST_TIMEOUT, inbox.receive()).await.expect("an item arrives");
    received.expect("the mesh is open")
}

/// Receives the next message, and returns its sender, the sender's session, and the payload. Skips
/// other items.
pub(crate) async fn message(inbox: &mut Inbox) -> (ProcessId, u64, Vec<u8>) {
    loop {
        if let MeshEvent::Message { from, session, payload } = receive(inbox).await {
            return (from, session, payload);
        }
    }
}

/// Waits until `peer` connects, and returns its session. Skips other items.
pub(crate) async fn receive_peer_up(inbox: &mut Inbox, peer: ProcessId) -> u64 {
    loop {
        match receive(inbox).await {
            MeshEvent::PeerConnected { peer: who, session } if who == peer => return session,
            _ => {}
        }
    }
}

/// Waits until `peer` disconnects, and returns its session. Skips other items.
pub(crate) async fn receive_peer_down(inbox: &mut Inbox, peer: ProcessId) -> u64 {
    loop {
        match receive(inbox).await {
            MeshEvent::PeerDisconnected { peer: who, session } if who == peer => return session,
            _ => {}
        }
    }
}

/// Waits until `holds` returns true. Panics if the time limit passes first. The panic message
/// contains `condition`, a description of the condition.
pub(crate) async fn eventually(condition: &str, mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(timeout(TEST_TIMEOUT, wait).await.is_ok(), "timeout: {condition}");
}

/// Receives the next message of `peer` and returns its payload. Skips all other items.
pub(crate) async fn message_from(inbox: &mut Inbox, peer: ProcessId) -> Vec<u8> {
    loop {
        let (from, _, payload) = message(inbox).await;
        if from == peer {
            return payload;
        }
    }
}

pub(crate) async fn assert_still_connected([first, second]: &mut [(Mesh, Inbox); 2]) {
    for round in 0..3 {
        first.0.send(P2, vec![round]).expect("room");
        assert_eq!(message_from(&mut second.1, P1).await, [round]);
        second.0.send(P1, vec![round]).expect("room");
        assert_eq!(message_from(&mut first.1, P2).await, [round]);
    }
}

/// A connection on which a test speaks the wire protocol itself, correctly or not.
pub(crate) struct RawPeer {
    stream: TcpStream,
    decoder: FrameDecoder,
}

impl RawPeer {
    pub(crate) async fn dial(address: SocketAddr) -> RawPeer {
        let stream = TcpStream::connect(address).await.expect("a listener");
        RawPeer { stream, decoder: FrameDecoder::new(1 << 20) }
    }

    /// Connects, and sends an introduction that the acceptor is expected to accept.
    pub(crate) async fn begin(address: SocketAddr, hello: Introduction<'_>) -> RawPeer {
        let mut peer = RawPeer::dial(address).await;
        peer.send(&greeting(hello)).await;
        peer.receive(|frame| assert!(matches!(frame, Frame::Welcome(_)), "{frame:?}")).await;
        peer
    }

    /// Connects and completes the handshake. The connection acknowledges no message.
    pub(crate) async fn join(address: SocketAddr, hello: Introduction<'_>) -> RawPeer {
        let mut peer = RawPeer::begin(address, hello).await;
        peer.send(&Frame::Acknowledge { received: 0 }).await;
        peer.receive(|frame| assert_eq!(*frame, Frame::Acknowledge { received: 0 })).await;
        peer
    }

    pub(crate) async fn send(&mut self, frame: &Frame<'_>) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.send_bytes(&bytes).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        // The connection may already be closed after a refusal.
        let _ = self.stream.write_all(bytes).await;
    }

    pub(crate) async fn receive<R>(&mut self, mut inspect: impl FnMut(&Frame<'_>) -> R) -> R {
        loop {
            if let Some(frame) = self.decoder.next_frame().expect("a frame") {
                return inspect(&frame);
            }
            let read =
                timeout(TEST_TIMEOUT, self.stream.read_buf(self.decoder.read_buffer())).await;
            let length = read.expect("a response").expect("an open connection");
            assert!(length > 0, "the connection was closed without a response");
        }
    }

    pub(crate) async fn receive_refusal(&mut self) -> u8 {
        self.receive(|frame| match frame {
            Frame::Refused(refused) => refused.code,
            other => panic!("expected a refusal, received {other:?}"),
        })
        .await
    }

    /// Waits until the node closes the connection. Ignores the data that arrives before the end.
    /// Panics if the connection stays open.
    pub(crate) async fn wait_closed(mut self) {
        let mut rest = Vec::new();
        let closed = timeout(TEST_TIMEOUT, self.stream.read_to_end(&mut rest)).await;
        // Both an end of the stream and a reset close the connection.
        assert!(closed.is_ok(), "the connection stays open");
    }
}

/// Returns the introduction of process `sender` to process `receiver`, in session 1.
pub(crate) fn hello(
    sender: ProcessId,
    receiver: ProcessId,
    group_size: u32,
) -> Introduction<'static> {
    let (sender, receiver) = (sender.0, receiver.0);
    Introduction { cluster: "test", group_size, sender, receiver, boot: boot(1) }
}

pub(crate) fn boot(session: u64) -> BootId {
    BootId { session, nonce: 5 }
}

pub(crate) fn greeting(introduction: Introduction<'_>) -> Frame<'_> {
    Frame::Hello(Hello::new(HelloContent::Introduction(introduction)))
}
