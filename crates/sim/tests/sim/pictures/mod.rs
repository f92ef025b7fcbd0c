//! Pictures of the worked examples, and what holds of the pictures and exports of any run.

#[path = "../../../../cli/src/cmd/lessons/calls/aged.rs"]
mod aged;
mod interchange;
mod stories;

use crate::common::page::Page;
use tenure_trace::{Reader, Trace};

impl Page {
    pub(crate) fn trace(&self) -> Trace {
        let bytes = self.0.lock().unwrap();
        let mut reader = Reader::new(bytes.as_slice(), "memory").unwrap();
        let header = reader.header().clone();
        let records = reader.by_ref().map(Result::unwrap).collect();
        Trace { header, records, torn: None }
    }
}
