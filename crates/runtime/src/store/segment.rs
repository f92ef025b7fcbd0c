//! The bytes of a segment: changes, one record each, in a file of zeros that was made before.
//!
//! A file whose length and blocks are settled costs one flush of data a record and none of the
//! file system's own books. What a crash leaves of the last record is then told apart from damage:
//! a record that was never finished has a part that is still zero (its last byte never is one), and
//! nothing comes after it.

use tenure_core::ProcessId;

use super::image::{Damage, Owner};

/// The bytes that open every segment, whatever its version.
const MAGIC: [u8; 8] = *b"TENCHANG";

/// The version of segments that this build writes: of the state file that first had some.
const VERSION: u16 = 3;

/// Records begin at multiples of this.
const ALIGNED: usize = 8;

/// What is before the content of a record: its number, its length, and the checksum of both.
const HEAD: usize = 16;

/// What is behind it: the checksum of head and content, and a byte that is not zero.
const TAIL: usize = 5;

/// The last byte of a record, and the first of its number: neither is ever zero.
const MARK: u8 = 0xA5;

/// A disk writes so many bytes or none of them.
const SECTOR: usize = 512;

/// What a segment says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heading {
    /// Whose it is.
    pub(super) owner: Owner,
    /// Which one it is.
    pub(super) segment: u64,
    /// The number of its first record.
    pub(super) first: u64,
}

impl Heading {
    /// The bytes before the first record.
    ///
    /// # Panics
    ///
    /// When the name of the cluster is longer than 65 535 bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let cluster = self.owner.cluster.as_bytes();
        let length = u16::try_from(cluster.len()).expect("a cluster has a short name");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.owner.process.0.to_le_bytes());
        bytes.extend_from_slice(&self.owner.group_size.to_le_bytes());
        bytes.extend_from_slice(&self.segment.to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(cluster);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(ALIGNED), 0);
        bytes
    }

    fn decode(file: &[u8]) -> Result<(Heading, usize), Damage> {
        let torn = Damage::Torn { length: file.len() };
        if !file.starts_with(&MAGIC) {
            return Err(Damage::Foreign);
        }
        let number = |at: usize, length: usize| -> Result<u64, Damage> {
            let mut bytes = [0; 8];
            bytes[..length].copy_from_slice(file.get(at..at + length).ok_or(torn)?);
            Ok(u64::from_le_bytes(bytes))
        };
        let found = u16::try_from(number(8, 2)?).expect("two bytes");
        if found > VERSION {
            return Err(Damage::NewerVersion { found });
        }
        let small = |at| number(at, 4).map(|it| u32::try_from(it).expect("four bytes"));
        let end = 36 + usize::try_from(number(10, 2)?).expect("two bytes");
        let content = file.get(..end).ok_or(torn)?;
        if u64::from(crc32c::crc32c(content)) != number(end, 4)? {
            return Err(Damage::Checksum);
        }
        let cluster =
            String::from_utf8(content[36..].to_vec()).map_err(|_| Damage::Inconsistent)?;
        let owner = Owner { cluster, process: ProcessId(small(12)?), group_size: small(16)? };
        let heading = Heading { owner, segment: number(20, 8)?, first: number(28, 8)? };
        Ok((heading, (end + 4).next_multiple_of(ALIGNED)))
    }
}

/// How many bytes a record takes, with what fills it up.
pub(super) fn taken(content: usize) -> usize {
    (HEAD + content + TAIL).next_multiple_of(ALIGNED)
}

/// The bytes of a record.
///
/// # Panics
///
/// When a change has 4 GiB or more.
pub(super) fn record(number: u64, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("a change has less than 4 GiB");
    let mut bytes = Vec::with_capacity(taken(content.len()));
    bytes.extend_from_slice(&marked(number).to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes.push(MARK);
    bytes.resize(taken(content.len()), 0);
    bytes
}

fn marked(number: u64) -> u64 {
    number | u64::from(MARK) << 56
}

/// What was read of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) heading: Heading,
    /// The changes, in order.
    pub(super) changes: Vec<Vec<u8>>,
}

/// Reads a segment. The record at its end may be torn, and is left out then, where `is_last` says
/// that no segment comes after it.
///
/// # Errors
///
/// [`Damage`], with the place of a record that is hurt.
pub(super) fn read(file: &[u8], is_last: bool) -> Result<Read, Damage> {
    let (heading, mut at) = Heading::decode(file)?;
    let last = file.iter().rposition(|byte| *byte != 0).unwrap_or_default();
    let mut changes = Vec::new();
    loop {
        match next(file, at, last, heading.first + changes.len() as u64) {
            Next::Record { content, end } => {
                changes.push(content.to_vec());
                at = end;
            }
            Next::End => return Ok(Read { heading, changes }),
            Next::Torn if is_last => return Ok(Read { heading, changes }),
            Next::Torn | Next::Hurt => return Err(Damage::Record { offset: at as u64 }),
        }
    }
}

/// What begins at a place where a record may.
enum Next<'a> {
    Record {
        content: &'a [u8],
        end: usize,
    },
    /// Nothing was ever written from here on.
    End,
    /// A record that a crash kept from being written as a whole: it is the last.
    Torn,
    /// A record that was whole once.
    Hurt,
}

/// Reads on from `at`, where the record of this number may begin; at `last` is the last byte that
/// is not zero.
fn next(file: &[u8], at: usize, last: usize, number: u64) -> Next<'_> {
    let Some(last) = last.checked_sub(at) else { return Next::End };
    let rest = &file[at..];
    let Some(length) = head(rest).filter(|(found, _)| *found == number).map(|(_, length)| length)
    else {
        // The rest of a head that was begun, or a sector of it that was never written.
        let begun = last < HEAD;
        let unwritten = lacks_a_sector(file, at, (at + HEAD).min(file.len()));
        let torn = begun || unwritten && !has_record_after(rest, number);
        return if torn { Next::Torn } else { Next::Hurt };
    };
    let end = HEAD + length + TAIL;
    if let Some(content) = content(rest, length) {
        let filled = end.next_multiple_of(ALIGNED).min(rest.len());
        let is_clean = rest[end..filled].iter().all(|byte| *byte == 0);
        return if is_clean { Next::Record { content, end: at + filled } } else { Next::Hurt };
    }
    let lacks_its_end = |end: usize| file[end - 1] == 0 || lacks_a_sector(file, at, end);
    if end <= rest.len() && last < end && lacks_its_end(at + end) { Next::Torn } else { Next::Hurt }
}

/// The number and the length in the head of a record, if it is one.
fn head(rest: &[u8]) -> Option<(u64, usize)> {
    let (head, _) = rest.split_first_chunk::<HEAD>()?;
    let (said, checksum) = head.split_at(HEAD - 4);
    if crc32c::crc32c(said).to_le_bytes() != checksum {
        return None;
    }
    let (number, length) = said.split_first_chunk()?;
    let number = u64::from_le_bytes(*number) ^ marked(0);
    let length = u32::from_le_bytes(length.try_into().ok()?);
    Some((number, usize::try_from(length).ok()?))
}

/// The content of a record of this length, if all of it is there.
fn content(rest: &[u8], length: usize) -> Option<&[u8]> {
    let (covered, tail) = rest.split_at_checked(HEAD + length)?;
    let (checksum, tail) = tail.split_first_chunk::<4>()?;
    let is_whole =
        tail.first() == Some(&MARK) && crc32c::crc32c(covered).to_le_bytes() == *checksum;
    is_whole.then(|| &covered[HEAD..])
}

/// Whether a part of a record that a disk writes at once was not written.
fn lacks_a_sector(file: &[u8], from: usize, to: usize) -> bool {
    let mut at = from;
    while at < to {
        let end = ((at / SECTOR + 1) * SECTOR).min(to);
        if file[at..end].iter().all(|byte| *byte == 0) {
            return true;
        }
        at = end;
    }
    false
}

/// Whether a whole record of a later number lies anywhere behind: it was written after this one was
/// durable.
fn has_record_after(rest: &[u8], number: u64) -> bool {
    (ALIGNED..rest.len()).step_by(ALIGNED).any(|at| {
        let found = head(&rest[at..]).filter(|(found, _)| *found > number);
        found.is_some_and(|(_, length)| content(&rest[at..], length).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading() -> Heading {
        let owner = Owner { cluster: "demo".into(), process: ProcessId(2), group_size: 5 };
        Heading { owner, segment: 3, first: 7 }
    }

    /// Records of these contents in a segment of this length, and where each begins.
    fn segment(contents: &[Vec<u8>], length: usize) -> (Vec<u8>, Vec<usize>) {
        let mut file = heading().encode();
        let mut starts = Vec::new();
        for (number, content) in (7..).zip(contents) {
            starts.push(file.len());
            file.extend_from_slice(&record(number, content));
        }
        starts.push(file.len());
        file.resize(length, 0);
        (file, starts)
    }

    fn contents() -> Vec<Vec<u8>> {
        // The last lies in three sectors.
        vec![b"first".to_vec(), Vec::new(), vec![7; 40], b"four".to_vec(), vec![9; 1200]]
    }

    #[test]
    fn what_is_written_is_read() {
        let (file, _) = segment(&contents(), 1536);
        let read = read(&file, true).expect("a whole segment");
        assert_eq!(read, Read { heading: heading(), changes: contents() });
    }

    /// These bytes are in `docs/wire.md`, and other builds expect them.
    #[test]
    fn the_bytes_on_the_disk_are_those_of_the_document() {
        let expected = b"TENCHANG\x03\0\x04\0\x02\0\0\0\x05\0\0\0\x03\0\0\0\0\0\0\0\
            \x07\0\0\0\0\0\0\0demo";
        let bytes = heading().encode();
        assert_eq!(&bytes[..40], expected);
        assert_eq!(bytes[40..44], crc32c::crc32c(expected).to_le_bytes());
        assert_eq!(bytes[44..], [0; 4]);
        let record = record(7, b"here");
        let head = b"\x07\0\0\0\0\0\0\xA5\x04\0\0\0";
        assert_eq!(&record[..12], head);
        assert_eq!(record[12..16], crc32c::crc32c(head).to_le_bytes());
        assert_eq!(&record[16..20], b"here");
        assert_eq!(record[20..24], crc32c::crc32c(&record[..20]).to_le_bytes());
        assert_eq!(record[24..], [0xA5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(record.len(), taken(4));
    }

    #[test]
    fn a_tail_that_is_torn_at_any_byte_is_cut_and_nothing_before_it() {
        let (whole, starts) = segment(&contents(), 1536);
        for place in starts[0]..1536 {
            let mut torn = whole.clone();
            torn[place..].fill(0);
            let read = read(&torn, true).expect("what was written before the crash");
            let before = (0..5).filter(|record| {
                let end = starts[*record] + HEAD + contents()[*record].len() + TAIL;
                place >= end
            });
            assert_eq!(read.changes.len(), before.count(), "torn at {place}");
            assert_eq!(read.changes[..], contents()[..read.changes.len()]);
        }
    }

    #[test]
    fn a_last_record_of_which_any_sectors_are_missing_is_cut() {
        let (whole, starts) = segment(&contents(), 1536);
        let (from, to) = (starts[4], starts[5]);
        let sectors: Vec<usize> = (from / SECTOR..=(to - 1) / SECTOR).collect();
        for missing in 1..1_u32 << sectors.len() {
            let mut torn = whole.clone();
            for (bit, sector) in sectors.iter().enumerate() {
                if missing >> bit & 1 == 1 {
                    torn[(sector * SECTOR).max(from)..((sector + 1) * SECTOR).min(to)].fill(0);
                }
            }
            let read = read(&torn, true).expect("what was written before the crash");
            assert_eq!(read.changes[..], contents()[..4], "without {missing:b}");
        }
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed_and_its_record_is_named() {
        let (whole, starts) = segment(&contents(), 1536);
        for bit in 0..whole.len() * 8 {
            let mut hurt = whole.clone();
            hurt[bit / 8] ^= 1 << (bit % 8);
            let place = bit / 8;
            match read(&hurt, true) {
                // In what was never written, a bit says nothing.
                Ok(read) => {
                    assert!(place >= starts[5] || place >= 44 && place < starts[0], "{place}");
                    assert_eq!(read.changes, contents(), "bit {bit}");
                }
                Err(Damage::Record { offset }) => {
                    let record = starts.iter().rposition(|start| *start <= place);
                    assert_eq!(offset, starts[record.expect("a record")] as u64, "bit {bit}");
                }
                Err(_) => assert!(place < starts[0], "bit {bit}"),
            }
        }
    }

    /// As that of one in 256 does, so that a head may look as if its end had not been written.
    #[test]
    fn a_flipped_bit_is_noticed_also_in_a_head_that_ends_with_a_zero() {
        let ends_with_zero = |length: &usize| record(7, &vec![1; *length])[HEAD - 1] == 0;
        let length = (0..10_000).find(ends_with_zero).expect("1 of 256");
        let (whole, starts) = segment(&[vec![1; length]], 16 << 10);
        for bit in starts[0] * 8..(starts[0] + HEAD) * 8 {
            let mut hurt = whole.clone();
            hurt[bit / 8] ^= 1 << (bit % 8);
            let damage = Damage::Record { offset: starts[0] as u64 };
            assert_eq!(read(&hurt, true).err(), Some(damage), "bit {bit}");
        }
    }

    #[test]
    fn before_another_segment_nothing_is_torn() {
        let (mut file, starts) = segment(&contents(), 1536);
        file[starts[4] + 30..].fill(0);
        assert!(read(&file, true).is_ok());
        let hurt = Damage::Record { offset: starts[4] as u64 };
        assert_eq!(read(&file, false), Err(hurt));
    }

    #[test]
    fn a_record_before_a_later_one_is_hurt_however_little_is_left_of_it() {
        let (whole, starts) = segment(&contents(), 1536);
        for record in 0..4 {
            let mut hurt = whole.clone();
            hurt[starts[record]..starts[record + 1]].fill(0);
            let damage = Damage::Record { offset: starts[record] as u64 };
            assert_eq!(read(&hurt, true), Err(damage), "without record {record}");
        }
    }
}
