//! The handshake: two strangers become peers, or the connection is closed.
//!
//! The dialer says [`Hello`], the acceptor answers [`Welcome`] and the dialer ends with its
//! proof. Nothing that a stranger says changes any state before its proof is verified.

use std::io;

use tenure_core::ProcessId;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::frame::{
    Frame, FrameError, Hello, LENGTH_BYTES, MAGIC, Refused, VERSION, Welcome, body_length,
    offered_version,
};
use super::refusal::Refusal;
use super::secret::{Role, Secret, Transcript, fresh_nonce};

/// The oldest version that this build still speaks.
const OLDEST_VERSION: u16 = 1;

/// The longest body during a handshake: a stranger may not make us hold more, in bytes.
const LONGEST_BODY: usize = 1024;

/// The longest name of a cluster, in bytes.
pub(crate) const LONGEST_CLUSTER_NAME: usize = 128;

/// Who this node is to others.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) cluster: String,
    pub(crate) me: ProcessId,
    pub(crate) group_size: u32,
    pub(crate) session: u64,
    pub(crate) secret: Option<Secret>,
}

/// A process that proved itself, and which boot of it this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) process: ProcessId,
    pub(crate) session: u64,
}

/// Why a handshake did not end in a connection; the stream must be dropped.
#[derive(Debug, Error)]
pub(crate) enum HandshakeError {
    #[error("refused: {0}")]
    Refused(Refusal),
    #[error("refused by the peer: {sentence}")]
    RefusedByPeer { sentence: String },
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Broken(#[from] io::Error),
}

impl HandshakeError {
    /// Under which counter this goes.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            HandshakeError::Refused(refusal) => *refusal,
            HandshakeError::Frame(_) => Refusal::Malformed,
            HandshakeError::RefusedByPeer { .. } | HandshakeError::Broken(_) => Refusal::Broken,
        }
    }
}

/// Whether `from` is the one of the two that dials: the higher, so that one that comes back as
/// the highest rank reaches everybody at once instead of waiting to be found.
pub(crate) fn dials(from: ProcessId, to: ProcessId) -> bool {
    from > to
}

/// Dials as `identity`, expecting `peer` at the other end; gives the peer's session.
pub(crate) async fn dial<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    identity: &Identity,
    peer: ProcessId,
) -> Result<u64, HandshakeError> {
    let hello = encoded(&Frame::Hello(Hello {
        magic: MAGIC,
        version: VERSION,
        cluster: &identity.cluster,
        group_size: identity.group_size,
        sender: identity.me.0,
        receiver: peer.0,
        session: identity.session,
        nonce: fresh_nonce()?,
    }));
    stream.write_all(&hello).await?;
    let body = read_body(stream).await?;
    let welcome = match Frame::decode(&body)? {
        Frame::Welcome(welcome) => welcome,
        Frame::Refused(refused) => return Err(refused_by_peer(&refused)),
        _ => return Err(HandshakeError::Refused(Refusal::Malformed)),
    };
    if welcome.version != VERSION {
        return Err(refuse(stream, Refusal::OlderVersion).await);
    }
    let transcript = transcript(&hello[LENGTH_BYTES..], &welcome);
    if !is_proven(identity, Role::Acceptor, &transcript, welcome.proof) {
        return Err(refuse(stream, Refusal::Unproven).await);
    }
    let proof = identity.secret.as_ref().map(|secret| secret.prove(Role::Dialer, &transcript));
    stream.write_all(&encoded(&Frame::Proven { proof })).await?;
    Ok(welcome.session)
}

/// Answers whoever dialed; `newest_session` gives the newest session seen of a process.
pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    identity: &Identity,
    newest_session: impl Fn(ProcessId) -> u64,
) -> Result<Caller, HandshakeError> {
    let hello = read_body(stream).await?;
    let caller = match judge(identity, &hello, newest_session) {
        Ok(caller) => caller,
        Err(refusal) => return Err(refuse(stream, refusal).await),
    };
    let mut welcome =
        Welcome { version: VERSION, session: identity.session, nonce: fresh_nonce()?, proof: None };
    let transcript = transcript(&hello, &welcome);
    welcome.proof =
        identity.secret.as_ref().map(|secret| secret.prove(Role::Acceptor, &transcript));
    stream.write_all(&encoded(&Frame::Welcome(welcome))).await?;
    let body = read_body(stream).await?;
    let proof = match Frame::decode(&body)? {
        Frame::Proven { proof } => proof,
        Frame::Refused(refused) => return Err(refused_by_peer(&refused)),
        _ => return Err(HandshakeError::Refused(Refusal::Malformed)),
    };
    if !is_proven(identity, Role::Dialer, &transcript, proof) {
        return Err(refuse(stream, Refusal::Unproven).await);
    }
    Ok(caller)
}

/// Decides whether a hello is believable so far.
fn judge(
    identity: &Identity,
    body: &[u8],
    newest_session: impl Fn(ProcessId) -> u64,
) -> Result<Caller, Refusal> {
    // The version first: what follows it is only known to those who speak it.
    match offered_version(body) {
        None => return Err(Refusal::Malformed),
        Some(version) if version > VERSION => return Err(Refusal::NewerVersion),
        Some(version) if version < OLDEST_VERSION => return Err(Refusal::OlderVersion),
        Some(_) => {}
    }
    let Ok(Frame::Hello(hello)) = Frame::decode(body) else { return Err(Refusal::Malformed) };
    let process = ProcessId(hello.sender);
    if hello.cluster != identity.cluster {
        Err(Refusal::WrongCluster)
    } else if hello.group_size != identity.group_size {
        Err(Refusal::WrongGroupSize)
    } else if hello.receiver != identity.me.0 {
        Err(Refusal::WrongReceiver)
    } else if hello.sender >= identity.group_size || !dials(process, identity.me) {
        Err(Refusal::WrongSender)
    } else if hello.session == 0 || hello.session < newest_session(process) {
        Err(Refusal::OldSession)
    } else {
        Ok(Caller { process, session: hello.session })
    }
}

fn transcript<'a>(hello: &'a [u8], welcome: &Welcome) -> Transcript<'a> {
    Transcript { hello, version: welcome.version, session: welcome.session, nonce: welcome.nonce }
}

/// Without a secret nothing needs proof; a proof that was not asked for is ignored.
fn is_proven(
    identity: &Identity,
    role: Role,
    transcript: &Transcript<'_>,
    proof: Option<[u8; 32]>,
) -> bool {
    identity.secret.as_ref().is_none_or(|secret| secret.verifies(role, transcript, proof))
}

/// Tells the other side why, as far as it still listens, and gives the error to return.
async fn refuse<S: AsyncWrite + Unpin>(stream: &mut S, refusal: Refusal) -> HandshakeError {
    let sentence = refusal.to_string();
    let refused =
        Refused { newest_version: VERSION, code: refusal.code(), sentence: sentence.as_str() };
    // The connection is lost to us in any case: that it could not be told why changes nothing.
    let _ = stream.write_all(&encoded(&Frame::Refused(refused))).await;
    let _ = stream.shutdown().await;
    HandshakeError::Refused(refusal)
}

/// The stranger's sentence, harmless to a log.
fn refused_by_peer(refused: &Refused<'_>) -> HandshakeError {
    HandshakeError::RefusedByPeer { sentence: refused.sentence.escape_debug().to_string() }
}

fn encoded(frame: &Frame<'_>) -> Vec<u8> {
    let mut output = Vec::new();
    frame.encode(&mut output);
    output
}

/// Reads exactly one body, so that what follows the handshake stays in the socket.
async fn read_body<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Vec<u8>, HandshakeError> {
    let mut prefix = [0; LENGTH_BYTES];
    stream.read_exact(&mut prefix).await?;
    let mut body = vec![0; body_length(prefix, LONGEST_BODY)?];
    stream.read_exact(&mut body).await?;
    Ok(body)
}
