//! Locks in shared memory. Each test checks a claim of a paper on one schedule. The checker
//! explores all schedules (`crates/check/tests/check/shared_memory.rs`).

use std::collections::BTreeMap;

use tenure_algorithms::shared_memory::{
    Bakery, PetersonLock, TestAndSet, bakery, peterson_lock, test_and_set,
};
use tenure_algorithms::{VariantId, Variants};
use tenure_core::shared_memory::{LockSection, Register, SharedMemory, SharedMemoryLock};
use tenure_core::{Group, ProcessId};

/// A shared memory that logs each access to a register in the notation of pseudo-code.
#[derive(Default)]
struct Memory {
    values: BTreeMap<Register, u32>,
    log: Vec<String>,
}

impl SharedMemory for Memory {
    fn read(&mut self, register: Register) -> u32 {
        let value = self.values.get(&register).copied().unwrap_or(0);
        self.log.push(format!("{register} = {value}"));
        value
    }

    fn write(&mut self, register: Register, value: u32) {
        self.values.insert(register, value);
        self.log.push(format!("{register} := {value}"));
    }

    fn test_and_set(&mut self, register: Register) -> u32 {
        let value = self.values.insert(register, 1).unwrap_or(0);
        self.log.push(format!("test-and-set {register} = {value}"));
        value
    }
}

/// A shared memory and the processes that use it. A test determines which process takes the next
/// step.
struct Story<L> {
    memory: Memory,
    processes: Vec<L>,
}

impl<L: SharedMemoryLock> Story<L> {
    fn new(size: u32, config: &L::Config) -> Self {
        let process = |me| L::boot(Group::new(ProcessId(me), size), config);
        Story { memory: Memory::default(), processes: (0..size).map(process).collect() }
    }

    /// Takes one step of each listed process, in this order, and returns a line for each step.
    /// Processes are counted from 1.
    fn tell(&mut self, schedule: &[usize]) -> Vec<String> {
        schedule.iter().map(|number| self.step(*number)).collect()
    }

    fn step(&mut self, number: usize) -> String {
        let process = &mut self.processes[number - 1];
        let action = match process.section() {
            LockSection::Remainder => {
                process.begin_entry();
                "requests".to_owned()
            }
            LockSection::Inside => {
                process.exit();
                "exits".to_owned()
            }
            _ => {
                process.step(&mut self.memory);
                self.memory.log.last().expect("an instruction accesses a register").clone()
            }
        };
        let is_inside = process.section() == LockSection::Inside;
        format!("P{number} {action}{}", if is_inside { ", inside" } else { "" })
    }

    fn inside(&self) -> usize {
        self.processes.iter().filter(|process| process.section() == LockSection::Inside).count()
    }
}

/// Lets P1 enter and exit the critical section while no other process takes a step. Returns the
/// number of accesses to shared registers.
fn uncontended<L: SharedMemoryLock>(size: u32, config: &L::Config) -> u32 {
    let mut story = Story::<L>::new(size, config);
    story.step(1);
    while story.processes[0].section() != LockSection::Remainder {
        story.step(1);
    }
    story.memory.log.len() as u32
}

#[test]
fn uncontended_entries_cost_as_many_accesses_as_the_cards_state() {
    for size in 2..6 {
        let peterson = uncontended::<PetersonLock>(size, &Variants::none());
        assert_eq!(
            peterson,
            PetersonLock::card(size).uncontended_accesses,
            "peterson-lock, {size}"
        );
        let bakery = uncontended::<Bakery>(size, &Variants::none());
        assert_eq!(bakery, Bakery::card(size).uncontended_accesses, "bakery, {size}");
        let spinlock = uncontended::<TestAndSet>(size, &Variants::none());
        assert_eq!(spinlock, TestAndSet::card().uncontended_accesses, "test-and-set, {size}");
    }
    assert_eq!(PetersonLock::card(2).uncontended_accesses, 4);
    // Negative control: without `choosing` an entry takes fewer accesses.
    let hasty = Variants::none().with(bakery::VariantId::NoChoosing);
    assert_eq!(uncontended::<Bakery>(3, &hasty), Bakery::card(3).uncontended_accesses - 4);
}

#[test]
fn later_writer_of_turn_waits() {
    let mut story = Story::<PetersonLock>::new(2, &Variants::none());
    let told = story.tell(&[1, 2, 1, 2, 1, 2, 2, 2, 1, 1]);
    assert_eq!(
        told,
        [
            "P1 requests",
            "P2 requests",
            "P1 Q[1] := 1",
            "P2 Q[2] := 1",
            "P1 TURN[1] := 1",
            "P2 TURN[1] := 2",
            "P2 Q[1] = 1",
            "P2 TURN[1] = 2",
            "P1 Q[2] = 1",
            "P1 TURN[1] = 2, inside",
        ]
    );
    let told = story.tell(&[2, 2, 1, 1, 2]);
    let expected =
        ["P2 Q[1] = 1", "P2 TURN[1] = 2", "P1 exits", "P1 Q[1] := 0", "P2 Q[1] = 0, inside"];
    assert_eq!(told, expected);
}

#[test]
fn turn_before_flag_admits_both() {
    let schedule = [1, 2, 1, 2, 2, 2, 1, 1, 1];
    let wrong = Variants::none().with(peterson_lock::VariantId::TurnFirst);
    let mut story = Story::<PetersonLock>::new(2, &wrong);
    let told = story.tell(&schedule);
    assert_eq!(told[2..4], ["P1 TURN[1] := 1", "P2 TURN[1] := 2"]);
    assert_eq!(told[5], "P2 Q[1] = 0, inside");
    assert_eq!((told[8].as_str(), story.inside()), ("P1 TURN[1] = 2, inside", 2));
    // Negative control: with the right order of writes the same schedule admits one process.
    let mut story = Story::<PetersonLock>::new(2, &Variants::none());
    story.tell(&schedule);
    assert!(story.inside() <= 1);
}

#[test]
fn equal_tickets_enter_in_the_order_of_names() {
    let mut story = Story::<Bakery>::new(2, &Variants::none());
    // Both read 0 as the other's number, and both take the ticket 1.
    let told = story.tell(&[1, 2, 1, 2, 1, 2, 2, 1, 2, 1]);
    assert_eq!(told[6..8], ["P2 number[2] := 1", "P1 number[1] := 1"]);
    let told = story.tell(&[2, 2, 2, 1, 1]);
    assert_eq!(
        told,
        [
            "P2 choosing[1] = 0",
            "P2 number[1] = 1",
            "P2 number[1] = 1",
            "P1 choosing[2] = 0",
            "P1 number[2] = 1, inside",
        ]
    );
}

#[test]
fn process_without_choosing_is_overtaken_by_an_equal_ticket() {
    let hasty = Variants::none().with(bakery::VariantId::NoChoosing);
    let mut story = Story::<Bakery>::new(2, &hasty);
    // P1 has read P2's number, and P2 enters before P1 takes the same ticket.
    let told = story.tell(&[1, 2, 1, 2, 2, 2, 1, 1]);
    assert_eq!(told[5], "P2 number[1] = 0, inside");
    assert_eq!(told[6..], ["P1 number[1] := 1", "P1 number[2] = 1, inside"]);
    assert_eq!(story.inside(), 2);
}

#[test]
fn split_test_and_set_admits_both() {
    let split = Variants::none().with(test_and_set::VariantId::Split);
    let mut story = Story::<TestAndSet>::new(2, &split);
    let told = story.tell(&[1, 2, 1, 2, 1, 2]);
    assert_eq!(told[2..4], ["P1 lock = 0", "P2 lock = 0"]);
    assert_eq!(story.inside(), 2);
    let mut story = Story::<TestAndSet>::new(2, &Variants::none());
    let told = story.tell(&[1, 2, 1, 2, 1, 1, 2]);
    assert_eq!(
        told[2..],
        [
            "P1 test-and-set lock = 0, inside",
            "P2 test-and-set lock = 1",
            "P1 exits",
            "P1 lock := 0",
            "P2 test-and-set lock = 0, inside",
        ]
    );
}

#[test]
fn doorways_end_where_the_papers_say() {
    let doorway = |sections: Vec<LockSection>| {
        sections.iter().filter(|it| **it == LockSection::Doorway).count()
    };
    assert_eq!(doorway(sections::<PetersonLock>(3, &Variants::none())), 2, "Q and TURN");
    assert_eq!(doorway(sections::<Bakery>(3, &Variants::none())), 5, "choosing, 2 reads, number");
    assert_eq!(doorway(sections::<TestAndSet>(3, &Variants::none())), 0);
}

/// Lets P1 enter alone. Returns the section of the program that P1 has reached after each step,
/// until it is inside the critical section.
fn sections<L: SharedMemoryLock>(size: u32, config: &L::Config) -> Vec<LockSection> {
    let mut story = Story::<L>::new(size, config);
    story.step(1);
    let mut sections = Vec::new();
    while story.processes[0].section() != LockSection::Inside {
        sections.push(story.processes[0].section());
        story.step(1);
    }
    sections
}

#[test]
fn every_mistake_is_declared_with_its_command() {
    let all = [PetersonLock::card(2), Bakery::card(2), TestAndSet::card()];
    for variant in all.iter().flat_map(|card| &card.variants) {
        assert!(!variant.sound && !variant.shown_by.is_empty(), "{}", variant.name);
    }
    assert_eq!(peterson_lock::VariantId::ALL.len(), 3);
}
