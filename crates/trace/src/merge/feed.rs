//! Where records come from.

use std::io::BufRead;
use std::vec::IntoIter;

use crate::format::{ReadError, Reader, Record};

/// What a file has to say next.
#[derive(Debug)]
pub enum Next {
    /// This.
    Record(Record),
    /// Nothing yet: it is still being written.
    Later,
    /// Nothing any more.
    End,
}

/// The records of a file, in order.
pub(crate) trait Feed {
    fn next(&mut self) -> Result<Next, ReadError>;
}

impl Feed for IntoIter<Record> {
    fn next(&mut self) -> Result<Next, ReadError> {
        Ok(Iterator::next(self).map_or(Next::End, Next::Record))
    }
}

impl<R: BufRead> Feed for Reader<R> {
    fn next(&mut self) -> Result<Next, ReadError> {
        Ok(Iterator::next(self).transpose()?.map_or(Next::End, Next::Record))
    }
}
