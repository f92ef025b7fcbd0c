//! What a member does with bytes that nobody meant to send, for fuzzing: it must not panic, and
//! what it takes for something must be the same when it is written and read again.

use prost::Message;
use tenure_algorithms::agreement::relayed_log::Message as Said;
use tenure_etcd::{etcdserverpb as rpc, tenure, v3electionpb, v3lockpb};

use crate::errand::{Errand, Released, Return, Written};
use crate::{gateway, image, secrets};

fn again<M: Message + Default + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    if let Ok(read) = M::decode(bytes) {
        let written = read.encode_to_vec();
        assert_eq!(M::decode(written.as_slice()).as_ref(), Ok(&read), "a message stays itself");
    }
}

macro_rules! all {
    ($bytes:ident: $($kind:ty),+ $(,)?) => { $(again::<$kind>($bytes);)+ };
}

/// Requests of clients, and what a client is answered.
pub fn messages(bytes: &[u8]) {
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

/// A request over JSON, of the path that the first byte chooses.
pub fn json(bytes: &[u8]) {
    let Some((&which, text)) = bytes.split_first() else { return };
    let (one, two) = (gateway::reread(which, text), gateway::reread(which, text));
    assert_eq!(one, two, "what is read depends on nothing else");
}

/// What members say to each other, and what entries of the log say.
pub fn members(bytes: &[u8]) {
    fn again<T>(bytes: &[u8])
    where
        T: serde::de::DeserializeOwned + serde::Serialize + PartialEq + std::fmt::Debug,
    {
        if let Ok(read) = postcard::from_bytes::<T>(bytes) {
            let written = postcard::to_stdvec(&read).expect("what was read can be written");
            assert_eq!(postcard::from_bytes::<T>(&written).as_ref(), Ok(&read), "it stays itself");
        }
    }
    again::<Said>(bytes);
    again::<Errand>(bytes);
    again::<Return>(bytes);
    again::<Written>(bytes);
    again::<Released>(bytes);
}

/// A snapshot, from another member or from the disk.
pub fn snapshot(bytes: &[u8]) {
    // With the head and without, so that more of them go far.
    let whole = [&[0][..], b"tnstore\x04", bytes].concat();
    for bytes in [bytes, &whole] {
        if let Ok((urls, store)) = image::read(bytes) {
            let read = image::read(&image::write(&urls, &store.snapshot()));
            assert!(read.is_ok_and(|read| read == (urls, store)), "a snapshot stays itself");
        }
    }
}

/// A token of a user.
pub fn token(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let store = tenure_store::Store::default();
    assert!(secrets::read(store.access(), &text).is_err(), "nobody has a token");
}
