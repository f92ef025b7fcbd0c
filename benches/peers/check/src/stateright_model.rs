//! A group of processes as a model of stateright. The model runs the same protocol code on the same
//! process states as Tenure's checker. Links keep the order of messages.

use std::collections::VecDeque;
use std::marker::PhantomData;

use stateright::{Checker, Model, Property};
use tenure_core::{ConstantEnvironment, EffectBuffer, Group, Input, ProcessId};

use crate::compared_protocol::{ComparedProtocol, Scope, User};

pub(crate) struct GroupModel<P> {
    scope: Scope,
    protocol: PhantomData<fn() -> P>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World<P: ComparedProtocol> {
    processes: Vec<P>,
    users: Vec<P::User>,
    /// Links by sender and receiver.
    links: Vec<VecDeque<P::Message>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Command(usize),
    Deliver(usize, usize),
}

/// Explores a group breadth-first, and returns the numbers of states and transitions, and true if
/// the property holds.
pub(crate) fn explore<P: ComparedProtocol>(scope: Scope) -> (u64, u64, bool) {
    let model = GroupModel { scope, protocol: PhantomData::<fn() -> P> };
    let checker = model.checker().threads(1).spawn_bfs().join();
    let holds = checker.discoveries().is_empty();
    (checker.unique_state_count() as u64, checker.state_count() as u64, holds)
}

impl<P: ComparedProtocol> Model for GroupModel<P> {
    type State = World<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<World<P>> {
        let size = self.scope.size as usize;
        let boot = |at| {
            let group = Group::new(ProcessId::from_index(at), self.scope.size);
            P::boot(
                group,
                &P::config(self.scope),
                None,
                &mut EffectBuffer::new(ConstantEnvironment),
            )
        };
        vec![World {
            processes: (0..size).map(boot).collect(),
            users: vec![P::User::new(self.scope.times); size],
            links: vec![VecDeque::new(); size * size],
        }]
    }

    fn actions(&self, world: &World<P>, actions: &mut Vec<Action>) {
        let size = self.scope.size as usize;
        let enabled = |user: &P::User| user.enabled().is_some();
        actions.extend((0..size).filter(|at| enabled(&world.users[*at])).map(Action::Command));
        for (link, queue) in world.links.iter().enumerate() {
            if !queue.is_empty() {
                actions.push(Action::Deliver(link / size, link % size));
            }
        }
    }

    fn next_state(&self, world: &World<P>, action: Action) -> Option<World<P>> {
        let size = self.scope.size as usize;
        let mut world = world.clone();
        let (at, input) = match action {
            Action::Command(at) => {
                let command = world.users[at].enabled()?;
                world.users[at].on_command();
                (at, Input::Command(command))
            }
            Action::Deliver(from, to) => {
                let message = world.links[from * size + to].pop_front()?;
                (to, Input::Message { from: ProcessId::from_index(from), message })
            }
        };
        let mut batch: EffectBuffer<P> = EffectBuffer::new(ConstantEnvironment);
        world.processes[at].step(input, &mut batch);
        for (to, message) in batch.messages {
            world.links[at * size + to.index()].push_back(message);
        }
        batch.events.iter().for_each(|event| world.users[at].on_event(event));
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("safety", |_, world: &World<P>| {
            P::is_safe(&world.processes, &world.users)
        })]
    }
}
