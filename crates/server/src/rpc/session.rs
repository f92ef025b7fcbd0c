//! What a client of Tenure asks on one stream, instead of by a call each.

use futures_util::{Stream, StreamExt};
use hyper::body::Bytes;
use tenure_etcd::etcdserverpb::TxnRequest;
use tenure_etcd::frames::Messages;
use tenure_etcd::tenure::Transacted;
use tonic::{Response, Status};

use super::kv;
use crate::budget::SMALL;
use crate::caller::Caller;
use crate::router::described;

/// How many transactions of one stream are under way at a time.
const AT_ONCE: usize = 64;

/// Transactions, until the client has none or the member leaves. What was taken by then is
/// answered.
pub(crate) fn transact(
    member: Caller,
    asked: Messages<TxnRequest>,
) -> impl Stream<Item = Result<Transacted, Status>> + Send + 'static {
    let asked = asked.take_until(member.visits.ended());
    let transacted = asked.map(move |asked| {
        let member = member.clone();
        async move {
            let asked = asked?;
            let done = match member.is_named() {
                Ok(()) => kv::transact(member.clone(), asked).await,
                Err(refusal) => Err(refusal),
            };
            Ok(done.map_or_else(|refusal| refused(&member, &refusal.into()), told))
        }
    });
    transacted.buffered(AT_ONCE)
}

/// An answer, if it may wait on a stream until it is taken.
fn told(answer: Response<Bytes>) -> Transacted {
    let answer = answer.into_inner();
    match answer.len() <= SMALL {
        true => Transacted { answer, ..Transacted::default() },
        false => Transacted { is_too_long: true, ..Transacted::default() },
    }
}

/// It is counted and told as if it had been a call.
fn refused(member: &Caller, status: &Status) -> Transacted {
    member.refusals.note(status.code());
    member.refusals.tell(status, &described(None, member.name()), "/tenure.Session/Transact");
    let (code, message) = (status.code().into(), status.message().to_owned());
    Transacted { code, message, ..Transacted::default() }
}

#[cfg(test)]
mod tests {
    use tenure_etcd::etcdserverpb::request_op::Request;
    use tenure_etcd::etcdserverpb::{PutRequest, RangeRequest, RequestOp, TxnResponse};

    use super::*;
    use crate::alone::{Alone, Call};

    const TRANSACT: &str = "/tenure.Session/Transact";

    fn txn(request: Request) -> TxnRequest {
        let success = vec![RequestOp { request: Some(request) }];
        TxnRequest { success, ..TxnRequest::default() }
    }

    fn put(key: &str, value: Vec<u8>, lease: i64) -> TxnRequest {
        let put = PutRequest { key: key.into(), value, lease, ..PutRequest::default() };
        txn(Request::RequestPut(put))
    }

    fn look(key: &str) -> TxnRequest {
        let range = RangeRequest { key: key.into(), ..RangeRequest::default() };
        txn(Request::RequestRange(range))
    }

    /// What is answered next: in which revision, or by which code and words.
    async fn next(call: &mut Call<Transacted>) -> Result<i64, (i32, String)> {
        let told = call.next().await.expect("no error").expect("an answer");
        assert!(!told.is_too_long);
        match told.code {
            0 => {
                let answer: TxnResponse = prost::Message::decode(told.answer).expect("an answer");
                Ok(answer.header.expect("a header").revision)
            }
            code => Err((code, told.message)),
        }
    }

    #[tokio::test]
    async fn each_is_answered_in_turn_whatever_becomes_of_the_others() {
        let alone = Alone::start();
        let mut call = alone.call(TRANSACT).await;
        for asked in [put("a", Vec::new(), 0), put("b", Vec::new(), 7), put("c", Vec::new(), 0)] {
            call.ask(&asked).await;
        }
        let first = next(&mut call).await;
        let refused = Err((5, "etcdserver: requested lease not found".to_owned()));
        assert_eq!(next(&mut call).await, refused);
        // They are done in any order, as all of them wait until somebody leads.
        let mut done = [first, next(&mut call).await];
        done.sort_unstable();
        assert_eq!(done, [Ok(2), Ok(3)]);
        assert_eq!(alone.member.refusals.counts().collect::<Vec<_>>(), [(5, 1)]);
        call.end();
        assert!(call.next().await.expect("no error").is_none());
    }

    #[tokio::test]
    async fn what_is_too_long_is_done_and_not_told() {
        let alone = Alone::start();
        let mut call = alone.call(TRANSACT).await;
        call.ask(&put("a", vec![0; SMALL], 0)).await;
        assert_eq!(next(&mut call).await, Ok(2));
        call.ask(&look("a")).await;
        let told = call.next().await.expect("no error").expect("an answer");
        let expected = Transacted { is_too_long: true, ..Transacted::default() };
        assert_eq!(told, expected);
        call.ask(&look("b")).await;
        assert_eq!(next(&mut call).await, Ok(2));
    }

    #[tokio::test]
    async fn a_member_that_leaves_answers_what_it_has_taken_and_ends() {
        let alone = Alone::start();
        let mut call = alone.call(TRANSACT).await;
        call.ask(&put("a", Vec::new(), 0)).await;
        assert_eq!(next(&mut call).await, Ok(2));
        alone.member.visits.end();
        assert!(call.next().await.expect("no error").is_none());
    }
}
