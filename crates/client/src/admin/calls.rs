//! Calls of [`AdminClient`] that concern members, keys, the history of the store and the times of
//! leases, with their requests and responses.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb;

use crate::admin::{AdminClient, RetryPolicy};
use crate::error::ClientError;
use crate::requests::{signed, unsigned};

/// Member of the cluster, as the service lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Identifier of the member.
    pub id: u64,
    /// Name of the member; empty for a member of etcd that was never started.
    pub name: String,
    /// URLs at which the other members reach this member.
    pub peer_urls: Vec<String>,
    /// URLs at which clients reach the member; empty until the member has announced them.
    pub client_urls: Vec<String>,
    /// True if the member has no vote.
    pub is_learner: bool,
}

/// State of one member, as the member itself reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// Identifier of the member that responded.
    pub id: u64,
    /// Version of etcd's API that the member reports.
    pub version: String,
    /// Identifier of the leader; 0 if the member knows none.
    pub leader: u64,
    /// Current term of the member.
    pub term: u64,
    /// Index of the last log entry that the member has applied.
    pub applied_index: u64,
    /// True if the member has no vote.
    pub is_learner: bool,
    /// Problems that the member reports, as texts. For example, the member knows no leader, or its
    /// store is full.
    pub errors: Vec<String>,
    /// Connections to the other members; empty for a member of etcd.
    pub links: Vec<PeerConnectionStatus>,
}

/// Connection of one member to another member, as the first member reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerConnectionStatus {
    /// Identifier of the other member.
    pub id: u64,
    /// True if the connection is established now.
    pub is_connected: bool,
    /// Time at which the last connection was lost, by the clock of the reporting member. `None` if
    /// no connection was lost since the reporting member started.
    pub disconnected_at: Option<SystemTime>,
    /// Time of the last message from the other member, by the clock of the reporting member. It may
    /// be long ago, because members send nothing if they have no message for each other. `None` if
    /// the time is unknown.
    pub last_contact_at: Option<SystemTime>,
}

/// Request to read a range of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeQuery {
    /// First key of the range.
    pub key: Vec<u8>,
    /// Exclusive end of the range. Empty to read only `key`; `\0` to read all keys from `key` on.
    pub range_end: Vec<u8>,
    /// Upper bound on the number of keys in the response; 0 for no limit.
    pub limit: i64,
    /// Revision at which to read; 0 for the current revision.
    pub revision: u64,
    /// True if the response shall contain only keys, without values.
    pub keys_only: bool,
    /// True if the member may respond with its own applied state, without a quorum.
    pub serializable: bool,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// Name of the key.
    pub key: Vec<u8>,
    /// Value of the key; empty if the query asked for keys only.
    pub value: Vec<u8>,
    /// Revision in which the key was created.
    pub create_revision: u64,
    /// Revision of the last change of the key.
    pub mod_revision: u64,
    /// ID of the key's lease; 0 if the key has no lease. When the lease ends, the service deletes
    /// the key.
    pub lease: i64,
}

/// Response to a [`RangeQuery`]: the keys that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangePage {
    /// Revision of the store when the member served the read. It may be higher than
    /// [`RangeQuery::revision`].
    pub revision: u64,
    /// The keys, in ascending order.
    pub keys: Vec<KeyValue>,
    /// True if the range contains more keys than [`RangeQuery::limit`] allowed.
    pub has_more: bool,
}

impl AdminClient {
    /// Returns the members. If `linearizable` is false, the result may be outdated: the member that
    /// responds reads its own state, without a quorum. Dropping the future has no effect.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request.
    pub async fn members(&self, linearizable: bool) -> Result<Vec<Member>, ClientError> {
        let request = rpc::MemberListRequest { linearizable };
        let path = "/etcdserverpb.Cluster/MemberList";
        let response: rpc::MemberListResponse =
            self.call(path, request, RetryPolicy::Hedge).await?;
        Ok(members(response.members))
    }

    /// Adds the member with this peer URL to the cluster, and returns all members. If `is_learner`
    /// is true, the new member has no vote until [`AdminClient::promote_member`]. If the future is
    /// dropped, the member may or may not be added.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the member may have been added. If the client repeats a failed
    /// attempt, the result may be [`ClientError::Rejected`] although the first attempt added the
    /// member.
    pub async fn add_member(
        &self,
        peer_url: &str,
        is_learner: bool,
    ) -> Result<Vec<Member>, ClientError> {
        let request = rpc::MemberAddRequest { peer_ur_ls: vec![peer_url.to_owned()], is_learner };
        let path = "/etcdserverpb.Cluster/MemberAdd";
        let is_added = |it: &Member| {
            it.is_learner == is_learner && it.peer_urls.iter().any(|it| it == peer_url)
        };
        let is_done = |members: &[Member]| members.iter().any(is_added);
        let members_of = |response: rpc::MemberAddResponse| response.members;
        self.change_members(path, request, members_of, is_done).await
    }

    /// Removes the member with the identifier `id` from the cluster, and returns the remaining
    /// members. If the future is dropped, the member may or may not be removed.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the member may have been removed. If the client repeats a
    /// failed attempt, the result may be [`ClientError::Rejected`] although the first attempt
    /// removed the member.
    pub async fn remove_member(&self, id: u64) -> Result<Vec<Member>, ClientError> {
        let path = "/etcdserverpb.Cluster/MemberRemove";
        let request = rpc::MemberRemoveRequest { id };
        let is_done = |members: &[Member]| members.iter().all(|it| it.id != id);
        let members_of = |response: rpc::MemberRemoveResponse| response.members;
        self.change_members(path, request, members_of, is_done).await
    }

    /// Gives a vote to the learner with the identifier `id`, and returns all members. If the future
    /// is dropped, the learner may or may not have a vote.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the learner may have a vote. If the client repeats a failed
    /// attempt, the result may be [`ClientError::Rejected`] although the first attempt gave the
    /// vote.
    pub async fn promote_member(&self, id: u64) -> Result<Vec<Member>, ClientError> {
        let path = "/etcdserverpb.Cluster/MemberPromote";
        let request = rpc::MemberPromoteRequest { id };
        let is_done = |members: &[Member]| members.iter().any(|it| it.id == id && !it.is_learner);
        let members_of = |response: rpc::MemberPromoteResponse| response.members;
        self.change_members(path, request, members_of, is_done).await
    }

    /// Sends a request to change the members, and returns the members after the change.
    ///
    /// An attempt without a response may have made the change. The service then rejects the next
    /// attempt, for example because the member is already removed. Therefore, if the service
    /// rejects a repeated request, this function reads the members. It succeeds if `is_done`
    /// returns true for them.
    async fn change_members<Response: Message + Default>(
        &self,
        path: &'static str,
        request: impl Message,
        members_of: impl FnOnce(Response) -> Vec<rpc::Member>,
        is_done: impl Fn(&[Member]) -> bool,
    ) -> Result<Vec<Member>, ClientError> {
        let mut unknown = 0;
        match self.call_counting_unknown(path, request, &mut unknown).await {
            Ok(response) => Ok(members(members_of(response))),
            Err(rejection @ ClientError::Rejected { .. }) if unknown > 0 => {
                let members = self.members(true).await?;
                if is_done(&members) { Ok(members) } else { Err(rejection) }
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the state of the first member that responds. Dropping the future has no effect.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request.
    pub async fn status(&self) -> Result<MemberStatus, ClientError> {
        let path = "/etcdserverpb.Maintenance/Status";
        let response: rpc::StatusResponse =
            self.call(path, rpc::StatusRequest {}, RetryPolicy::Hedge).await?;
        Ok(MemberStatus {
            id: response.header.map_or(0, |header| header.member_id),
            version: response.version,
            leader: response.leader,
            term: response.raft_term,
            // etcd reports this index since version 3.4.
            applied_index: response.raft_applied_index,
            is_learner: response.is_learner,
            errors: response.errors,
            links: response.links.iter().map(link).collect(),
        })
    }

    /// Reads the keys of a range. Dropping the future has no effect.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request.
    pub async fn range(&self, query: RangeQuery) -> Result<RangePage, ClientError> {
        let request = rpc::RangeRequest {
            key: query.key,
            range_end: query.range_end,
            limit: query.limit,
            revision: signed(query.revision),
            keys_only: query.keys_only,
            serializable: query.serializable,
            ..Default::default()
        };
        let response: rpc::RangeResponse =
            self.call("/etcdserverpb.KV/Range", request, RetryPolicy::Hedge).await?;
        let revision = response.header.map_or(0, |header| unsigned(header.revision));
        let keys = response.kvs.into_iter().map(key_of).collect();
        Ok(RangePage { revision, keys, has_more: response.more })
    }

    /// Puts a value, and returns the revision of the change. The client does not send the request
    /// again after a failure, except if a member rejects the token of the user. If the future is
    /// dropped, the value may or may not be put.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the value may have been put.
    pub async fn put(&self, key: Vec<u8>, value: Vec<u8>) -> Result<u64, ClientError> {
        let request = rpc::PutRequest { key, value, ..Default::default() };
        let response: rpc::PutResponse =
            self.call("/etcdserverpb.KV/Put", request, RetryPolicy::Never).await?;
        Ok(response.header.map_or(0, |header| unsigned(header.revision)))
    }

    /// Removes the history of the store before `revision`, so that older revisions cannot be read
    /// any more. If the future is dropped, the history may or may not be removed.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the history may have been removed. If the client repeats a
    /// failed attempt, the result may be [`ClientError::Rejected`] although the first attempt
    /// removed the history.
    pub async fn compact(&self, revision: u64) -> Result<(), ClientError> {
        let request = rpc::CompactionRequest { revision: signed(revision), ..Default::default() };
        let path = "/etcdserverpb.KV/Compact";
        let mut unknown = 0;
        let compacted: Result<rpc::CompactionResponse, _> =
            self.call_counting_unknown(path, request, &mut unknown).await;
        match compacted {
            // An attempt without a response has removed the history.
            Err(ClientError::Rejected { message, .. })
                if unknown > 0 && message.contains("has been compacted") =>
            {
                Ok(())
            }
            compacted => compacted.map(drop),
        }
    }

    /// Returns two times of a lease in seconds: first the remaining time, then the granted time to
    /// live. Returns `None` if the lease does not exist. Dropping the future has no effect.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request.
    pub async fn lease_ttls(&self, id: i64) -> Result<Option<(i64, i64)>, ClientError> {
        Ok(self.read_lease(id, false).await?.map(|lease| (lease.ttl, lease.granted_ttl)))
    }

    /// Reads the state of a lease. If `with_keys` is true, the result contains the keys of the
    /// lease. Returns `None` if the lease does not exist.
    pub(super) async fn read_lease(
        &self,
        id: i64,
        with_keys: bool,
    ) -> Result<Option<rpc::LeaseTimeToLiveResponse>, ClientError> {
        let request = rpc::LeaseTimeToLiveRequest { id, keys: with_keys };
        let path = "/etcdserverpb.Lease/LeaseTimeToLive";
        let lease: rpc::LeaseTimeToLiveResponse =
            self.call(path, request, RetryPolicy::Hedge).await?;
        Ok(Some(lease).filter(|lease| lease.ttl >= 0 && lease.granted_ttl > 0))
    }
}

fn link(link: &rpc::MemberLink) -> PeerConnectionStatus {
    let time = |millis: i64| {
        let millis = u64::try_from(millis).ok().filter(|millis| *millis > 0)?;
        UNIX_EPOCH.checked_add(Duration::from_millis(millis))
    };
    PeerConnectionStatus {
        id: link.id,
        is_connected: link.is_connected,
        disconnected_at: time(link.disconnected_at),
        last_contact_at: time(link.last_contact_at),
    }
}

fn members(members: Vec<rpc::Member>) -> Vec<Member> {
    let member = |it: rpc::Member| Member {
        id: it.id,
        name: it.name,
        peer_urls: it.peer_ur_ls,
        client_urls: it.client_ur_ls,
        is_learner: it.is_learner,
    };
    members.into_iter().map(member).collect()
}

fn key_of(kv: mvccpb::KeyValue) -> KeyValue {
    KeyValue {
        key: kv.key,
        value: kv.value,
        create_revision: unsigned(kv.create_revision),
        mod_revision: unsigned(kv.mod_revision),
        lease: kv.lease,
    }
}
