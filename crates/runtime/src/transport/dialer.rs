//! How a link gets its next connection: by dialing, or by waiting to be dialed.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use super::context::tune;
use super::handshake::{self, HandshakeError, dials};
use super::link::{Connection, Link};
use super::refusal::Refusal;

/// An error that stays the same is logged this rarely.
const SILENCE: Duration = Duration::from_secs(30);

/// Keeps an unreachable peer from filling the log.
#[derive(Debug, Default)]
struct Complaint {
    last: Option<(Instant, String)>,
}

impl Complaint {
    /// Whether this is news.
    fn is_due(&mut self, error: &str) -> bool {
        if let Some((at, known)) = &self.last
            && known == error
            && at.elapsed() < SILENCE
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
        let mut closing = self.closing.clone();
        if !dials(self.context.identity.me, self.peer.process) {
            return tokio::select! {
                connection = self.accepted.recv() => connection,
                _ = closing.wait_for(|closing| *closing) => None,
            };
        }
        tokio::select! {
            connection = self.dial_until_answered(backoff) => Some(connection),
            _ = closing.wait_for(|closing| *closing) => None,
        }
    }

    async fn dial_until_answered(&self, backoff: &mut Backoff) -> Connection {
        let mut complaint = Complaint::default();
        loop {
            let error = match timeout(self.context.limits.handshake, self.dial()).await {
                Ok(Ok(connection)) => return connection,
                Ok(Err(error)) => error,
                Err(_) => HandshakeError::Refused(Refusal::TooSlow),
            };
            let error = error.to_string();
            self.context.counters.failed_dials.add(1);
            self.peer.remember_error(&error);
            if complaint.is_due(&error) {
                let (me, peer) = (self.context.identity.me, self.peer.process);
                tracing::warn!(%me, %peer, address = self.peer.address, error, "cannot connect");
            }
            sleep(backoff.pause()).await;
        }
    }

    async fn dial(&self) -> Result<Connection, HandshakeError> {
        let mut stream = TcpStream::connect(&self.peer.address).await?;
        // A port that nobody holds can, on one machine, be connected to itself.
        if stream.local_addr()? == stream.peer_addr()? {
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
        }
        tune(&stream)?;
        let identity = &self.context.identity;
        let session = handshake::dial(&mut stream, identity, self.peer.process).await?;
        if session == 0 || session < self.peer.newest() {
            return Err(HandshakeError::Refused(Refusal::OldSession));
        }
        Ok(Connection { stream, session })
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
        assert!(complaint.is_due("no route to host"));
    }
}
