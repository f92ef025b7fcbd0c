//! Speed of the disk: one record, one flush.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Size of a record, similar to a node's record of one entry.
const RECORD: usize = 128;

const TIME: Duration = Duration::from_millis(600);

/// Returns the flushes per second, one record at a time, in a preallocated file as nodes have.
pub fn flushes(path: &Path) -> f64 {
    fs::create_dir_all(path).expect("a folder for the file");
    let mut file = File::create(path.join("file")).expect("a file");
    file.write_all(&vec![0; 4 << 20]).expect("room on the disk");
    file.seek(SeekFrom::Start(0)).expect("the start of the file");
    file.sync_all().expect("a flush");
    let (started, mut flushes) = (Instant::now(), 0_u32);
    while started.elapsed() < TIME {
        file.write_all(&[7; RECORD]).expect("room on the disk");
        file.sync_data().expect("a flush");
        flushes += 1;
        if flushes % 16_384 == 0 {
            file.seek(SeekFrom::Start(0)).expect("the start of the file");
        }
    }
    f64::from(flushes) / started.elapsed().as_secs_f64()
}
