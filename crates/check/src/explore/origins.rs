//! Origins of the global states of one shard: for each state, the step that first found it.

use super::packed::PackedRows;
use crate::explore::visited::{Origin, StateId};
use crate::world::action::{ACTION_KINDS, Action};

/// Number of origins that are packed together.
const PACK_SIZE: usize = 1 << 10;
/// Number of integers that encode one origin: two for the parent, and four for the action.
const PARTS: usize = 6;

/// Origins of global states, in the order in which the states were found.
#[derive(Debug, Default)]
pub(super) struct Origins {
    packed: Vec<PackedRows>,
    packed_bytes: usize,
    /// The newest origins, which are not packed yet.
    last: Vec<Origin>,
}

impl Origins {
    pub(super) fn len(&self) -> usize {
        self.packed.len() * PACK_SIZE + self.last.len()
    }

    pub(super) fn get(&self, index: usize) -> Origin {
        match self.packed.get(index / PACK_SIZE) {
            Some(packed) => join(packed.row(index % PACK_SIZE)),
            None => self.last[index % PACK_SIZE],
        }
    }

    #[inline]
    pub(super) fn push(&mut self, origin: Origin) {
        self.last.push(origin);
        if self.last.len() == PACK_SIZE {
            self.pack();
        }
    }

    #[cold]
    fn pack(&mut self) {
        let parts: Vec<u32> = self.last.drain(..).flat_map(split).collect();
        let packed = PackedRows::pack(&parts, PARTS);
        self.packed_bytes += packed.bytes();
        self.packed.push(packed);
    }

    pub(super) fn bytes(&self) -> usize {
        let list = self.packed.capacity() - self.packed.len();
        let last = self.last.capacity() * size_of::<Origin>();
        self.packed_bytes + list * size_of::<PackedRows>() + last
    }
}

fn split(Origin { parent, action }: Origin) -> [u32; PARTS] {
    let [index, item, outcome] = [action.slot(), action.item(), action.outcome()];
    let parts = [parent.index(), parent.shard(), action.kind() as usize, index, item, outcome];
    parts.map(|part| part as u32)
}

fn join(parts: [u32; PARTS]) -> Origin {
    let [parent, shard, kind, index, item, outcome] = parts.map(|part| part as usize);
    let action = Action::new(ACTION_KINDS[kind], index, item, outcome);
    Origin { parent: StateId::new(shard, parent), action }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::visited::SHARD_COUNT;

    #[test]
    fn returns_every_origin() {
        let origin = |number: usize| match number {
            0 => Origin { parent: StateId::OUT_OF_BOUNDS, action: Action(0) },
            _ => Origin {
                parent: StateId::new(number * 7 % SHARD_COUNT, number / 3),
                action: Action::new(
                    ACTION_KINDS[number % ACTION_KINDS.len()],
                    number % (1 << 11),
                    number % (1 << 8),
                    number % (1 << 9),
                ),
            },
        };
        let (mut origins, many) = (Origins::default(), 3 * PACK_SIZE + 5);
        (0..many).for_each(|number| origins.push(origin(number)));
        assert_eq!(origins.len(), many);
        for number in 0..many {
            assert_eq!(origins.get(number), origin(number));
        }
    }

    #[test]
    fn similar_origins_take_half_the_space() {
        let mut origins = Origins::default();
        for number in 0..100 * PACK_SIZE {
            let parent = StateId::new(number % SHARD_COUNT, (1 << 25) + number * 31 % 4_096);
            let action = Action::new(ACTION_KINDS[number % 2], number % 20, number % 4, 0);
            origins.push(Origin { parent, action });
        }
        assert!(origins.bytes() < 100 * PACK_SIZE * size_of::<Origin>() / 2);
    }
}
