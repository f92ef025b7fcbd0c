//! A network between a client and a member that can be made worse.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// What is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Relay {
    /// How long an answer takes, in milliseconds.
    pub(crate) delay: AtomicU64,
    /// Nothing passes, and nobody is told.
    pub(crate) is_cut: AtomicBool,
    /// The next answer is swallowed, and the connection broken off.
    pub(crate) swallows: AtomicBool,
    /// Connections break, and there are no new ones.
    pub(crate) is_down: AtomicBool,
}

impl Relay {
    /// Listens; what comes is passed on to that address and back.
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
                let (there, back) = (relays.clone(), relays.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = there.goes_down() => {}
                        () = there.pass(from_client, to_member, false) => {}
                        () = back.pass(from_member, to_client, true) => {}
                    }
                });
            }
        });
        (relay, address)
    }

    async fn goes_down(&self) {
        while !self.is_down.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn pass(
        &self,
        mut from: impl AsyncReadExt + Unpin,
        mut to: impl AsyncWriteExt + Unpin,
        is_answer: bool,
    ) {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count) = from.read(&mut bytes).await {
            if count == 0 || self.is_down.load(Ordering::Relaxed) {
                return;
            }
            while self.is_cut.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(5)).await;
            }
            if is_answer {
                if self.swallows.swap(false, Ordering::Relaxed) {
                    return;
                }
                sleep(Duration::from_millis(self.delay.load(Ordering::Relaxed))).await;
            }
            if to.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    }
}
