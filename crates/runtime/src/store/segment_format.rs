//! Encoding of a segment: one record per change, in a file that was filled with zeros in advance.
//!
//! The file has a fixed length and its blocks are allocated. So the write of a record needs only
//! one flush of data, and changes no metadata of the file system.
//!
//! The zeros also distinguish an interrupted write from damage. The last byte of a complete record
//! is never zero. After an interrupted write, this byte or a whole sector of the record is still
//! zero. An unfinished record is always the last record of the file.

use tenure_core::ProcessId;

use super::state_file_format::{StateOwner, UnreadableReason};

const MAGIC: [u8; 8] = *b"TENCHANG";

/// Version of the segments that this build writes. It starts at 3, because version 3 of the state
/// file introduced segments.
const VERSION: u16 = 3;

const RECORD_ALIGNMENT: usize = 8;

/// Size of the header of a record: number, length, and their checksum.
const HEADER_BYTES: usize = 16;

/// Size of the trailer of a record: checksum of header and content, and a nonzero byte.
const TRAILER_BYTES: usize = 5;

/// Value of the last byte of each record, before the padding. The highest byte of the encoded
/// record number has the same value. The value is not zero, so the end of a record differs from
/// unwritten space.
const NONZERO_BYTE: u8 = 0xA5;

/// Size of a disk sector, which is written completely or not at all.
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) owner: StateOwner,
    /// Number of the segment, as in the name of its file.
    pub(super) segment: u64,
    /// Number of the first record in the segment.
    pub(super) first_record: u64,
}

impl SegmentHeader {
    /// Encodes the header.
    ///
    /// # Panics
    ///
    /// If the name of the cluster is longer than 65,535 bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let cluster = self.owner.cluster.as_bytes();
        let length = u16::try_from(cluster.len()).expect("a cluster has a short name");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.owner.process.0.to_le_bytes());
        bytes.extend_from_slice(&self.owner.group_size.to_le_bytes());
        bytes.extend_from_slice(&self.segment.to_le_bytes());
        bytes.extend_from_slice(&self.first_record.to_le_bytes());
        bytes.extend_from_slice(cluster);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(RECORD_ALIGNMENT), 0);
        bytes
    }

    fn decode(file: &[u8]) -> Result<(SegmentHeader, usize), UnreadableReason> {
        let torn = UnreadableReason::Torn { length: file.len() };
        if !file.starts_with(&MAGIC) {
            return Err(UnreadableReason::Foreign);
        }
        let number = |at: usize, length: usize| -> Result<u64, UnreadableReason> {
            let mut bytes = [0; 8];
            bytes[..length].copy_from_slice(file.get(at..at + length).ok_or(torn)?);
            Ok(u64::from_le_bytes(bytes))
        };
        let found = u16::try_from(number(8, 2)?).expect("two bytes");
        if found > VERSION {
            return Err(UnreadableReason::NewerVersion { found, newest: VERSION });
        }
        let small = |at| number(at, 4).map(|it| u32::try_from(it).expect("four bytes"));
        let end = 36 + usize::try_from(number(10, 2)?).expect("two bytes");
        let content = file.get(..end).ok_or(torn)?;
        if u64::from(crc32c::crc32c(content)) != number(end, 4)? {
            return Err(UnreadableReason::Checksum);
        }
        let cluster = String::from_utf8(content[36..].to_vec())
            .map_err(|_| UnreadableReason::Inconsistent)?;
        let owner = StateOwner { cluster, process: ProcessId(small(12)?), group_size: small(16)? };
        let header = SegmentHeader { owner, segment: number(20, 8)?, first_record: number(28, 8)? };
        Ok((header, (end + 4).next_multiple_of(RECORD_ALIGNMENT)))
    }
}

/// Returns the size of a record in bytes, including the padding. `content_bytes` is the size of the
/// content of the record.
pub(super) fn padded_record_size(content_bytes: usize) -> usize {
    (HEADER_BYTES + content_bytes + TRAILER_BYTES).next_multiple_of(RECORD_ALIGNMENT)
}

/// Encodes a record.
///
/// # Panics
///
/// If the content has 4 GiB or more.
pub(super) fn encode_record(number: u64, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("a change has less than 4 GiB");
    let mut bytes = Vec::with_capacity(padded_record_size(content.len()));
    bytes.extend_from_slice(&with_mark(number).to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes.push(NONZERO_BYTE);
    bytes.resize(padded_record_size(content.len()), 0);
    bytes
}

fn with_mark(number: u64) -> u64 {
    number | u64::from(NONZERO_BYTE) << 56
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentContent {
    pub(super) header: SegmentHeader,
    pub(super) changes: Vec<Vec<u8>>,
}

/// Decodes a segment. `is_last` is true if no segment follows. An unfinished record at the end of
/// the last segment is omitted.
///
/// # Errors
///
/// [`UnreadableReason`] if the header or a record is damaged, or if a newer build wrote the
/// segment.
pub(super) fn decode(file: &[u8], is_last: bool) -> Result<SegmentContent, UnreadableReason> {
    let (header, mut at) = SegmentHeader::decode(file)?;
    let last = file.iter().rposition(|byte| *byte != 0).unwrap_or_default();
    let mut changes = Vec::new();
    loop {
        match decode_record(file, at, last, header.first_record + changes.len() as u64) {
            NextRecord::Record { content, end } => {
                changes.push(content.to_vec());
                at = end;
            }
            NextRecord::End => return Ok(SegmentContent { header, changes }),
            NextRecord::Torn if is_last => return Ok(SegmentContent { header, changes }),
            NextRecord::Torn | NextRecord::Damaged => {
                return Err(UnreadableReason::Record { offset: at as u64 });
            }
        }
    }
}

enum NextRecord<'a> {
    Record {
        content: &'a [u8],
        end: usize,
    },
    /// Only zeros follow.
    End,
    /// An unfinished record, whose write a crash interrupted. It is the last record.
    Torn,
    /// A record that was complete once and is damaged now.
    Damaged,
}

/// Decodes record `number` at position `at`. `last` is the position of the last nonzero byte in the
/// file.
fn decode_record(file: &[u8], at: usize, last: usize, number: u64) -> NextRecord<'_> {
    let Some(last) = last.checked_sub(at) else { return NextRecord::End };
    let rest = &file[at..];
    let Some(length) =
        decode_header(rest).filter(|(found, _)| *found == number).map(|(_, length)| length)
    else {
        // The record is unfinished if its header was cut off. It is also unfinished if a sector of
        // the header was never written and no later record exists.
        let started = last < HEADER_BYTES;
        let unwritten = has_zero_sector(file, at, (at + HEADER_BYTES).min(file.len()));
        let torn = started || unwritten && !has_record_after(rest, number);
        return if torn { NextRecord::Torn } else { NextRecord::Damaged };
    };
    let end = HEADER_BYTES + length + TRAILER_BYTES;
    if let Some(content) = decode_content(rest, length) {
        let filled = end.next_multiple_of(RECORD_ALIGNMENT).min(rest.len());
        let is_clean = rest[end..filled].iter().all(|byte| *byte == 0);
        return if is_clean {
            NextRecord::Record { content, end: at + filled }
        } else {
            NextRecord::Damaged
        };
    }
    let lacks_its_end = |end: usize| file[end - 1] == 0 || has_zero_sector(file, at, end);
    if end <= rest.len() && last < end && lacks_its_end(at + end) {
        NextRecord::Torn
    } else {
        NextRecord::Damaged
    }
}

/// Returns the number of the record and the length of its content. Returns `None` if `rest` is too
/// short for a header or the checksum is wrong.
fn decode_header(rest: &[u8]) -> Option<(u64, usize)> {
    let (head, _) = rest.split_first_chunk::<HEADER_BYTES>()?;
    let (fields, checksum) = head.split_at(HEADER_BYTES - 4);
    if crc32c::crc32c(fields).to_le_bytes() != checksum {
        return None;
    }
    let (number, length) = fields.split_first_chunk()?;
    let number = u64::from_le_bytes(*number) ^ with_mark(0);
    let length = u32::from_le_bytes(length.try_into().ok()?);
    Some((number, usize::try_from(length).ok()?))
}

/// Returns the content of a record, which has `length` bytes. Returns `None` if the record is
/// incomplete or damaged.
fn decode_content(rest: &[u8], length: usize) -> Option<&[u8]> {
    let (covered, trailer) = rest.split_at_checked(HEADER_BYTES + length)?;
    let (checksum, trailer) = trailer.split_first_chunk::<4>()?;
    let is_whole = trailer.first() == Some(&NONZERO_BYTE)
        && crc32c::crc32c(covered).to_le_bytes() == *checksum;
    is_whole.then(|| &covered[HEADER_BYTES..])
}

/// Returns true if, in one of the sectors, the bytes between `from` and `to` are all zero. After an
/// interrupted write, such a sector was probably never written, because new segments are filled
/// with zeros.
fn has_zero_sector(file: &[u8], from: usize, to: usize) -> bool {
    let mut at = from;
    while at < to {
        let end = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(to);
        if file[at..end].iter().all(|byte| *byte == 0) {
            return true;
        }
        at = end;
    }
    false
}

/// Returns true if a complete record with a number above `number` follows in `rest`. Such a record
/// was written only after record `number` was durable.
fn has_record_after(rest: &[u8], number: u64) -> bool {
    (RECORD_ALIGNMENT..rest.len()).step_by(RECORD_ALIGNMENT).any(|at| {
        let found = decode_header(&rest[at..]).filter(|(found, _)| *found > number);
        found.is_some_and(|(_, length)| decode_content(&rest[at..], length).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> SegmentHeader {
        let owner = StateOwner { cluster: "demo".into(), process: ProcessId(2), group_size: 5 };
        SegmentHeader { owner, segment: 3, first_record: 7 }
    }

    /// Returns a segment of `length` bytes with these records, and the position of each record.
    fn segment(contents: &[Vec<u8>], length: usize) -> (Vec<u8>, Vec<usize>) {
        let mut file = header().encode();
        let mut starts = Vec::new();
        for (number, content) in (7..).zip(contents) {
            starts.push(file.len());
            file.extend_from_slice(&encode_record(number, content));
        }
        starts.push(file.len());
        file.resize(length, 0);
        (file, starts)
    }

    fn contents() -> Vec<Vec<u8>> {
        // The last record spans three sectors.
        vec![b"first".to_vec(), Vec::new(), vec![7; 40], b"four".to_vec(), vec![9; 1200]]
    }

    #[test]
    fn round_trip() {
        let (file, _) = segment(&contents(), 1536);
        let read = decode(&file, true).expect("a whole segment");
        assert_eq!(read, SegmentContent { header: header(), changes: contents() });
    }

    /// The encoding of a segment equals the bytes in `docs/wire.md`, on which other builds depend.
    #[test]
    fn encoding_matches_specification() {
        let expected = b"TENCHANG\x03\0\x04\0\x02\0\0\0\x05\0\0\0\x03\0\0\0\0\0\0\0\
            \x07\0\0\0\0\0\0\0demo";
        let bytes = header().encode();
        assert_eq!(&bytes[..40], expected);
        assert_eq!(bytes[40..44], crc32c::crc32c(expected).to_le_bytes());
        assert_eq!(bytes[44..], [0; 4]);
        let record = encode_record(7, b"here");
        let head = b"\x07\0\0\0\0\0\0\xA5\x04\0\0\0";
        assert_eq!(&record[..12], head);
        assert_eq!(record[12..16], crc32c::crc32c(head).to_le_bytes());
        assert_eq!(&record[16..20], b"here");
        assert_eq!(record[20..24], crc32c::crc32c(&record[..20]).to_le_bytes());
        assert_eq!(record[24..], [0xA5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(record.len(), padded_record_size(4));
    }

    #[test]
    fn torn_tail_is_cut_at_any_byte() {
        let (whole, starts) = segment(&contents(), 1536);
        for position in starts[0]..1536 {
            let mut torn = whole.clone();
            torn[position..].fill(0);
            let read = decode(&torn, true).expect("the records before the crash");
            let before = (0..5).filter(|record| {
                let end =
                    starts[*record] + HEADER_BYTES + contents()[*record].len() + TRAILER_BYTES;
                position >= end
            });
            assert_eq!(read.changes.len(), before.count(), "torn at {position}");
            assert_eq!(read.changes[..], contents()[..read.changes.len()]);
        }
    }

    #[test]
    fn last_record_with_missing_sectors_is_cut() {
        let (whole, starts) = segment(&contents(), 1536);
        let (from, to) = (starts[4], starts[5]);
        let sectors: Vec<usize> = (from / SECTOR_BYTES..=(to - 1) / SECTOR_BYTES).collect();
        for missing in 1..1_u32 << sectors.len() {
            let mut torn = whole.clone();
            for (bit, sector) in sectors.iter().enumerate() {
                if missing >> bit & 1 == 1 {
                    torn[(sector * SECTOR_BYTES).max(from)..((sector + 1) * SECTOR_BYTES).min(to)]
                        .fill(0);
                }
            }
            let read = decode(&torn, true).expect("the records before the crash");
            assert_eq!(read.changes[..], contents()[..4], "without {missing:b}");
        }
    }

    #[test]
    fn flipped_bit_is_detected_in_its_record() {
        let (whole, starts) = segment(&contents(), 1536);
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let position = bit / 8;
            match decode(&damaged, true) {
                // The flipped bit is in unused space, so it has no effect.
                Ok(read) => {
                    assert!(
                        position >= starts[5] || position >= 44 && position < starts[0],
                        "{position}"
                    );
                    assert_eq!(read.changes, contents(), "bit {bit}");
                }
                Err(UnreadableReason::Record { offset }) => {
                    let record = starts.iter().rposition(|start| *start <= position);
                    assert_eq!(offset, starts[record.expect("a record")] as u64, "bit {bit}");
                }
                Err(_) => assert!(position < starts[0], "bit {bit}"),
            }
        }
    }

    /// Tests a record whose header ends with a zero byte. One header in 256 ends with zero. If a
    /// bit of this header is flipped, a decoder could take the zero byte for a sign of an
    /// interrupted write. The decoder must report damage instead.
    #[test]
    fn flipped_bit_is_detected_in_header_ending_with_zero() {
        let ends_with_zero =
            |length: &usize| encode_record(7, &vec![1; *length])[HEADER_BYTES - 1] == 0;
        let length = (0..10_000).find(ends_with_zero).expect("1 of 256");
        let (whole, starts) = segment(&[vec![1; length]], 16 << 10);
        for bit in starts[0] * 8..(starts[0] + HEADER_BYTES) * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let reason = UnreadableReason::Record { offset: starts[0] as u64 };
            assert_eq!(decode(&damaged, true).err(), Some(reason), "bit {bit}");
        }
    }

    #[test]
    fn torn_record_before_another_segment_is_damage() {
        let (mut file, starts) = segment(&contents(), 1536);
        file[starts[4] + 30..].fill(0);
        assert!(decode(&file, true).is_ok());
        let damaged = UnreadableReason::Record { offset: starts[4] as u64 };
        assert_eq!(decode(&file, false), Err(damaged));
    }

    #[test]
    fn erased_record_before_later_one_is_damage() {
        let (whole, starts) = segment(&contents(), 1536);
        for record in 0..4 {
            let mut damaged = whole.clone();
            damaged[starts[record]..starts[record + 1]].fill(0);
            let reason = UnreadableReason::Record { offset: starts[record] as u64 };
            assert_eq!(decode(&damaged, true), Err(reason), "without record {record}");
        }
    }
}
