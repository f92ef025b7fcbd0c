//! The read/write lock of etcd's library for Go (`RWMutex` of the package `recipe`). To acquire the
//! lock, a client creates a unique key below `NAME/read` or `NAME/write`. It then waits for the
//! deletion of the latest earlier key that conflicts with its own key. To release the lock, it
//! deletes its key.

use std::time::{SystemTime, UNIX_EPOCH};

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use tenure_etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use tenure_etcd::etcdserverpb::request_op::Request;
use tonic::Status;

use super::{RANGE, Recipe, TXN, ask};

impl Recipe {
    /// Acquires the read/write lock, as the writer or as a reader, and releases it.
    pub async fn read_write_cycle(&mut self, is_writer: bool) -> Result<(), Status> {
        let (key, own) = self.create_unique(if is_writer { "write" } else { "read" }).await?;
        // A writer waits for all earlier keys, and a reader only for the earlier keys of writers.
        let prefix = match is_writer {
            true => format!("{}/", self.name),
            false => format!("{}/write", self.name),
        };
        loop {
            let ahead: rpc::RangeResponse =
                ask(&self.channel, RANGE, latest_before(&prefix, own)).await?;
            let Some(ahead) = ahead.kvs.into_iter().next() else { break };
            self.wait_deleted(ahead.key, own).await?;
        }
        let request = rpc::DeleteRangeRequest { key, ..Default::default() };
        let path = "/etcdserverpb.KV/DeleteRange";
        let _: rpc::DeleteRangeResponse = ask(&self.channel, path, request).await?;
        Ok(())
    }

    /// Creates a key whose last segment is the current time. Returns the key and its revision.
    async fn create_unique(&self, folder: &str) -> Result<(Vec<u8>, i64), Status> {
        loop {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let key = format!("{}/{folder}/{}", self.name, now.as_nanos()).into_bytes();
            let put = rpc::PutRequest { key: key.clone(), lease: self.lease, ..Default::default() };
            let absent = rpc::Compare {
                result: CompareResult::Equal.into(),
                target: CompareTarget::Version.into(),
                key: key.clone(),
                range_end: Vec::new(),
                target_union: Some(TargetUnion::Version(0)),
            };
            let put = rpc::RequestOp { request: Some(Request::RequestPut(put)) };
            let request =
                rpc::TxnRequest { compare: vec![absent], success: vec![put], failure: Vec::new() };
            let answer: rpc::TxnResponse = ask(&self.channel, TXN, request).await?;
            if answer.succeeded {
                return Ok((key, answer.header.map_or(0, |header| header.revision)));
            }
        }
    }
}

/// Returns the request for the latest key with this prefix that was changed before `own`.
fn latest_before(prefix: &str, own: i64) -> rpc::RangeRequest {
    let mut range_end = prefix.as_bytes().to_vec();
    // A prefix ends in an ASCII character, so its last byte can be incremented.
    if let Some(last) = range_end.last_mut() {
        *last += 1;
    }
    rpc::RangeRequest {
        key: prefix.as_bytes().to_vec(),
        range_end,
        limit: 1,
        sort_order: SortOrder::Descend.into(),
        sort_target: SortTarget::Mod.into(),
        max_mod_revision: own - 1,
        ..Default::default()
    }
}
