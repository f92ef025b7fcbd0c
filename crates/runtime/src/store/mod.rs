//! What a process must find again after a crash: its stable projection and its session.
//!
//! A [`Store`] is a directory that one node at a time owns. A [`Store::save`] replaces the state as
//! a whole, a [`Store::append`] adds a change to it, which costs one flush of a file that is there
//! already. Each is durable when it returns; at any moment of a crash the directory holds either
//! what was before or what is after, and damage is told apart from absence and from what a crash
//! leaves. All calls block on the disk: a caller on an asynchronous runtime decides where they run.
//!
//! `docs/wire.md` describes the files byte by byte.

mod file;
mod image;
mod private;
mod registry;
mod saves;
mod segment;
mod tail;

pub use file::{OpenError, SaveError, Store, sync_directory};
pub use image::{Damage, FORMAT_VERSION, Owner};
pub use registry::Registry;
pub use saves::{SaveCounts, Saves};

/// Reads bytes as each file of a folder: whatever they are, they are read or damage. What is read
/// of them is the same in a segment that another may follow as in one that none does.
pub(crate) fn read_all(bytes: &[u8]) {
    if let Ok(image) = image::Image::decode(bytes) {
        let again = image::Image::decode(&image.encode());
        assert_eq!(again.as_ref(), Ok(&image), "what is read is read again as it is written");
    }
    let _ = registry::read(bytes);
    let (last, inner) = (segment::read(bytes, true), segment::read(bytes, false));
    if let (Ok(last), Ok(inner)) = (last, inner) {
        assert_eq!(last.changes, inner.changes, "what is whole is read wherever it stands");
    }
}
