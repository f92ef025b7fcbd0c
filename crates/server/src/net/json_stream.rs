//! Splits a body into the JSON values that it contains, so that each value can be decoded as soon
//! as it is complete.

use http_body_util::BodyExt;
use hyper::body::Bytes;
use prost::bytes::{Buf, BytesMut};
use tonic::Status;
use tonic::body::Body;

/// Scanner that finds the ends of consecutive JSON values, with or without white space between
/// them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JsonValueScanner {
    depth: usize,
    is_string: bool,
    is_escaped: bool,
    /// Number of bytes received so far of the current value, which is incomplete.
    incomplete_bytes: usize,
}

impl JsonValueScanner {
    /// Scans `bytes` up to the end of the first value, and returns the position after this value.
    /// Returns `None` if no value ends in these bytes. The next call must continue after the
    /// scanned bytes.
    pub(crate) fn scan_to_value_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let at = bytes.iter().position(|byte| self.ends_with(*byte))?;
        Some(at + 1)
    }

    pub(crate) fn incomplete_bytes(&self) -> usize {
        self.incomplete_bytes
    }

    /// Scans the next byte. Returns true if a value ends with this byte.
    ///
    /// Between values, only `{` and `[` begin a value of several bytes. Any other byte is a value
    /// of one byte, which the parser then rejects.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.depth == 0 && byte.is_ascii_whitespace() {
            return false;
        }
        self.incomplete_bytes += 1;
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.is_string => self.is_escaped = true,
            b'"' if self.depth > 0 => self.is_string = !self.is_string,
            _ if self.is_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let is_end = self.depth == 0;
        if is_end {
            self.incomplete_bytes = 0;
        }
        is_end
    }
}

#[derive(Debug)]
pub(crate) struct JsonValueReader {
    body: Body,
    scanner: JsonValueScanner,
    buffer: BytesMut,
    /// Number of bytes at the start of the buffer that were scanned already.
    scanned: usize,
    max_bytes: usize,
}

impl JsonValueReader {
    /// Creates a reader of a body. Each value may have at most `max_bytes` bytes.
    pub(crate) fn new(body: Body, max_bytes: usize) -> Self {
        let (scanner, buffer) = (JsonValueScanner::default(), BytesMut::new());
        JsonValueReader { body, scanner, buffer, scanned: 0, max_bytes }
    }

    /// Returns the next value; `None` at the end of the body.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` if an incomplete value exceeds the maximum length, `InvalidArgument` if
    /// the body ends within a value, or the error of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            if let Some(end) = self.scanner.scan_to_value_end(&self.buffer[self.scanned..]) {
                let value = self.buffer.split_to(self.scanned + end).freeze();
                self.scanned = 0;
                return Ok(Some(value));
            }
            // White space before a value is not kept, because no budget counts it.
            let kept = self.scanner.incomplete_bytes();
            self.buffer.advance(self.buffer.len() - kept);
            self.scanned = kept;
            if self.scanned > self.max_bytes {
                return Err(Status::resource_exhausted("the request is too large"));
            }
            match self.body.frame().await.transpose()? {
                Some(frame) => {
                    let data = frame.into_data().unwrap_or_default();
                    self.buffer.extend_from_slice(&data);
                }
                None if self.scanner.incomplete_bytes() == 0 => return Ok(None),
                None => return Err(Status::invalid_argument("unexpected end of JSON input")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    async fn values(text: &str, size: usize) -> (Vec<String>, Option<String>) {
        let chunks = text.as_bytes().chunks(size).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let frames = chunks.into_iter().map(|it| Ok::<_, Status>(Frame::data(Bytes::from(it))));
        let body = Body::new(StreamBody::new(stream::iter(frames)));
        let (mut values, mut read) = (JsonValueReader::new(body, 40), Vec::new());
        loop {
            match values.next().await {
                Ok(Some(value)) => read.push(String::from_utf8_lossy(&value).trim().to_owned()),
                Ok(None) => return (read, None),
                Err(status) => return (read, Some(status.message().to_owned())),
            }
        }
    }

    #[tokio::test]
    async fn values_are_separated_across_any_frame_boundaries() {
        let all = [r#"{"a":"}{\"\\"}"#, "{}", r#"[{"b":[1,{"c":null}]}]"#, r#"{"d":"["}"#];
        for text in [all.concat(), all.join("\n"), format!(" {}\r\n\t", all.join(" \n"))] {
            for size in [1, 2, 3, 7, 100] {
                assert_eq!(values(&text, size).await, (all.map(str::to_owned).into(), None));
            }
        }
        for empty in ["", " \n"] {
            assert_eq!(values(empty, 1).await, (vec![], None));
        }
    }

    #[tokio::test]
    async fn white_space_is_not_buffered() {
        let blanks = std::iter::repeat_n(Bytes::from(vec![b' '; 1024]), 1024);
        let value = [&b" \n"[..], b"{\"a\"", b": 1", b"}"].map(Bytes::from_static);
        let frames = blanks.clone().chain(value).chain(blanks);
        let frames = frames.map(|data| Ok::<_, Status>(Frame::data(data)));
        let body = Body::new(StreamBody::new(stream::iter(frames)));
        let mut values = JsonValueReader::new(body, 40);
        let value = values.next().await.expect("no error").expect("a value");
        assert_eq!(value, "{\"a\": 1}");
        assert_eq!(values.next().await.expect("no error"), None);
        assert_eq!(values.buffer.len(), 0);
        assert!(values.buffer.capacity() < 64 << 10, "{} bytes", values.buffer.capacity());
    }

    #[tokio::test]
    async fn invalid_value_fails_after_valid_ones() {
        let (read, why) = values("{} {\"a\"", 3).await;
        assert_eq!(
            (read, why.as_deref()),
            (vec!["{}".into()], Some("unexpected end of JSON input"))
        );
        assert_eq!(values("{}x", 3).await, (vec!["{}".into(), "x".into()], None));
        let (read, why) = values(&format!("{{}}{{\"{}\"}}", "a".repeat(50)), 8).await;
        assert_eq!((read, why.as_deref()), (vec!["{}".into()], Some("the request is too large")));
    }
}
