//! What the handles of a lock say, where nodes are told by hand what happens.

use std::time::Duration;

use tenure_algorithms::compose::Coordinated;
use tenure_algorithms::election::Bully;
use tenure_core::service::{election, mutex, office};
use tenure_core::{Fence, Name, ProcessId, Term};
use tenure_runtime::{Asks, Front, Guard, Leadership, Local, Lock, Lost, Stopped};
use tokio::task::JoinHandle;

type Office = Coordinated<Bully>;

/// A node without a protocol: what its users ask is read, and what they are told is said.
struct Bench {
    front: Front,
    lock: Lock,
    asks: Asks,
    /// A node whose handles are all gone would stop.
    _leadership: Leadership,
}

impl Bench {
    fn new() -> Self {
        let (front, lock, leadership, asks) = Front::new();
        Bench { front, lock, asks, _leadership: leadership }
    }

    /// Takes what users have asked; gives what the protocol is told.
    async fn asked(&mut self) -> Vec<mutex::Command> {
        // Whoever asks in a task of its own has done so then: there is one thread.
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        let mut commands = Vec::new();
        while let Ok(ask) = self.asks.try_recv() {
            commands.extend(Local::<Office>::ask(&mut self.front, ask));
        }
        commands.into_iter().map(of_mutex).collect()
    }

    fn told(&mut self, event: office::Event) -> Option<mutex::Command> {
        Local::<Office>::told(&mut self.front, event).map(of_mutex)
    }

    fn entered(&mut self, number: u64) -> Option<mutex::Command> {
        self.told(office::Event::Mutex(mutex::Event::Entered { fence: Fence(number, 0) }))
    }

    fn exited(&mut self) -> Option<mutex::Command> {
        self.told(office::Event::Mutex(mutex::Event::Exited))
    }

    fn elected(&mut self, number: u64) {
        let term = Term { number, leader: ProcessId(0) };
        let event = election::Event::Elected { leader: term.leader, term };
        assert_eq!(self.told(office::Event::Election(event)), None);
    }

    fn enter(&self) -> JoinHandle<Result<Guard, Stopped>> {
        let lock = self.lock.clone();
        tokio::spawn(async move { lock.enter().await })
    }

    async fn inside(&mut self, number: u64) -> Guard {
        let entering = self.enter();
        assert_eq!(self.asked().await, [mutex::Command::Enter]);
        assert_eq!(self.entered(number), None);
        entering.await.unwrap().unwrap()
    }
}

fn of_mutex(command: office::Command) -> mutex::Command {
    match command {
        office::Command::Mutex(command) => command,
        office::Command::Election(_) => panic!("nobody asked for an election"),
    }
}

#[tokio::test]
async fn an_entry_that_ends_by_itself_under_the_leader_who_let_it_in_was_a_lease_that_is_over() {
    let mut bench = Bench::new();
    bench.elected(1);
    let guard = bench.inside(1).await;
    assert!(!guard.is_lost());
    assert_eq!(bench.exited(), None);
    assert_eq!((guard.is_lost(), guard.lost().await), (true, Lost::LeaseOver));
    drop(guard);
    assert_eq!(bench.asked().await, [], "a guard that is lost leaves nothing");
}

#[tokio::test]
async fn an_entry_that_ends_by_itself_under_another_leader_or_none_went_with_its_leader() {
    for deposed in [false, true] {
        let mut bench = Bench::new();
        bench.elected(1);
        let guard = bench.inside(1).await;
        if deposed {
            let term = Term { number: 1, leader: ProcessId(0) };
            bench.told(office::Event::Election(election::Event::Deposed { term }));
        } else {
            bench.elected(2);
        }
        assert!(!guard.is_lost(), "as long as the entry lasts");
        bench.exited();
        assert_eq!(guard.lost().await, Lost::Deposed);
    }
}

#[tokio::test]
async fn guards_of_a_node_that_is_gone_are_lost_and_who_waits_is_told() {
    let mut bench = Bench::new();
    let guard = bench.inside(1).await;
    let waits = bench.enter();
    bench.asked().await;
    let Bench { front, asks, .. } = bench;
    drop((front, asks));
    assert_eq!((guard.is_lost(), guard.lost().await), (true, Lost::NodeEnded));
    assert_eq!(waits.await.unwrap().unwrap_err(), Stopped);
}

#[tokio::test]
async fn a_node_that_is_told_to_end_does_though_there_are_handles() {
    let mut bench = Bench::new();
    assert!(!Local::<Office>::is_over(&bench.front));
    bench.lock.end_node();
    assert_eq!(bench.asked().await, []);
    assert!(Local::<Office>::is_over(&bench.front));
}

#[tokio::test]
async fn trying_while_a_task_of_this_process_is_inside_or_waits_asks_nobody() {
    let mut bench = Bench::new();
    let guard = bench.inside(1).await;
    let lock = bench.lock.clone();
    let tries = tokio::spawn(async move { lock.try_enter().await });
    assert_eq!(bench.asked().await, []);
    assert!(tries.await.unwrap().unwrap().is_none());
    drop(guard);
    assert_eq!(bench.asked().await, [mutex::Command::Exit]);
}

#[tokio::test]
async fn trying_is_given_up_when_an_answer_could_be_there_and_a_late_grant_is_given_back() {
    let mut bench = Bench::new();
    let lock = bench.lock.clone();
    let tries = tokio::spawn(async move { lock.try_enter().await });
    assert_eq!(bench.asked().await, [mutex::Command::Enter]);
    assert!(tries.await.unwrap().unwrap().is_none());
    assert_eq!(bench.entered(1), None);
    assert_eq!(bench.asked().await, [mutex::Command::Exit], "nobody wants it any more");
    assert_eq!(bench.exited(), None);
    drop(bench.inside(2).await);
}

#[tokio::test]
async fn a_late_grant_goes_to_the_next_task_that_waits() {
    let mut bench = Bench::new();
    let lock = bench.lock.clone();
    let first = tokio::spawn(async move { lock.enter_within(Duration::from_millis(20)).await });
    assert_eq!(bench.asked().await, [mutex::Command::Enter]);
    let second = bench.enter();
    assert!(first.await.unwrap().unwrap().is_none());
    assert_eq!(bench.asked().await, []);
    assert_eq!(bench.entered(7), None);
    assert_eq!(second.await.unwrap().unwrap().fence(), Fence(7, 0));
}

#[tokio::test]
async fn whoever_asks_for_a_name_at_a_node_with_one_lock_is_told_and_does_not_wait() {
    let mut bench = Bench::new();
    let lock = bench.lock.named(Name::new("invoices").unwrap());
    let asks = tokio::spawn(async move { lock.enter().await });
    assert_eq!(bench.asked().await, []);
    assert_eq!(asks.await.unwrap().unwrap_err(), Stopped);
}
