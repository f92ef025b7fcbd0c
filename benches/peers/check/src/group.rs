//! The textbook's Ricart–Agrawala as a stateright model. It steps the same `Protocol` values with
//! the same code, over FIFO links and with a fixed number of entries per process.

use std::collections::VecDeque;

use stateright::{Model, Property};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Batch, ConstantEnvironment, Group, Input, ProcessId, Protocol};

use crate::textbook::{Message, Mistake, Textbook};

/// A group of processes that enter a fixed number of times each.
pub(crate) struct Lock {
    pub(crate) size: u32,
    pub(crate) entries: u32,
}

/// A user of the lock, as in Tenure's checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum User {
    Outside,
    Waiting,
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    processes: Vec<Textbook>,
    users: Vec<(User, u32)>,
    /// Links by sender and receiver.
    links: Vec<VecDeque<Message>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Want(usize),
    Exit(usize),
    Deliver(usize, usize),
}

impl Model for Lock {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let size = self.size as usize;
        let boot = |at| {
            let group = Group::new(ProcessId::at(at), self.size);
            Textbook::boot(group, &Mistake::None, None, &mut Batch::new(ConstantEnvironment))
        };
        vec![World {
            processes: (0..size).map(boot).collect(),
            users: vec![(User::Outside, self.entries); size],
            links: vec![VecDeque::new(); size * size],
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let size = self.size as usize;
        for (at, (user, left)) in world.users.iter().enumerate() {
            match user {
                User::Outside if *left > 0 => actions.push(Action::Want(at)),
                User::Inside => actions.push(Action::Exit(at)),
                User::Outside | User::Waiting => {}
            }
        }
        for (link, queue) in world.links.iter().enumerate() {
            if !queue.is_empty() {
                actions.push(Action::Deliver(link / size, link % size));
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let size = self.size as usize;
        let mut world = world.clone();
        let (at, input) = match action {
            Action::Want(at) => {
                world.users[at] = (User::Waiting, world.users[at].1 - 1);
                (at, Input::Command(Command::Enter))
            }
            Action::Exit(at) => {
                world.users[at].0 = User::Outside;
                (at, Input::Command(Command::Exit))
            }
            Action::Deliver(from, to) => {
                let message = world.links[from * size + to].pop_front()?;
                (to, Input::Message { from: ProcessId::at(from), message })
            }
        };
        let mut batch: Batch<Textbook> = Batch::new(ConstantEnvironment);
        world.processes[at].step(input, &mut batch);
        for (to, message) in batch.messages {
            world.links[at * size + to.index()].push_back(message);
        }
        if batch.events.iter().any(|event| matches!(event, Event::Entered { .. })) {
            world.users[at].0 = User::Inside;
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("mutual exclusion", |_, world: &World| {
            world.users.iter().filter(|(user, _)| *user == User::Inside).count() <= 1
        })]
    }
}
