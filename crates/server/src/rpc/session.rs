//! Runs the transactions of a client of Tenure on one stream. The stream costs less than a separate
//! call for each transaction.

use futures_util::{Stream, StreamExt};
use hyper::body::Bytes;
use tenure_etcd::etcdserverpb::TxnRequest;
use tenure_etcd::frames::MessageStream;
use tenure_etcd::tenure::Transacted;
use tonic::{Response, Status};

use super::kv;
use crate::auth::caller::Caller;
use crate::net::response_budget::SMALL_RESPONSE_BYTES;
use crate::rpc::error::RpcError;

const TRANSACT: &str = "/tenure.Session/Transact";

const MAX_CONCURRENT_TXNS: usize = 64;

/// Executes transactions until the client ends the stream or the member shuts down. The member
/// still responds to the transactions that it received before the end. The responses have the order
/// of the requests.
pub(crate) fn transact(
    caller: Caller,
    requests: MessageStream<TxnRequest>,
) -> impl Stream<Item = Result<Transacted, Status>> + Send + 'static {
    let requests = requests.take_until(caller.connections.wait_until_close_of_all_requested());
    let transacted = requests.map(move |request| {
        let caller = caller.clone();
        async move {
            let request = request?;
            let done = match caller.check_authenticated() {
                Ok(()) => kv::transact(caller.clone(), request).await,
                Err(error) => Err(error),
            };
            Ok(done.map_or_else(|error| rejected(&caller, &error), to_message))
        }
    });
    transacted.buffered(MAX_CONCURRENT_TXNS)
}

/// Converts the response of a transaction to a message of the stream. If the response exceeds
/// [`SMALL_RESPONSE_BYTES`], the message only states that it is too long, because the response
/// budget would not count it while it waits on the stream.
fn to_message(response: Response<Bytes>) -> Transacted {
    let response = response.into_inner();
    match response.len() <= SMALL_RESPONSE_BYTES {
        true => Transacted { answer: response, ..Transacted::default() },
        false => Transacted { is_too_long: true, ..Transacted::default() },
    }
}

/// Returns a message with the error of a transaction. Counts and logs the error as for a unary
/// call.
fn rejected(caller: &Caller, error: &RpcError) -> Transacted {
    let status = caller.record_rejection(TRANSACT, error);
    let (code, message) = (status.code().into(), status.message().to_owned());
    Transacted { code, message, ..Transacted::default() }
}

#[cfg(test)]
mod tests {
    use tenure_etcd::etcdserverpb::request_op::Request;
    use tenure_etcd::etcdserverpb::{PutRequest, RangeRequest, RequestOp, TxnResponse};

    use super::*;
    use crate::test_member::{TestCall, TestMember};

    fn txn(request: Request) -> TxnRequest {
        let success = vec![RequestOp { request: Some(request) }];
        TxnRequest { success, ..TxnRequest::default() }
    }

    fn put(key: &str, value: Vec<u8>, lease: i64) -> TxnRequest {
        let put = PutRequest { key: key.into(), value, lease, ..PutRequest::default() };
        txn(Request::RequestPut(put))
    }

    fn read(key: &str) -> TxnRequest {
        let range = RangeRequest { key: key.into(), ..RangeRequest::default() };
        txn(Request::RequestRange(range))
    }

    /// Returns the revision in the next response. If the response is an error, returns its code and
    /// its message.
    async fn next(call: &mut TestCall<Transacted>) -> Result<i64, (i32, String)> {
        let response = call.next_response().await.expect("no error").expect("a response");
        assert!(!response.is_too_long);
        match response.code {
            0 => {
                let response: TxnResponse =
                    prost::Message::decode(response.answer).expect("a response");
                Ok(response.header.expect("a header").revision)
            }
            code => Err((code, response.message)),
        }
    }

    #[tokio::test]
    async fn transactions_are_answered_in_order_despite_failures() {
        let member = TestMember::start();
        let mut call = member.call(TRANSACT).await;
        for request in [put("a", Vec::new(), 0), put("b", Vec::new(), 7), put("c", Vec::new(), 0)] {
            call.send(&request).await;
        }
        let first = next(&mut call).await;
        let rejected = Err((5, "etcdserver: requested lease not found".to_owned()));
        assert_eq!(next(&mut call).await, rejected);
        // All transactions wait for a leader, so their order is not determined.
        let mut done = [first, next(&mut call).await];
        done.sort_unstable();
        assert_eq!(done, [Ok(2), Ok(3)]);
        assert_eq!(member.member.rejections.counts_by_code().collect::<Vec<_>>(), [(5, 1)]);
        call.end_requests();
        assert!(call.next_response().await.expect("no error").is_none());
    }

    #[tokio::test]
    async fn long_response_is_replaced_by_a_flag() {
        let member = TestMember::start();
        let mut call = member.call(TRANSACT).await;
        call.send(&put("a", vec![0; SMALL_RESPONSE_BYTES], 0)).await;
        assert_eq!(next(&mut call).await, Ok(2));
        call.send(&read("a")).await;
        let response = call.next_response().await.expect("no error").expect("a response");
        let expected = Transacted { is_too_long: true, ..Transacted::default() };
        assert_eq!(response, expected);
        call.send(&read("b")).await;
        assert_eq!(next(&mut call).await, Ok(2));
    }

    #[tokio::test]
    async fn shutdown_answers_pending_transactions() {
        let member = TestMember::start();
        let mut call = member.call(TRANSACT).await;
        call.send(&put("a", Vec::new(), 0)).await;
        assert_eq!(next(&mut call).await, Ok(2));
        member.member.connections.request_close_of_all();
        assert!(call.next_response().await.expect("no error").is_none());
    }
}
