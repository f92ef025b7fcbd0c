//! Encoding of requests and responses of the counter. All frames have a fixed size, so that no
//! length needs validation.

use tenure_core::{Fence, ProcessId};
use tenure_trace::ResourceOperation;

/// Length of a request in bytes. A request consists of the operation, the id of the process, the
/// presence of a token, the token and the value.
pub(super) const REQUEST_BYTES: usize = 1 + 4 + 1 + 16 + 8;

/// Length of a response in bytes. A response consists of the acceptance, the value and the highest
/// token.
pub(super) const RESPONSE_BYTES: usize = 1 + 8 + 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterRequest {
    pub(super) by: ProcessId,
    pub(super) operation: ResourceOperation,
    pub(super) fence: Option<Fence>,
    pub(super) value: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterResponse {
    pub(super) accepted: bool,
    pub(super) value: u64,
    pub(super) highest: Fence,
}

impl CounterRequest {
    pub(super) fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut frame = [0; REQUEST_BYTES];
        let Fence(first, second) = self.fence.unwrap_or_default();
        frame[0] = u8::from(self.operation == ResourceOperation::Put);
        frame[1..5].copy_from_slice(&self.by.0.to_be_bytes());
        frame[5] = u8::from(self.fence.is_some());
        frame[6..14].copy_from_slice(&first.to_be_bytes());
        frame[14..22].copy_from_slice(&second.to_be_bytes());
        frame[22..].copy_from_slice(&self.value.to_be_bytes());
        frame
    }

    pub(super) fn decode(frame: &[u8; REQUEST_BYTES]) -> Option<CounterRequest> {
        let operation = match frame[0] {
            0 => ResourceOperation::Get,
            1 => ResourceOperation::Put,
            _ => return None,
        };
        let fence = match frame[5] {
            0 => None,
            1 => Some(Fence(number(frame, 6), number(frame, 14))),
            _ => return None,
        };
        let by = ProcessId(u32::from_be_bytes([frame[1], frame[2], frame[3], frame[4]]));
        Some(CounterRequest { by, operation, fence, value: number(frame, 22) })
    }
}

impl CounterResponse {
    pub(super) fn encode(&self) -> [u8; RESPONSE_BYTES] {
        let mut frame = [0; RESPONSE_BYTES];
        frame[0] = u8::from(self.accepted);
        frame[1..9].copy_from_slice(&self.value.to_be_bytes());
        frame[9..17].copy_from_slice(&self.highest.0.to_be_bytes());
        frame[17..].copy_from_slice(&self.highest.1.to_be_bytes());
        frame
    }

    pub(super) fn decode(frame: &[u8; RESPONSE_BYTES]) -> CounterResponse {
        let highest = Fence(number(frame, 9), number(frame, 17));
        CounterResponse { accepted: frame[0] == 1, value: number(frame, 1), highest }
    }
}

/// Reads a big-endian number of eight bytes at `start`.
fn number(frame: &[u8], start: usize) -> u64 {
    frame[start..start + 8].iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_responses_round_trip() {
        for fence in [None, Some(Fence(1, u64::MAX))] {
            for operation in [ResourceOperation::Get, ResourceOperation::Put] {
                let request =
                    CounterRequest { by: ProcessId(70_000), operation, fence, value: 1 << 40 };
                assert_eq!(CounterRequest::decode(&request.encode()), Some(request));
            }
        }
        for accepted in [false, true] {
            let response = CounterResponse { accepted, value: 3, highest: Fence(u64::MAX, 2) };
            assert_eq!(CounterResponse::decode(&response.encode()), response);
        }
    }

    #[test]
    fn rejects_invalid_requests() {
        let by = ProcessId(0);
        let good = CounterRequest { by, operation: ResourceOperation::Get, fence: None, value: 0 }
            .encode();
        for place in [0, 5] {
            let mut frame = good;
            frame[place] = 2;
            assert_eq!(CounterRequest::decode(&frame), None);
        }
    }
}
