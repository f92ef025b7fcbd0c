use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::format::{Header, ReadError, Reader, segment};
use crate::merge::{Feed, LOOK_AHEAD, MergeError, Merging, Next, Seams, common_header};

/// The traces of a run in one order, while they are written.
///
/// A file may be in several [parts](crate::Segments). What happened is told a second later, and
/// whatever it is the effect of before it, however long that takes its writer.
pub struct Follow {
    header: Header,
    merging: Merging<Part>,
    empty: Vec<PathBuf>,
}

impl Follow {
    /// Follows the traces at `paths`, those that there are, until nothing is added any more to any
    /// of them, which `over` says.
    ///
    /// # Errors
    ///
    /// [`MergeError`]; the files are only read.
    pub fn open(paths: &[PathBuf], over: &Arc<AtomicBool>) -> Result<Self, MergeError> {
        let (mut parts, mut empty) = (Vec::new(), Vec::new());
        for path in paths {
            match Reader::open(path) {
                Ok(reader) => parts.push(Part::new(path, reader, over)),
                Err(ReadError::Empty { path }) => empty.push(path),
                Err(error) => return Err(MergeError::Read(error)),
            }
        }
        let header = common_header(parts.iter().map(|part| part.reader.header()))?;
        let feeds = parts.into_iter().map(|part| (part.reader.header().source, part));
        Ok(Follow { header, merging: Merging::new(feeds, LOOK_AHEAD), empty })
    }

    /// The header of the first node (or of the first trace), for all.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What happened next, as far as it is written.
    ///
    /// # Errors
    ///
    /// [`ReadError`]; nothing more can be told then.
    pub fn read_next(&mut self) -> Result<Next, ReadError> {
        self.merging.next()
    }

    /// The files that were read to their ends since this was asked, and are not the last of their
    /// traces, each with the number of its trace in the order in which they were given.
    pub fn finished(&mut self) -> Vec<(usize, PathBuf)> {
        let parts = self.merging.feeds_mut().enumerate();
        parts.flat_map(|(place, part)| part.finished.drain(..).map(move |it| (place, it))).collect()
    }

    /// What was found where the files were put together, known in the end.
    pub fn seams(&self) -> Seams {
        let mut seams = self.merging.seams();
        seams.torn = self.merging.feeds().filter_map(Part::torn).collect();
        Seams { empty: self.empty.clone(), ..seams }
    }

    /// The most records and messages that were ever held at once, of all files together.
    pub fn most_held(&self) -> usize {
        self.merging.most_held()
    }
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow").field("header", &self.header).finish_non_exhaustive()
    }
}

/// The part of a trace that is read now.
struct Part {
    path: PathBuf,
    number: u64,
    reader: Reader,
    finished: Vec<PathBuf>,
    over: Arc<AtomicBool>,
}

impl Part {
    fn new(path: &Path, reader: Reader, over: &Arc<AtomicBool>) -> Self {
        let reader = reader.skipping_contents();
        Part { path: path.into(), number: 1, reader, finished: Vec::new(), over: over.clone() }
    }

    fn torn(&self) -> Option<PathBuf> {
        self.reader.torn().then(|| segment(&self.path, self.number))
    }

    /// Goes on to the next part, if there is one: then nothing is added to this one any more.
    fn turn(&mut self) -> Result<bool, ReadError> {
        match Reader::open(segment(&self.path, self.number + 1)) {
            Ok(reader) => {
                self.reader = reader.skipping_contents();
                self.finished.push(segment(&self.path, self.number));
                self.number += 1;
                Ok(true)
            }
            // It is not there yet, or has no header yet.
            Err(ReadError::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(false)
            }
            Err(ReadError::Empty { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Feed for Part {
    fn next(&mut self) -> Result<Next, ReadError> {
        // Asked before anything is read: what is written by then is read now.
        let over = self.over.load(Ordering::Acquire);
        loop {
            if let Some(record) = self.reader.poll()? {
                return Ok(Next::Record(record));
            }
            let there = segment(&self.path, self.number + 1).exists();
            // What was written before the next part was begun.
            if there && let Some(record) = self.reader.poll()? {
                return Ok(Next::Record(record));
            }
            if there && self.turn()? {
                continue;
            }
            if !over {
                return Ok(Next::Later);
            }
            return Feed::next(&mut self.reader);
        }
    }
}
