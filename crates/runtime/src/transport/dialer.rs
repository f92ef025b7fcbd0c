//! How a link gets its next connection: by dialing, or by waiting to be dialed.

use std::io;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use super::context::{Context, tune};
use super::handshake::{self, HandshakeError, dials};
use super::link::{Connection, Link};
use super::peer::Peer;
use super::refusal::Refusal;

/// An error that stays the same is logged this rarely.
const SILENCE: Duration = Duration::from_secs(30);

/// Errors that change are logged this rarely.
const PAUSE: Duration = Duration::from_secs(1);

/// Keeps an unreachable peer from filling the log.
#[derive(Debug, Default)]
struct Complaint {
    last: Option<(Instant, String)>,
}

impl Complaint {
    /// Whether this is news.
    fn is_due(&mut self, error: &str) -> bool {
        if let Some((at, known)) = &self.last
            && at.elapsed() < if known == error { SILENCE } else { PAUSE }
        {
            return false;
        }
        self.last = Some((Instant::now(), error.to_owned()));
        true
    }
}

impl Link {
    /// The next connection to the peer; nothing when the mesh closes first.
    pub(crate) async fn connect(&mut self, backoff: &mut Backoff) -> Option<Connection> {
        if !dials(self.context.identity.me, self.peer.process) {
            return self.accepted.recv().await;
        }
        let Link { context, peer, accepted, .. } = self;
        tokio::select! {
            connection = dial_until_answered(context, peer, backoff) => Some(connection),
            // Nobody who is dialed is accepted: this comes back when the mesh closes.
            closed = accepted.recv() => closed,
        }
    }
}

async fn dial_until_answered(context: &Context, peer: &Peer, backoff: &mut Backoff) -> Connection {
    let mut complaint = Complaint::default();
    loop {
        let pause = backoff.pause();
        if !pause.is_zero() {
            sleep(pause).await;
        }
        let error = match timeout(context.limits.handshake, dial(context, peer)).await {
            Ok(Ok(connection)) => return connection,
            Ok(Err(error)) => error,
            Err(_) => HandshakeError::Refused(Refusal::TooSlow),
        };
        let error = error.to_string();
        context.counters.failed_dials.add(1);
        peer.remember_error(&error);
        if complaint.is_due(&error) {
            let (me, to) = (context.identity.me, peer.process);
            tracing::warn!(%me, peer = %to, address = peer.address, error, "cannot connect");
        }
    }
}

async fn dial(context: &Context, peer: &Peer) -> Result<Connection, HandshakeError> {
    let stream = reach(context, peer).await?;
    // A port that nobody holds can, on one machine, be connected to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
    }
    tune(&stream, &context.limits)?;
    let (conduit, boot) = handshake::dial(stream, context, peer).await?;
    Ok(Connection { conduit, boot })
}

/// Connects with the first address of a peer's name that answers soon enough. TCP itself would ask
/// a machine that is away more and more seldom.
async fn reach(context: &Context, peer: &Peer) -> io::Result<TcpStream> {
    let patience = context.limits.connect;
    let mut failed = io::Error::other("the name has no address");
    for address in lookup_host(&peer.address).await? {
        let begun = Instant::now();
        match timeout(patience, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                compare(context, peer, begun.elapsed());
                return Ok(stream);
            }
            Ok(Err(error)) => failed = error,
            Err(_) => {
                let says = format!("no answer within {} ms", patience.as_millis());
                failed = io::Error::new(io::ErrorKind::TimedOut, says);
            }
        }
    }
    Err(failed)
}

/// Says once of a peer that its machine is farther away than what runs here takes into account.
/// A connection is made there and back, however busy the peer itself is.
fn compare(context: &Context, peer: &Peer, took: Duration) {
    let most = context.limits.round_trip;
    if took > most && peer.is_news_of_distance() {
        tracing::warn!(
            me = %context.identity.me, peer = %peer.process, address = peer.address,
            "there and back takes {} ms, and message_ms of the configuration counts with {} at \
             most: elections may never end, and crashes be seen where there are none",
            took.as_millis(), most.as_millis()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_complaint_is_made_once() {
        let mut complaint = Complaint::default();
        assert!(complaint.is_due("connection refused"));
        assert!(!complaint.is_due("connection refused"));
        assert!(!complaint.is_due("no route to host"), "a peer could make up one error a dial");
        complaint.last = complaint.last.map(|(at, known)| (at - PAUSE, known));
        assert!(complaint.is_due("no route to host"));
        complaint.last = complaint.last.map(|(at, known)| (at - PAUSE, known));
        assert!(!complaint.is_due("no route to host"));
    }
}
