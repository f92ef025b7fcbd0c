//! Nodes, strangers and patience for the tests.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::transport::frame::{Boot, Decoder, Frame, Hello, Introduction, Opening};
use tenure_runtime::transport::{
    GroupKeys, Inbox, Incoming, Keyring, Keys, Limits, Listen, Mesh, PrivateKey, Refusal, Settings,
    Trust, View,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long anything may take before it is considered hung.
pub(crate) const HUNG: Duration = Duration::from_secs(10);

pub(crate) const P1: ProcessId = ProcessId(0);
pub(crate) const P2: ProcessId = ProcessId(1);
pub(crate) const P3: ProcessId = ProcessId(2);

/// Ports of a group that has not started yet.
pub(crate) struct Ports {
    listeners: Vec<Option<TcpListener>>,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Ports {
    pub(crate) fn of(size: usize) -> Ports {
        let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a port");
        let listeners: Vec<_> = (0..size).map(bind).collect();
        let address = |listener: &TcpListener| listener.local_addr().expect("an address");
        let addresses = listeners.iter().map(address).collect();
        Ports { listeners: listeners.into_iter().map(Some).collect(), addresses }
    }

    /// What process `me` starts with; the second time on the same port as the first.
    pub(crate) fn settings(&mut self, me: ProcessId, session: u64) -> Settings {
        let listen = match self.listeners[me.index()].take() {
            Some(listener) => Listen::Listener(listener),
            None => Listen::Address(self.addresses[me.index()]),
        };
        Settings {
            cluster: "test".into(),
            me,
            session,
            listen,
            addresses: self.addresses.iter().map(ToString::to_string).collect(),
            trust: Trust::Machine,
            limits: limits(),
        }
    }

    pub(crate) fn start(&mut self, me: ProcessId, session: u64) -> (Mesh, Inbox) {
        Mesh::start(self.settings(me, session)).expect("a mesh")
    }
}

/// As usual, but quick to try again.
pub(crate) fn limits() -> Limits {
    let (redial_min, redial_max) = (Duration::from_millis(1), Duration::from_millis(10));
    Limits { redial_min, redial_max, ..Limits::default() }
}

/// How often `refusal` happened.
pub(crate) fn refused(view: &View, refusal: Refusal) -> u64 {
    view.counts().refused.get(&refusal).copied().unwrap_or(0)
}

/// New keys for a group, those of each process.
pub(crate) fn group(size: usize) -> Vec<Keyring> {
    let new = |_| PrivateKey::generate().expect("entropy");
    let private: Vec<PrivateKey> = (0..size).map(new).collect();
    let public = private.iter().map(|key| vec![key.public()]).collect();
    let public = GroupKeys::new(public).expect("keys that differ");
    let keys = private.into_iter().enumerate().map(|(index, private)| {
        Keys::new(ProcessId::at(index), private, public.clone()).expect("a listed key").into()
    });
    keys.collect()
}

/// Two nodes that see each other.
pub(crate) async fn pair(ports: &mut Ports) -> [(Mesh, Inbox); 2] {
    let (mut first, mut second) = (ports.start(P1, 1), ports.start(P2, 1));
    assert_eq!(receive(&mut first.1).await, Incoming::PeerUp { peer: P2, session: 1 });
    assert_eq!(receive(&mut second.1).await, Incoming::PeerUp { peer: P1, session: 1 });
    [first, second]
}

/// The next thing in the inbox.
pub(crate) async fn receive(inbox: &mut Inbox) -> Incoming {
    let received = timeout(HUNG, inbox.receive()).await.expect("something arrives");
    received.expect("the mesh is open")
}

/// The next message in the inbox, whatever comes and goes before it.
pub(crate) async fn message(inbox: &mut Inbox) -> (ProcessId, u64, Vec<u8>) {
    loop {
        if let Incoming::Message { from, session, payload } = receive(inbox).await {
            return (from, session, payload);
        }
    }
}

/// The session with which `peer` comes up next, whatever else comes before it.
pub(crate) async fn comes_up(inbox: &mut Inbox, peer: ProcessId) -> u64 {
    loop {
        match receive(inbox).await {
            Incoming::PeerUp { peer: who, session } if who == peer => return session,
            _ => {}
        }
    }
}

/// The session with which `peer` goes down next, whatever else comes before it.
pub(crate) async fn goes_down(inbox: &mut Inbox, peer: ProcessId) -> u64 {
    loop {
        match receive(inbox).await {
            Incoming::PeerDown { peer: who, session } if who == peer => return session,
            _ => {}
        }
    }
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(timeout(HUNG, wait).await.is_ok(), "never: {what}");
}

/// The next message from `peer`, whatever others say before it.
pub(crate) async fn message_from(inbox: &mut Inbox, peer: ProcessId) -> Vec<u8> {
    loop {
        let (from, _, payload) = message(inbox).await;
        if from == peer {
            return payload;
        }
    }
}

/// Both nodes of a pair can still talk with each other.
pub(crate) async fn still_talk([first, second]: &mut [(Mesh, Inbox); 2]) {
    for round in 0..3 {
        first.0.send(P2, vec![round]).expect("room");
        assert_eq!(message_from(&mut second.1, P1).await, [round]);
        second.0.send(P1, vec![round]).expect("room");
        assert_eq!(message_from(&mut first.1, P2).await, [round]);
    }
}

/// Somebody who speaks the protocol by hand, well or badly.
pub(crate) struct Stranger {
    stream: TcpStream,
    decoder: Decoder,
}

impl Stranger {
    pub(crate) async fn dial(address: SocketAddr) -> Stranger {
        let stream = TcpStream::connect(address).await.expect("somebody listens");
        Stranger { stream, decoder: Decoder::new(1 << 20) }
    }

    /// Dials and is welcome.
    pub(crate) async fn begin(address: SocketAddr, hello: Introduction<'_>) -> Stranger {
        let mut stranger = Stranger::dial(address).await;
        stranger.say(&greeting(hello)).await;
        stranger.hear(|frame| assert!(matches!(frame, Frame::Welcome(_)), "{frame:?}")).await;
        stranger
    }

    /// Dials and goes through a whole handshake, and says that nothing was received yet.
    pub(crate) async fn join(address: SocketAddr, hello: Introduction<'_>) -> Stranger {
        let mut stranger = Stranger::begin(address, hello).await;
        stranger.say(&Frame::Acknowledge { received: 0 }).await;
        stranger.hear(|frame| assert_eq!(*frame, Frame::Acknowledge { received: 0 })).await;
        stranger
    }

    pub(crate) async fn say(&mut self, frame: &Frame<'_>) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.say_bytes(&bytes).await;
    }

    pub(crate) async fn say_bytes(&mut self, bytes: &[u8]) {
        // Whoever was refused already may find the connection closed.
        let _ = self.stream.write_all(bytes).await;
    }

    /// Waits for one frame and looks at it.
    pub(crate) async fn hear<R>(&mut self, mut look: impl FnMut(&Frame<'_>) -> R) -> R {
        loop {
            if let Some(frame) = self.decoder.take().expect("a frame") {
                return look(&frame);
            }
            let read = timeout(HUNG, self.stream.read_buf(self.decoder.space())).await;
            let length = read.expect("an answer").expect("an open connection");
            assert!(length > 0, "the connection was closed without an answer");
        }
    }

    /// Waits for a refusal and gives its code.
    pub(crate) async fn hear_refusal(&mut self) -> u8 {
        self.hear(|frame| match frame {
            Frame::Refused(refused) => refused.code,
            other => panic!("a refusal was expected, not {other:?}"),
        })
        .await
    }

    /// Waits until the connection is closed, whatever is said before.
    pub(crate) async fn ends(mut self) {
        let mut rest = Vec::new();
        let closed = timeout(HUNG, self.stream.read_to_end(&mut rest)).await;
        // An end and a reset are both an end.
        assert!(closed.is_ok(), "the connection stays open");
    }
}

/// What process `sender` of a group of `group_size` says to `receiver`, in session 1.
pub(crate) fn hello(
    sender: ProcessId,
    receiver: ProcessId,
    group_size: u32,
) -> Introduction<'static> {
    let (sender, receiver) = (sender.0, receiver.0);
    Introduction { cluster: "test", group_size, sender, receiver, boot: boot(1) }
}

/// A boot of one that does not say another nonce.
pub(crate) fn boot(session: u64) -> Boot {
    Boot { session, nonce: 5 }
}

pub(crate) fn greeting(introduction: Introduction<'_>) -> Frame<'_> {
    Frame::Hello(Hello::with(Opening::Introduction(introduction)))
}
