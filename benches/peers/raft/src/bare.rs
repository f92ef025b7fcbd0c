//! Speed of the disk, with one flush for each record.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Size of a record in bytes, similar to the record in which a node stores one entry.
const RECORD_BYTES: usize = 128;

const TIME: Duration = Duration::from_millis(600);

/// Writes records to a preallocated file and flushes each record, as nodes do. Returns the number
/// of records per second.
pub fn flush_rate(path: &Path) -> f64 {
    fs::create_dir_all(path).expect("a folder for the file");
    let mut file = File::create(path.join("file")).expect("a file");
    file.write_all(&vec![0; 4 << 20]).expect("room on the disk");
    file.seek(SeekFrom::Start(0)).expect("the start of the file");
    file.sync_all().expect("a flush");
    let (started, mut flushes) = (Instant::now(), 0_u32);
    while started.elapsed() < TIME {
        file.write_all(&[7; RECORD_BYTES]).expect("room on the disk");
        file.sync_data().expect("a flush");
        flushes += 1;
        if flushes % 16_384 == 0 {
            file.seek(SeekFrom::Start(0)).expect("the start of the file");
        }
    }
    f64::from(flushes) / started.elapsed().as_secs_f64()
}
