//! Messages of `raft` in Tenure's frames.

use std::hash::{Hash, Hasher};

use protobuf::Message as _;
use raft::eraftpb::{self, MessageType};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_core::{Labelled, Layer, MessageLabel};

/// A message of `raft`, encoded as its authors define it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(pub eraftpb::Message);

impl Eq for Message {}

impl Hash for Message {
    fn hash<H: Hasher>(&self, to: &mut H) {
        (self.0.get_term(), self.0.get_index()).hash(to);
    }
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        let kind = match self.0.get_msg_type() {
            MessageType::MsgAppend => "append",
            MessageType::MsgAppendResponse => "appended",
            MessageType::MsgRequestVote => "request-vote",
            MessageType::MsgRequestVoteResponse => "vote",
            MessageType::MsgRequestPreVote => "request-pre-vote",
            MessageType::MsgRequestPreVoteResponse => "pre-vote",
            // Not `heartbeat`: the transport may replace a message of that kind by a later one. All
            // messages of `raft` must arrive, as all messages of `raft-log` do.
            MessageType::MsgHeartbeat => "beat",
            MessageType::MsgHeartbeatResponse => "beaten",
            _ => "other",
        };
        MessageLabel { layer: Layer::Agreement, kind }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let bytes = self.0.write_to_bytes().map_err(serde::ser::Error::custom)?;
        to.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = serde_bytes::ByteBuf::deserialize(from)?;
        let mut message = eraftpb::Message::default();
        message.merge_from_bytes(&bytes).map_err(serde::de::Error::custom)?;
        Ok(Message(message))
    }
}
