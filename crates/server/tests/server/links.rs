//! Links between members that a test can interrupt without closing the connections.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::member::{Files, Member};

/// Proxies between all pairs of members.
pub(crate) struct Links {
    /// Switches of the proxies. The first index is the dialing member, and the second index is the
    /// dialed member. A switch that is true interrupts the link.
    cuts: Vec<Vec<Option<Arc<watch::Sender<bool>>>>>,
}

impl Links {
    /// Starts one member per configuration file. The members dial each other through proxies.
    pub(crate) async fn start(files: &Files) -> (Links, Vec<Member>) {
        let names = ["a", "b", "c"];
        let mut cuts = Vec::new();
        let mut members = Vec::new();
        for (from, file) in files.files.iter().enumerate() {
            let (mut dialed, mut row) = (Vec::new(), Vec::new());
            for (to, peer) in files.peers.iter().enumerate() {
                if from == to {
                    row.push(None);
                    continue;
                }
                let cut = Arc::new(watch::Sender::new(false));
                let proxy = proxy(*peer, cut.subscribe()).await;
                dialed.push(format!("{}={proxy}", names[to]));
                row.push(Some(cut));
            }
            cuts.push(row);
            members.push(Member::start(file, 1024, &dialed.join(",")));
        }
        (Links { cuts }, members)
    }

    /// Interrupts all links of a member if `is_cut` is true. Otherwise restores them.
    pub(crate) fn set_cut(&self, member: usize, is_cut: bool) {
        for (from, row) in self.cuts.iter().enumerate() {
            for (to, cut) in row.iter().enumerate() {
                if let Some(cut) = cut.as_ref().filter(|_| from == member || to == member) {
                    cut.send_replace(is_cut);
                }
            }
        }
    }
}

async fn proxy(to: SocketAddr, is_cut: watch::Receiver<bool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let mut is_cut = is_cut.clone();
            tokio::spawn(async move {
                let _ = is_cut.wait_for(|is_cut| !is_cut).await;
                let Ok(server) = TcpStream::connect(to).await else { return };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::join!(
                    pass(from_client, to_server, is_cut.clone()),
                    pass(from_server, to_client, is_cut),
                );
            });
        }
    });
    address
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_cut: watch::Receiver<bool>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let _ = is_cut.wait_for(|is_cut| !is_cut).await;
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
