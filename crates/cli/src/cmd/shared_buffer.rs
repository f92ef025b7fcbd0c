//! A trace in memory that outlives its writer.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_trace::{ReadError, Reader, Trace};

/// A buffer in memory; clones share it.
#[derive(Clone, Default)]
pub(crate) struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl SharedBuffer {
    /// Reads the trace in the buffer. Errors name it by `name`.
    pub(crate) fn read(&self, name: &str) -> Result<Trace, ReadError> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = Reader::new(bytes.as_slice(), name)?;
        let header = reader.header().clone();
        let records = reader.by_ref().collect::<Result<_, _>>()?;
        Ok(Trace { header, records, torn: None })
    }
}
