//! The bytes of a state file: written in one piece, believed only when every part agrees.

use std::fmt;

use sha2::{Digest, Sha256};
use tenure_core::ProcessId;
use thiserror::Error;

/// The version of the state file that this build writes, and the newest it reads.
pub const FORMAT_VERSION: u16 = 2;

/// The bytes that open every state file, whatever its version.
const MAGIC: [u8; 8] = *b"TENSTATE";

/// The bytes of the checksum at the end.
const CHECKSUM_BYTES: usize = 32;

/// Whose a state is: it means nothing to anybody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The name of the cluster.
    pub cluster: String,
    /// The process.
    pub process: ProcessId,
    /// How many processes its group has.
    pub group_size: u32,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Owner { cluster, process, group_size } = self;
        write!(f, "{process} of {group_size} in the cluster {cluster:?}")
    }
}

/// What a state file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// Whose it is; a file of version 1 does not say.
    pub(crate) owner: Option<Owner>,
    /// What the state is a state of.
    pub(crate) schema: String,
    /// The session of the process that wrote it.
    pub(crate) session: u64,
    /// The state; absent until one was saved.
    pub(crate) state: Option<Vec<u8>>,
}

/// Why the bytes of a file are not a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// The file does not open with the bytes that every state file opens with.
    #[error("it is not a state file of tenure")]
    Foreign,
    /// A newer build wrote it. This is not damage, but nothing of it can be read.
    #[error("it has format version {found}, and this build reads up to {FORMAT_VERSION}")]
    NewerVersion {
        /// The version in the file.
        found: u16,
    },
    /// The file ends too early.
    #[error("it ends too early, after {length} bytes")]
    Torn {
        /// The length of the file, in bytes.
        length: usize,
    },
    /// The checksum does not fit what it covers.
    #[error("its checksum does not fit its content")]
    Checksum,
    /// The checksum fits, and still the parts do not agree: a defect, not the disk.
    #[error("its parts do not agree with each other")]
    Inconsistent,
}

impl Image {
    /// The bytes of the file.
    ///
    /// # Panics
    ///
    /// When the schema or the name of the cluster is longer than 65 535 bytes, or nobody is the
    /// owner.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let schema = self.schema.as_bytes();
        let schema_length = u16::try_from(schema.len()).expect("a schema is a short name");
        let owner = self.owner.as_ref().expect("whoever writes a state owns it");
        let cluster = owner.cluster.as_bytes();
        let cluster_length = u16::try_from(cluster.len()).expect("a cluster has a short name");
        let state = self.state.as_deref().unwrap_or_default();
        let names = schema.len() + cluster.len();
        let mut bytes = Vec::with_capacity(39 + names + state.len() + CHECKSUM_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&schema_length.to_le_bytes());
        bytes.extend_from_slice(&self.session.to_le_bytes());
        bytes.push(u8::from(self.state.is_some()));
        bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&owner.process.0.to_le_bytes());
        bytes.extend_from_slice(&owner.group_size.to_le_bytes());
        bytes.extend_from_slice(&cluster_length.to_le_bytes());
        bytes.extend_from_slice(schema);
        bytes.extend_from_slice(cluster);
        bytes.extend_from_slice(state);
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// [`Damage`], told in the order in which the file is read.
    pub(crate) fn decode(file: &[u8]) -> Result<Image, Damage> {
        let torn = Damage::Torn { length: file.len() };
        // A file shorter than the magic is torn if what there is agrees with it.
        if !file.starts_with(&MAGIC[..file.len().min(MAGIC.len())]) {
            return Err(Damage::Foreign);
        }
        let rest = file.get(MAGIC.len()..).ok_or(torn)?;
        let (version, _) = rest.split_first_chunk().ok_or(torn)?;
        let found = u16::from_le_bytes(*version);
        if found > FORMAT_VERSION {
            return Err(Damage::NewerVersion { found });
        }
        let (content, checksum) = file.split_last_chunk::<CHECKSUM_BYTES>().ok_or(torn)?;
        let matches = Sha256::digest(content).as_slice() == checksum;
        match (fields(content, found), matches) {
            (Some(image), true) => Ok(image),
            (None, true) => Err(Damage::Inconsistent),
            (Some(_), false) => Err(Damage::Checksum),
            // Lengths that do not add up: cut short, unless the lengths themselves are hurt.
            (None, false) => Err(torn),
        }
    }
}

/// The parts of everything before the checksum, if they fill it exactly.
fn fields(content: &[u8], version: u16) -> Option<Image> {
    let rest = content.get(MAGIC.len() + size_of::<u16>()..)?;
    let (schema_length, rest) = rest.split_first_chunk()?;
    let (session, rest) = rest.split_first_chunk()?;
    let (&presence, rest) = rest.split_first()?;
    let (state_length, rest) = rest.split_first_chunk()?;
    let schema_length = usize::from(u16::from_le_bytes(*schema_length));
    let (owner, schema, state) = if version == 1 {
        let (schema, state) = rest.split_at_checked(schema_length)?;
        (None, schema, state)
    } else {
        let (process, rest) = rest.split_first_chunk()?;
        let (group_size, rest) = rest.split_first_chunk()?;
        let (cluster_length, rest) = rest.split_first_chunk()?;
        let (schema, rest) = rest.split_at_checked(schema_length)?;
        let cluster_length = usize::from(u16::from_le_bytes(*cluster_length));
        let (cluster, state) = rest.split_at_checked(cluster_length)?;
        let cluster = String::from_utf8(cluster.to_vec()).ok()?;
        let process = ProcessId(u32::from_le_bytes(*process));
        let group_size = u32::from_le_bytes(*group_size);
        (Some(Owner { cluster, process, group_size }), schema, state)
    };
    let schema = String::from_utf8(schema.to_vec()).ok()?;
    if u64::from_le_bytes(*state_length) != state.len() as u64 {
        return None;
    }
    let state = match presence {
        0 if state.is_empty() => None,
        1 => Some(state.to_vec()),
        _ => return None,
    };
    Some(Image { owner, schema, session: u64::from_le_bytes(*session), state })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let owner = Owner { cluster: "demo".into(), process: ProcessId(2), group_size: 5 };
        let (owner, state) = (Some(owner), Some(b"here".to_vec()));
        Image { owner, schema: "token 1".into(), session: 7, state }
    }

    #[test]
    fn what_is_written_is_read() {
        for state in [None, Some(Vec::new()), Some(vec![1, 2, 3])] {
            let image = Image { state, ..image() };
            assert_eq!(Image::decode(&image.encode()), Ok(image));
        }
    }

    /// These bytes are in `docs/wire.md`, and other builds expect them.
    #[test]
    fn the_bytes_on_the_disk_are_those_of_the_document() {
        let expected = b"TENSTATE\x02\0\x07\0\x07\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\0\
            \x02\0\0\0\x05\0\0\0\x04\0token 1demohere";
        let bytes = image().encode();
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        assert_eq!(content, expected);
        assert_eq!(checksum, Sha256::digest(expected).as_slice());
    }

    #[test]
    fn a_file_of_version_1_is_read_and_is_of_nobody() {
        let mut file =
            b"TENSTATE\x01\0\x07\0\x07\0\0\0\0\0\0\0\x01\x04\0\0\0\0\0\0\0token 1here".to_vec();
        let checksum = Sha256::digest(&file);
        file.extend_from_slice(&checksum);
        assert_eq!(Image::decode(&file), Ok(Image { owner: None, ..image() }));
    }

    #[test]
    fn every_single_flipped_bit_is_noticed() {
        let whole = image().encode();
        for place in 0..whole.len() * 8 {
            let mut hurt = whole.clone();
            hurt[place / 8] ^= 1 << (place % 8);
            assert!(Image::decode(&hurt).is_err(), "bit {place}");
        }
    }

    #[test]
    fn every_cut_and_every_addition_is_noticed() {
        let whole = image().encode();
        for length in 0..whole.len() {
            let damage = Image::decode(&whole[..length]).expect_err("a cut file");
            assert_eq!(damage, Damage::Torn { length });
        }
        let longer = [whole.as_slice(), &[0]].concat();
        assert!(Image::decode(&longer).is_err());
    }

    #[test]
    fn a_newer_version_is_told_before_anything_else() {
        let mut newer = image().encode();
        newer[8] = 3;
        newer.truncate(12);
        assert_eq!(Image::decode(&newer), Err(Damage::NewerVersion { found: 3 }));
    }
}
