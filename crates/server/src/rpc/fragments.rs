//! Splits large responses of watches.

use prost::Message;
use tenure_etcd::etcdserverpb::WatchResponse;

/// Number of the field `events` of a response.
const EVENTS_TAG: u32 = 11;

/// Splits a response into fragments of less than `max_bytes` bytes each. A single event is never
/// split, so a fragment with one large event may be longer. All fragments except the last are
/// marked, as at etcd.
pub(crate) fn fragments(mut response: WatchResponse, max_bytes: usize) -> Vec<WatchResponse> {
    if response.encoded_len() < max_bytes {
        return vec![response];
    }
    let events = std::mem::take(&mut response.events);
    let empty = WatchResponse { fragment: true, ..response };
    let (mut fragments, mut last, mut bytes) = (Vec::new(), empty.clone(), empty.encoded_len());
    for event in events {
        let event_bytes = prost::encoding::message::encoded_len(EVENTS_TAG, &event);
        if !last.events.is_empty() && bytes + event_bytes >= max_bytes {
            fragments.push(std::mem::replace(&mut last, empty.clone()));
            bytes = empty.encoded_len();
        }
        bytes += event_bytes;
        last.events.push(event);
    }
    last.fragment = false;
    fragments.push(last);
    fragments
}

#[cfg(test)]
mod tests {
    use tenure_etcd::mvccpb::{Event, KeyValue};

    use super::*;

    /// Returns a response with one event per length. The length is that of the value.
    fn response(lengths: &[usize]) -> WatchResponse {
        let event = |length: &usize| {
            let kv = KeyValue { value: vec![1; *length], ..KeyValue::default() };
            Event { kv: Some(kv), ..Event::default() }
        };
        let events = lengths.iter().map(event).collect();
        WatchResponse { watch_id: 7, events, ..WatchResponse::default() }
    }

    #[test]
    fn fragments_are_smaller_than_the_limit_and_keep_the_order() {
        for lengths in [&[][..], &[5], &[500], &[5, 500, 5], &[40; 9], &[99, 1, 99, 1, 99]] {
            let whole = response(lengths);
            let parts = fragments(whole.clone(), 120);
            let events: Vec<Event> = parts.iter().flat_map(|it| it.events.clone()).collect();
            assert_eq!(events, whole.events);
            let (last, others) = parts.split_last().expect("a response");
            assert!(!last.fragment && others.iter().all(|it| it.fragment));
            for part in &parts {
                assert!(part.encoded_len() < 120 || part.events.len() == 1, "{lengths:?}");
                assert_eq!(part.watch_id, 7);
            }
        }
        assert_eq!(fragments(response(&[40; 9]), 120).len(), 5);
        assert_eq!(fragments(response(&[40; 9]), usize::MAX).len(), 1);
    }
}
