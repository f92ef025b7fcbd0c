//! The handshake: two strangers become peers, or the connection is closed.
//!
//! Where there are keys the two exchange them first, and everything else is said behind the seal.
//! Then, sealed or not, the dialer says who it is and which boot of it, and the acceptor answers
//! with its own. Nothing that a stranger says changes any state, and nothing is told to one.

use std::sync::Arc;

use tenure_core::ProcessId;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use super::conduit::{Broken, Conduit};
use super::context::Context;
use super::frame::{
    Boot, Frame, FrameError, Hello, Introduction, Opening, Refused, VERSION, Welcome,
    offered_version,
};
use super::keys::{Keyring, Keys};
use super::peer::Peer;
use super::refusal::Refusal;
use super::seal::{Exchange, Unsealed};

/// The oldest version that this build still speaks. Version 1 knew no identities, and speaking it
/// would let anybody do without.
const OLDEST_VERSION: u16 = 2;

/// The longest name of a cluster, in bytes.
pub(crate) const LONGEST_CLUSTER_NAME: usize = 128;

/// Who this node is to others.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) cluster: String,
    pub(crate) me: ProcessId,
    pub(crate) group_size: u32,
    pub(crate) boot: Boot,
    /// By which it proves that, and knows its peers; nothing where whoever connects is believed.
    pub(crate) keyring: Option<Keyring>,
}

/// A process that is who it says, and which boot of it this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) process: ProcessId,
    pub(crate) boot: Boot,
}

/// Why a handshake did not end in a connection; the stream must be dropped.
#[derive(Debug, Error)]
pub(crate) enum HandshakeError {
    #[error("refused: {0}")]
    Refused(Refusal),
    #[error("refused by the peer: {sentence}")]
    RefusedByPeer { sentence: String },
    #[error("{0}")]
    Broken(#[from] Broken),
}

impl HandshakeError {
    /// Under which counter this goes.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            HandshakeError::Refused(refusal) => *refusal,
            HandshakeError::Broken(Broken::Frame(_)) => Refusal::Malformed,
            HandshakeError::Broken(Broken::Unsealed(_)) => Refusal::Unproven,
            HandshakeError::RefusedByPeer { .. } | HandshakeError::Broken(_) => Refusal::Broken,
        }
    }
}

impl From<FrameError> for HandshakeError {
    fn from(error: FrameError) -> Self {
        HandshakeError::Broken(error.into())
    }
}

impl From<std::io::Error> for HandshakeError {
    fn from(error: std::io::Error) -> Self {
        HandshakeError::Broken(error.into())
    }
}

impl Identity {
    fn keys(&self) -> Option<Arc<Keys>> {
        self.keyring.as_ref().map(Keyring::keys)
    }
}

/// Whether `from` is the one of the two that dials: the higher, so that one that comes back as
/// the highest rank reaches everybody at once instead of waiting to be found.
pub(crate) fn dials(from: ProcessId, to: ProcessId) -> bool {
    from > to
}

/// Dials, expecting `peer` at the other end; gives which boot of it answered.
pub(crate) async fn dial<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    context: &Context,
    peer: &Peer,
) -> Result<(Conduit<S>, Boot), HandshakeError> {
    let mut conduit = Conduit::new(stream);
    let identity = &context.identity;
    if let Some(keys) = identity.keys() {
        let theirs = keys.group().expected(peer.process, peer.failed_exchanges());
        exchange(&mut conduit, &keys, theirs).await.inspect_err(|_| peer.exchange_failed())?;
    }
    let introduction = Opening::Introduction(Introduction {
        cluster: &identity.cluster,
        group_size: identity.group_size,
        sender: identity.me.0,
        receiver: peer.process.0,
        boot: identity.boot,
    });
    conduit.say(&Frame::Hello(Hello::with(introduction))).await?;
    let body = conduit.hear().await?;
    let refusal = match Frame::decode(&body)? {
        Frame::Welcome(Welcome { version: VERSION, boot }) => match peer.judge(boot) {
            Ok(()) => return Ok((conduit, boot)),
            Err(refusal) => refusal,
        },
        Frame::Welcome(_) => Refusal::OlderVersion,
        // Behind the seal, or where nobody proves anything, this is the peer's own word.
        Frame::Refused(refused) => {
            context.expulsion.heed(peer.process, refused.code);
            return Err(refused_by_peer(&refused));
        }
        _ => Refusal::Malformed,
    };
    conduit.refuse(refusal).await;
    Err(HandshakeError::Refused(refusal))
}

/// Exchanges keys with whom this node called.
async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    conduit: &mut Conduit<S>,
    keys: &Keys,
    theirs: super::keys::PublicKey,
) -> Result<(), HandshakeError> {
    let (exchange, said) = Exchange::dial(keys.private(), theirs);
    conduit.say(&Frame::Hello(Hello::with(Opening::Exchange(&said)))).await?;
    let body = conduit.hear().await?;
    match Frame::decode(&body)? {
        Frame::Exchange(said) => conduit.seal = Some(exchange.answered(said).map_err(unproven)?),
        // Anybody on the way can say this: it ends this connection and means nothing more.
        Frame::Refused(refused) => return Err(refused_by_peer(&refused)),
        _ => return Err(HandshakeError::Refused(Refusal::Malformed)),
    }
    Ok(())
}

/// Answers whoever dialed.
pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    context: &Context,
) -> Result<(Conduit<S>, Caller), HandshakeError> {
    let mut conduit = Conduit::new(stream);
    let answered = match welcome(&mut conduit, context).await {
        Ok(caller) => return Ok((conduit, caller)),
        Err(error) => error,
    };
    if let HandshakeError::Refused(refusal) = answered {
        conduit.refuse(refusal).await;
    }
    Err(answered)
}

async fn welcome<S: AsyncRead + AsyncWrite + Unpin>(
    conduit: &mut Conduit<S>,
    context: &Context,
) -> Result<Caller, HandshakeError> {
    let identity = &context.identity;
    let mut body = conduit.hear().await?;
    let keys = identity.keys();
    let mut proven = None;
    if let (Some(keys), Opening::Exchange(said)) = (&keys, opening(&body)?) {
        let (exchange, key) = Exchange::accept(keys.private(), said).map_err(unproven)?;
        let owner = keys.group().owner(&key);
        proven = Some(owner.ok_or(HandshakeError::Refused(Refusal::Unproven))?);
        let (seal, said) = exchange.answer();
        conduit.say(&Frame::Exchange(&said)).await?;
        conduit.seal = Some(seal);
        body = conduit.hear().await?;
    }
    let Opening::Introduction(introduction) = opening(&body)? else {
        return Err(HandshakeError::Refused(Refusal::Unproven));
    };
    if keys.is_some() && proven.is_none() {
        return Err(HandshakeError::Refused(Refusal::Unproven));
    }
    let caller = judge(context, &introduction, proven).map_err(|refusal| {
        // It belongs to another group, which its own node may be right about.
        if let Some(peer) = proven {
            context.expulsion.differs(peer, refusal);
        }
        HandshakeError::Refused(refusal)
    })?;
    let welcome = Welcome { version: VERSION, boot: identity.boot };
    conduit.say(&Frame::Welcome(welcome)).await?;
    Ok(caller)
}

/// What a dialer opens with, if it speaks a version that this build speaks.
fn opening(body: &[u8]) -> Result<Opening<'_>, HandshakeError> {
    // The version first: what follows it is only known to those who speak it.
    let refusal = match offered_version(body) {
        None => Refusal::Malformed,
        Some(version) if version > VERSION => Refusal::NewerVersion,
        Some(version) if version < OLDEST_VERSION => Refusal::OlderVersion,
        Some(_) => match Frame::decode(body) {
            Ok(Frame::Hello(hello)) => return Ok(hello.opening),
            _ => Refusal::Malformed,
        },
    };
    Err(HandshakeError::Refused(refusal))
}

/// Decides whether an introduction is believed; `proven` is whose key was proven, if one was.
fn judge(
    context: &Context,
    said: &Introduction<'_>,
    proven: Option<ProcessId>,
) -> Result<Caller, Refusal> {
    let (identity, process) = (&context.identity, ProcessId(said.sender));
    if said.cluster != identity.cluster {
        return Err(Refusal::WrongCluster);
    } else if said.group_size != identity.group_size {
        return Err(Refusal::WrongGroupSize);
    } else if said.receiver != identity.me.0 {
        return Err(Refusal::WrongReceiver);
    } else if !dials(process, identity.me) || proven.is_some_and(|proven| proven != process) {
        return Err(Refusal::WrongSender);
    }
    let peer = context.peer(process).ok_or(Refusal::WrongSender)?;
    peer.judge(said.boot)?;
    Ok(Caller { process, boot: said.boot })
}

fn unproven(Unsealed: Unsealed) -> HandshakeError {
    HandshakeError::Refused(Refusal::Unproven)
}

fn refused_by_peer(refused: &Refused<'_>) -> HandshakeError {
    HandshakeError::RefusedByPeer { sentence: refused.told() }
}
