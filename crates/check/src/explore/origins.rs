//! How each world of a shard was found.

use super::packed::Packed;
use crate::explore::visited::{Origin, StateId};
use crate::world::action::{Action, KINDS};

/// Origins that are packed together.
const TOGETHER: usize = 1 << 10;
/// The numbers that an origin consists of: worlds that were found one after another have parents
/// that were, so that each of them differs in a few bits only.
const PARTS: usize = 6;

/// Origins in the order in which their worlds were found.
#[derive(Debug, Default)]
pub(super) struct Origins {
    packed: Vec<Packed>,
    packed_bytes: usize,
    /// The last ones, fewer than are packed together.
    last: Vec<Origin>,
}

impl Origins {
    pub(super) fn len(&self) -> usize {
        self.packed.len() * TOGETHER + self.last.len()
    }

    pub(super) fn at(&self, place: usize) -> Origin {
        match self.packed.get(place / TOGETHER) {
            Some(packed) => joined(packed.row(place % TOGETHER)),
            None => self.last[place % TOGETHER],
        }
    }

    #[inline]
    pub(super) fn push(&mut self, origin: Origin) {
        self.last.push(origin);
        if self.last.len() == TOGETHER {
            self.pack();
        }
    }

    #[cold]
    fn pack(&mut self) {
        let parts: Vec<u32> = self.last.drain(..).flat_map(parted).collect();
        let packed = Packed::of(&parts, PARTS);
        self.packed_bytes += packed.bytes();
        self.packed.push(packed);
    }

    pub(super) fn bytes(&self) -> usize {
        let list = self.packed.capacity() - self.packed.len();
        let last = self.last.capacity() * size_of::<Origin>();
        self.packed_bytes + list * size_of::<Packed>() + last
    }
}

fn parted(Origin { parent, action }: Origin) -> [u32; PARTS] {
    let [place, item, outcome] = [action.place(), action.item(), action.outcome()];
    let parts = [parent.place(), parent.shard(), action.kind() as usize, place, item, outcome];
    parts.map(|part| part as u32)
}

fn joined(parts: [u32; PARTS]) -> Origin {
    let [parent, shard, kind, place, item, outcome] = parts.map(|part| part as usize);
    let action = Action::new(KINDS[kind], place, item, outcome);
    Origin { parent: StateId::new(shard, parent), action }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::visited::SHARDS;

    #[test]
    fn every_origin_comes_back() {
        let origin = |number: usize| match number {
            0 => Origin { parent: StateId::OUTSIDE, action: Action(0) },
            _ => Origin {
                parent: StateId::new(number * 7 % SHARDS, number / 3),
                action: Action::new(
                    KINDS[number % KINDS.len()],
                    number % (1 << 11),
                    number % (1 << 8),
                    number % (1 << 9),
                ),
            },
        };
        let (mut origins, many) = (Origins::default(), 3 * TOGETHER + 5);
        (0..many).for_each(|number| origins.push(origin(number)));
        assert_eq!(origins.len(), many);
        for number in 0..many {
            assert_eq!(origins.at(number), origin(number));
        }
    }

    #[test]
    fn origins_that_are_alike_take_half_the_room() {
        let mut origins = Origins::default();
        for number in 0..100 * TOGETHER {
            let parent = StateId::new(number % SHARDS, (1 << 25) + number * 31 % 4_096);
            let action = Action::new(KINDS[number % 2], number % 20, number % 4, 0);
            origins.push(Origin { parent, action });
        }
        assert!(origins.bytes() < 100 * TOGETHER * size_of::<Origin>() / 2);
    }
}
