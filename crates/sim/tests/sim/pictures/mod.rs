//! Pictures of the worked examples, and laws about pictures and exports of any run.

mod interchange;
#[path = "../../../../cli/src/cmd/lessons/calls/preset_clocks.rs"]
mod preset_clocks;
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
