//! How a link obtains its next connection: it dials the peer or waits until the peer dials.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use super::context::{MeshContext, set_socket_options};
use super::handshake::{self, HandshakeError, is_dialer};
use super::link::{PeerConnection, PeerLink};
use super::peer::Peer;
use super::rejection_reason::RejectionReason;

/// Minimum time between two log lines with the same error about a peer.
const REPEATED_ERROR_INTERVAL: Duration = Duration::from_secs(30);

/// Time limit for resolving the host name of a peer. A resolver that gets no response from its
/// first name server tries the next one after several seconds.
const RESOLUTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Minimum time between two log lines with different errors about a peer.
const NEW_ERROR_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct DialErrorThrottle {
    last: Option<(Instant, String)>,
}

impl DialErrorThrottle {
    /// Returns true if the error may be logged now. The throttle then assumes that the caller logs
    /// it.
    fn is_due(&mut self, error: &str) -> bool {
        if let Some((at, known)) = &self.last
            && at.elapsed()
                < if known == error { REPEATED_ERROR_INTERVAL } else { NEW_ERROR_INTERVAL }
        {
            return false;
        }
        self.last = Some((Instant::now(), error.to_owned()));
        true
    }
}

impl PeerLink {
    /// Returns the next connection with the peer. Dials the peer if this process has the higher id.
    /// Otherwise, waits until the peer dials. Returns `None` if the mesh closes first.
    pub(crate) async fn next_connection(
        &mut self,
        backoff: &mut Backoff,
    ) -> Option<PeerConnection> {
        if !is_dialer(self.context.identity.me, self.peer.process) {
            return self.accepted.recv().await;
        }
        let PeerLink { context, peer, accepted, .. } = self;
        tokio::select! {
            connection = dial_until_connected(context, peer, backoff) => Some(connection),
            // Peers that this process dials never connect to it, so this receiver resolves only
            // when the mesh closes.
            closed = accepted.recv() => closed,
        }
    }
}

async fn dial_until_connected(
    context: &MeshContext,
    peer: &Peer,
    backoff: &mut Backoff,
) -> PeerConnection {
    let mut throttle = DialErrorThrottle::default();
    loop {
        let pause = backoff.next_pause();
        if !pause.is_zero() {
            sleep(pause).await;
        }
        let error = match resolve_and_dial(context, peer).await {
            Ok(connection) => return connection,
            Err(error) => error.to_string(),
        };
        context.counters.failed_dials.add(1);
        peer.set_last_error(&error);
        if throttle.is_due(&error) {
            let (me, to) = (context.own_name(), context.names.name(peer.process));
            tracing::warn!(%me, peer = %to, address = peer.address, error, "cannot connect");
        }
    }
}

/// Resolves the host name of the peer, and dials the peer. Each of the two steps has its own time
/// limit.
async fn resolve_and_dial(
    context: &MeshContext,
    peer: &Peer,
) -> Result<PeerConnection, HandshakeError> {
    let addresses = resolve(&peer.address, lookup_host(&peer.address), RESOLUTION_TIMEOUT).await?;
    match timeout(context.limits.handshake_timeout, dial(context, peer, &addresses)).await {
        Ok(dialed) => dialed,
        Err(_) => Err(HandshakeError::Refused(RejectionReason::TooSlow)),
    }
}

async fn resolve<Addresses: IntoIterator<Item = SocketAddr>>(
    name: &str,
    lookup: impl Future<Output = io::Result<Addresses>>,
    limit: Duration,
) -> io::Result<Vec<SocketAddr>> {
    match timeout(limit, lookup).await {
        Ok(found) => Ok(found?.into_iter().collect()),
        Err(_) => {
            let message = format!("no name server resolved '{name}' within {limit:?}");
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        }
    }
}

async fn dial(
    context: &MeshContext,
    peer: &Peer,
    addresses: &[SocketAddr],
) -> Result<PeerConnection, HandshakeError> {
    let stream = connect_any_address(context, peer, addresses).await?;
    // A TCP connection to an unused port of the same machine can connect to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
    }
    set_socket_options(&stream, &context.limits)?;
    let (stream, boot) = handshake::dial(stream, context, peer).await?;
    Ok(PeerConnection { stream, boot })
}

/// Tries all addresses of the peer's host name one after the other, and connects to the first
/// address that responds. Each attempt has a time limit, because TCP alone would retry an
/// unreachable address with growing pauses.
async fn connect_any_address(
    context: &MeshContext,
    peer: &Peer,
    addresses: &[SocketAddr],
) -> io::Result<TcpStream> {
    let connect_timeout = context.limits.connect_timeout;
    let mut failed = io::Error::other("the name has no address");
    for address in addresses {
        let started = Instant::now();
        match timeout(connect_timeout, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                warn_if_distant(context, peer, started.elapsed());
                return Ok(stream);
            }
            Ok(Err(error)) => failed = error,
            Err(_) => {
                let message = format!("no response within {} ms", connect_timeout.as_millis());
                failed = io::Error::new(io::ErrorKind::TimedOut, message);
            }
        }
    }
    Err(failed)
}

/// Logs a warning, once per peer, if the round-trip time is longer than configured. `took` is the
/// time of a TCP connect, which does not depend on the load of the peer.
fn warn_if_distant(context: &MeshContext, peer: &Peer, took: Duration) {
    let limit = context.limits.max_round_trip;
    if took > limit && peer.mark_round_trip_logged() {
        tracing::warn!(
            me = %context.own_name(), peer = %context.names.name(peer.process),
            address = peer.address,
            round_trip_ms = took.as_millis(), limit_ms = limit.as_millis(),
            "round trip exceeds twice message_ms of the configuration; elections may fail, and \
             processes may be suspected wrongly"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn endless_resolution_is_reported() {
        let found = SocketAddr::from(([127, 0, 0, 1], 1));
        let ready = std::future::ready(Ok([found]));
        assert_eq!(resolve("peer:1", ready, RESOLUTION_TIMEOUT).await.unwrap(), [found]);
        let endless = std::future::pending::<io::Result<[SocketAddr; 1]>>();
        let error = resolve("peer:1", endless, Duration::from_millis(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "no name server resolved 'peer:1' within 1ms");
    }

    #[test]
    fn repeated_errors_are_logged_once() {
        let mut throttle = DialErrorThrottle::default();
        assert!(throttle.is_due("connection refused"));
        assert!(!throttle.is_due("connection refused"));
        assert!(!throttle.is_due("no route to host"), "a peer could invent new errors");
        throttle.last = throttle.last.map(|(at, known)| (at - NEW_ERROR_INTERVAL, known));
        assert!(throttle.is_due("no route to host"));
        throttle.last = throttle.last.map(|(at, known)| (at - NEW_ERROR_INTERVAL, known));
        assert!(!throttle.is_due("no route to host"));
    }
}
