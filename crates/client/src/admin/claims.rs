//! Calls that end or change the claims of other clients: revocations of leases, deletions of keys,
//! and new values of keys.

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::request_op::Request;
use tonic::Code;

use crate::admin::AdminClient;
use crate::error::ClientError;
use crate::requests;

impl AdminClient {
    /// Revokes a lease, which deletes all its keys. Returns false if the lease does not exist. If
    /// an attempt without a response may have revoked the lease, the result is true, although the
    /// lease may have ended before. If the future is dropped, the lease may or may not be revoked.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the lease may have been revoked.
    pub async fn revoke_lease(&self, id: i64) -> Result<bool, ClientError> {
        let request = rpc::LeaseRevokeRequest { id };
        let path = "/etcdserverpb.Lease/LeaseRevoke";
        let mut unknown = 0;
        let response: Result<rpc::LeaseRevokeResponse, _> =
            self.call_counting_unknown(path, request, &mut unknown).await;
        match response {
            Ok(_) => Ok(true),
            Err(ClientError::Rejected { code: Code::NotFound, .. }) => Ok(unknown > 0),
            Err(error) => Err(error),
        }
    }

    /// Returns the keys of a lease; `None` if the lease does not exist. Dropping the future has no
    /// effect.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request.
    pub async fn lease_keys(&self, id: i64) -> Result<Option<Vec<Vec<u8>>>, ClientError> {
        Ok(self.read_lease(id, true).await?.map(|lease| lease.keys))
    }

    /// Deletes a claim: the key of a client that holds or awaits a lock or a leadership. The claim
    /// is identified by `key` and its fencing token `fence`. Returns false if there is no such
    /// claim. If an attempt without a response may have deleted the key, the result is true,
    /// although the claim may have ended before. If the future is dropped, the key may or may not
    /// be deleted.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the key may have been deleted.
    pub async fn delete_lock_claim(&self, key: &[u8], fence: u64) -> Result<bool, ClientError> {
        let delete = rpc::DeleteRangeRequest { key: key.to_vec(), ..Default::default() };
        let mut unknown = 0;
        let delete = Request::RequestDeleteRange(delete);
        Ok(self.change(key, fence, delete, &mut unknown).await? || unknown > 0)
    }

    /// Changes the value of a claim: the key of a client that holds or awaits a lock or a
    /// leadership. The claim is identified by `key` and its fencing token `fence`. The key keeps
    /// its lease. Returns false if there is no such claim. If the future is dropped, the value may
    /// or may not be changed.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within 15 s, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the value may have been changed.
    pub async fn put_lock_claim_value(
        &self,
        key: &[u8],
        fence: u64,
        value: Vec<u8>,
    ) -> Result<bool, ClientError> {
        let put =
            rpc::PutRequest { key: key.to_vec(), value, ignore_lease: true, ..Default::default() };
        self.change(key, fence, Request::RequestPut(put), &mut 0).await
    }

    /// Executes `change` and returns true if `key` was created in the revision `fence`. Otherwise
    /// has no effect and returns false. Adds to `unknown` the number of attempts that failed
    /// although they may have taken effect.
    async fn change(
        &self,
        key: &[u8],
        fence: u64,
        change: Request,
        unknown: &mut u32,
    ) -> Result<bool, ClientError> {
        let request = requests::change_if_created_at_txn(key, fence, change);
        let path = "/etcdserverpb.KV/Txn";
        let response: rpc::TxnResponse = self.call_counting_unknown(path, request, unknown).await?;
        Ok(response.succeeded)
    }
}
