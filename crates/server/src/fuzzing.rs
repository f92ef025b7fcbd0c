//! Entry points for fuzzing. A member must not panic, whatever bytes it decodes. Each value that it
//! decodes must stay equal if it is encoded and decoded again. The functions panic if one of these
//! rules is violated.

use prost::Message;
use tenure_algorithms::agreement::relayed_log::Message as PeerMessage;
use tenure_etcd::{etcdserverpb as rpc, tenure, v3electionpb, v3lockpb};

use crate::auth::secrets;
use crate::log::request::{LeaderRequest, LogEntry, LogTaskResponse, ReleaseNotice};
use crate::log::snapshot;
use crate::net::gateway;

fn round_trip<M: Message + Default + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    if let Ok(read) = M::decode(bytes) {
        let written = read.encode_to_vec();
        assert_eq!(M::decode(written.as_slice()).as_ref(), Ok(&read), "a message round-trips");
    }
}

macro_rules! all {
    ($bytes:ident: $($kind:ty),+ $(,)?) => { $(round_trip::<$kind>($bytes);)+ };
}

/// Decodes the bytes as a message of many of the types that clients send or receive, one type after
/// another.
pub fn check_client_messages(bytes: &[u8]) {
    all!(bytes:
        rpc::RangeRequest, rpc::PutRequest, rpc::DeleteRangeRequest, rpc::TxnRequest,
        rpc::CompactionRequest, rpc::WatchRequest, rpc::LeaseGrantRequest, rpc::LeaseRevokeRequest,
        rpc::LeaseKeepAliveRequest, rpc::LeaseTimeToLiveRequest, rpc::MemberAddRequest,
        rpc::MemberRemoveRequest, rpc::AlarmRequest, rpc::HashKvRequest, rpc::MoveLeaderRequest,
        rpc::AuthenticateRequest, rpc::AuthUserAddRequest, rpc::AuthRoleGrantPermissionRequest,
        v3lockpb::LockRequest, v3lockpb::UnlockRequest, v3electionpb::CampaignRequest,
        v3electionpb::ProclaimRequest, v3electionpb::ResignRequest, rpc::RangeResponse,
        rpc::TxnResponse, tenure::Transacted, rpc::WatchResponse, rpc::LeaseKeepAliveResponse,
        rpc::MemberListResponse, v3lockpb::LockResponse, v3electionpb::LeaderResponse,
    );
}

/// Decodes a JSON request twice, and compares the results. The first byte of the input selects the
/// HTTP path of the request, and the other bytes are its body.
pub fn check_json_request(bytes: &[u8]) {
    let Some((&index, text)) = bytes.split_first() else { return };
    let (one, two) = (gateway::reencode_json(index, text), gateway::reencode_json(index, text));
    assert_eq!(one, two, "the result depends on the input only");
}

/// Decodes the bytes as each kind of message between members, and as the contents of a log entry.
pub fn check_peer_messages(bytes: &[u8]) {
    fn round_trip<T>(bytes: &[u8])
    where
        T: serde::de::DeserializeOwned + serde::Serialize + PartialEq + std::fmt::Debug,
    {
        if let Ok(read) = postcard::from_bytes::<T>(bytes) {
            let written = postcard::to_stdvec(&read).expect("a decoded value has an encoding");
            assert_eq!(
                postcard::from_bytes::<T>(&written).as_ref(),
                Ok(&read),
                "a value round-trips"
            );
        }
    }
    round_trip::<PeerMessage>(bytes);
    round_trip::<LeaderRequest>(bytes);
    round_trip::<LogTaskResponse>(bytes);
    round_trip::<LogEntry>(bytes);
    round_trip::<ReleaseNotice>(bytes);
}

/// Decodes the bytes as a snapshot, which a member reads from another member or from the disk.
pub fn check_snapshot(bytes: &[u8]) {
    // With the header in front, more inputs pass the check of the header.
    let whole = [&[0][..], b"tnstore\x04", bytes].concat();
    for bytes in [bytes, &whole] {
        if let Ok((urls, store)) = snapshot::decode(bytes) {
            let read = snapshot::decode(&snapshot::encode(&urls, &store.snapshot()));
            assert!(read.is_ok_and(|read| read == (urls, store)), "a snapshot round-trips");
        }
    }
}

/// Verifies the bytes as the token of a user. No token is valid, because the store has no users.
pub fn check_token(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let store = tenure_store::Store::default();
    assert!(
        secrets::verify_token_signature(store.access_control(), &text).is_err(),
        "there are no users"
    );
}
