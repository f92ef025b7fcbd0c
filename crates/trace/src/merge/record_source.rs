//! Sources from which a merge reads records.

use std::io::BufRead;
use std::vec::IntoIter;

use crate::format::{ReadError, Reader, Record};

/// Result of reading the next record.
#[derive(Debug)]
pub enum NextRecord {
    /// The input has a further record.
    Record(Record),
    /// There is no next record yet, because a file is still being written.
    Later,
    /// The input has ended: there is no further record.
    End,
}

/// A file from which a merge reads records, in order.
pub(crate) trait RecordSource {
    fn next_record(&mut self) -> Result<NextRecord, ReadError>;
}

impl RecordSource for IntoIter<Record> {
    fn next_record(&mut self) -> Result<NextRecord, ReadError> {
        Ok(Iterator::next(self).map_or(NextRecord::End, NextRecord::Record))
    }
}

impl<R: BufRead> RecordSource for Reader<R> {
    fn next_record(&mut self) -> Result<NextRecord, ReadError> {
        Ok(Iterator::next(self).transpose()?.map_or(NextRecord::End, NextRecord::Record))
    }
}
