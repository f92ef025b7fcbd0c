//! Handshake that authenticates both sides of a connection.
//!
//! If there are keys, the two sides first perform a key exchange, and encrypt everything after it.
//! Then the dialer announces its identity and boot, and the acceptor responds with its own boot. A
//! side that has not proved that it owns a key changes only counters of the other side. It learns
//! at most the reason for its rejection.

use std::sync::Arc;

use tenure_core::ProcessId;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use super::cipher::{CipherError, KeyExchange};
use super::context::MeshContext;
use super::frame::{
    BootId, Frame, FrameError, Hello, HelloContent, Introduction, PROTOCOL_VERSION, Refused,
    Welcome, offered_version,
};
use super::framed_stream::{FramedStream, FramedStreamError};
use super::keys::{NodeKeys, ReplaceableKeys};
use super::peer::Peer;
use super::rejection_reason::RejectionReason;

/// Oldest version of the wire protocol that this build supports. Version 1 had no authentication.
/// If this build supported version 1, attackers could use that version to avoid authentication.
const OLDEST_VERSION: u16 = 2;

/// Maximum length of the name of a cluster, in bytes. The minimum is 1.
pub const MAX_CLUSTER_NAME_BYTES: usize = 128;

#[derive(Debug)]
pub(crate) struct NodeIdentity {
    pub(crate) cluster: String,
    pub(crate) me: ProcessId,
    pub(crate) group_size: u32,
    pub(crate) boot: BootId,
    /// Keys that authenticate this node and its peers; `None` if connections are not authenticated.
    pub(crate) reloadable_keys: Option<ReplaceableKeys>,
}

/// Process and boot of the dialer, after a successful handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemoteProcess {
    pub(crate) process: ProcessId,
    pub(crate) boot: BootId,
}

/// Reason for a failed handshake. The stream must be dropped.
#[derive(Debug, Error)]
pub(crate) enum HandshakeError {
    #[error("refused: {0}")]
    Refused(RejectionReason),
    #[error("refused by the peer: {message}")]
    RefusedByPeer { message: String },
    #[error("{0}")]
    Stream(#[from] FramedStreamError),
}

impl HandshakeError {
    pub(crate) fn rejection_reason(&self) -> RejectionReason {
        match self {
            HandshakeError::Refused(reason) => *reason,
            HandshakeError::Stream(FramedStreamError::Frame(_)) => RejectionReason::Malformed,
            HandshakeError::Stream(FramedStreamError::Cipher(_)) => RejectionReason::Unproven,
            HandshakeError::RefusedByPeer { .. } | HandshakeError::Stream(_) => {
                RejectionReason::Broken
            }
        }
    }
}

impl From<FrameError> for HandshakeError {
    fn from(error: FrameError) -> Self {
        HandshakeError::Stream(error.into())
    }
}

impl From<std::io::Error> for HandshakeError {
    fn from(error: std::io::Error) -> Self {
        HandshakeError::Stream(error.into())
    }
}

impl NodeIdentity {
    fn keys(&self) -> Option<Arc<NodeKeys>> {
        self.reloadable_keys.as_ref().map(ReplaceableKeys::keys)
    }
}

/// Returns true if `from` is the process that dials in the connection between `from` and `to`. The
/// process with the higher id dials.
pub(crate) fn is_dialer(from: ProcessId, to: ProcessId) -> bool {
    from > to
}

/// Performs the handshake as the dialer, over a stream that is connected to `peer`. Returns the
/// stream and the boot id of `peer`.
pub(crate) async fn dial<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    context: &MeshContext,
    peer: &Peer,
) -> Result<(FramedStream<S>, BootId), HandshakeError> {
    let mut stream = FramedStream::new(stream);
    let identity = &context.identity;
    if let Some(keys) = identity.keys() {
        let theirs = keys.group().key_for_attempt(peer.process, peer.failed_key_exchanges());
        exchange_keys(&mut stream, &keys, theirs)
            .await
            .inspect_err(|_| peer.count_failed_key_exchange())?;
    }
    let introduction = Introduction {
        cluster: &identity.cluster,
        group_size: identity.group_size,
        sender: identity.me.0,
        receiver: peer.process.0,
        boot: identity.boot,
    };
    let content = match context.eviction.is_replacement() {
        true => HelloContent::Replacement(introduction),
        false => HelloContent::Introduction(introduction),
    };
    stream.send(&Frame::Hello(Hello::new(content))).await?;
    let body = stream.receive_body().await?;
    let frame = Frame::decode(&body)?;
    let is_replacement = matches!(frame, Frame::WelcomeToReplacement(_));
    let reason = match frame {
        Frame::Welcome(Welcome { version: PROTOCOL_VERSION, boot })
        | Frame::WelcomeToReplacement(Welcome { version: PROTOCOL_VERSION, boot }) => {
            match check_boot(peer, boot, is_replacement) {
                Ok(()) => return Ok((stream, boot)),
                Err(reason) => reason,
            }
        }
        Frame::Welcome(_) | Frame::WelcomeToReplacement(_) => RejectionReason::OlderVersion,
        // The rejection is trusted: it is encrypted, or the group uses no authentication.
        Frame::Refused(refused) => {
            context.eviction.on_rejection(peer.process, refused.code);
            return Err(refused_by_peer(&refused));
        }
        _ => RejectionReason::Malformed,
    };
    stream.reject_and_shut_down(reason).await;
    Err(HandshakeError::Refused(reason))
}

async fn exchange_keys<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut FramedStream<S>,
    keys: &NodeKeys,
    theirs: super::keys::PublicKey,
) -> Result<(), HandshakeError> {
    let (exchange, message) = KeyExchange::dial(keys.private(), theirs);
    stream.send(&Frame::Hello(Hello::new(HelloContent::Exchange(&message)))).await?;
    let body = stream.receive_body().await?;
    match Frame::decode(&body)? {
        Frame::Exchange(message) => {
            stream.cipher = Some(exchange.finish(message).map_err(unproven)?)
        }
        // This rejection is not authenticated, so it ends the connection but cannot evict this
        // node.
        Frame::Refused(refused) => return Err(refused_by_peer(&refused)),
        _ => return Err(HandshakeError::Refused(RejectionReason::Malformed)),
    }
    Ok(())
}

/// Performs the handshake as the acceptor. Returns the stream, and the process id and boot id of
/// the dialer.
pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    context: &MeshContext,
) -> Result<(FramedStream<S>, RemoteProcess), HandshakeError> {
    let mut stream = FramedStream::new(stream);
    let error = match accept_introduction(&mut stream, context).await {
        Ok(remote) => return Ok((stream, remote)),
        Err(error) => error,
    };
    if let HandshakeError::Refused(reason) = error {
        stream.reject_and_shut_down(reason).await;
    }
    Err(error)
}

async fn accept_introduction<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut FramedStream<S>,
    context: &MeshContext,
) -> Result<RemoteProcess, HandshakeError> {
    let identity = &context.identity;
    let mut body = stream.receive_body().await?;
    let keys = identity.keys();
    let mut proven = None;
    if let (Some(keys), HelloContent::Exchange(message)) = (&keys, decode_opening(&body)?) {
        let (exchange, key) = KeyExchange::accept(keys.private(), message).map_err(unproven)?;
        let owner = keys.group().owner(&key);
        proven = Some(owner.ok_or(HandshakeError::Refused(RejectionReason::Unproven))?);
        let (cipher, message) = exchange.respond();
        stream.send(&Frame::Exchange(&message)).await?;
        stream.cipher = Some(cipher);
        body = stream.receive_body().await?;
    }
    let (introduction, is_replacement) = match decode_opening(&body)? {
        HelloContent::Introduction(introduction) => (introduction, false),
        HelloContent::Replacement(introduction) => (introduction, true),
        HelloContent::Exchange(_) => {
            return Err(HandshakeError::Refused(RejectionReason::Unproven));
        }
    };
    if keys.is_some() && proven.is_none() {
        return Err(HandshakeError::Refused(RejectionReason::Unproven));
    }
    let checked = validate(context, &introduction, is_replacement, proven);
    let remote = checked.map_err(|reason| {
        // If the dialer belongs to another group, this node may be the misconfigured one. Any other
        // reason is ignored.
        if let Some(peer) = proven {
            context.eviction.on_group_mismatch(peer, reason);
        }
        HandshakeError::Refused(reason)
    })?;
    let welcome = Welcome { version: PROTOCOL_VERSION, boot: identity.boot };
    let frame = match context.eviction.is_replacement() {
        true => Frame::WelcomeToReplacement(welcome),
        false => Frame::Welcome(welcome),
    };
    stream.send(&frame).await?;
    Ok(remote)
}

/// Decodes the first message of a dialer. Returns an error if this build does not support the
/// version of the message.
fn decode_opening(body: &[u8]) -> Result<HelloContent<'_>, HandshakeError> {
    // The version comes first, because it determines the format of the rest.
    let reason = match offered_version(body) {
        None => RejectionReason::Malformed,
        Some(version) if version > PROTOCOL_VERSION => RejectionReason::NewerVersion,
        Some(version) if version < OLDEST_VERSION => RejectionReason::OlderVersion,
        Some(_) => match Frame::decode(body) {
            Ok(Frame::Hello(hello)) => return Ok(hello.opening),
            _ => RejectionReason::Malformed,
        },
    };
    Err(HandshakeError::Refused(reason))
}

/// Validates the identity that a dialer claims. `proven` is the process whose key the dialer has
/// proved to own. It is `None` if there are no keys. `is_replacement` is true if the dialer
/// replaces a member and has not joined the group yet.
fn validate(
    context: &MeshContext,
    introduction: &Introduction<'_>,
    is_replacement: bool,
    proven: Option<ProcessId>,
) -> Result<RemoteProcess, RejectionReason> {
    let (identity, process) = (&context.identity, ProcessId(introduction.sender));
    if introduction.cluster != identity.cluster {
        return Err(RejectionReason::WrongCluster);
    } else if introduction.group_size != identity.group_size {
        return Err(RejectionReason::WrongGroupSize);
    } else if introduction.receiver != identity.me.0 {
        return Err(RejectionReason::WrongReceiver);
    } else if !is_dialer(process, identity.me) || proven.is_some_and(|proven| proven != process) {
        return Err(RejectionReason::WrongSender);
    }
    let peer = context.peer(process).ok_or(RejectionReason::WrongSender)?;
    check_boot(peer, introduction.boot, is_replacement)?;
    Ok(RemoteProcess { process, boot: introduction.boot })
}

/// Checks that `boot` may become the newest boot of the remote process. `is_replacement` is true if
/// the remote process replaces a member and has not joined the group yet.
fn check_boot(peer: &Peer, boot: BootId, is_replacement: bool) -> Result<(), RejectionReason> {
    peer.check_boot(boot)?;
    if is_replacement { peer.check_replacement(boot) } else { Ok(()) }
}

fn unproven(CipherError: CipherError) -> HandshakeError {
    HandshakeError::Refused(RejectionReason::Unproven)
}

fn refused_by_peer(refused: &Refused<'_>) -> HandshakeError {
    HandshakeError::RefusedByPeer { message: refused.sanitized_description() }
}
