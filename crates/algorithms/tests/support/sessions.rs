//! Users of sessions with random schedules, and a monitor that checks them.

use tenure_core::service::user::{ServiceUser, UserModelConfig, UserState};
use tenure_core::{ChannelOrder, Monitor, ProcessId, Protocol, Service};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

/// Runs a random schedule. The user of each process requests the number of sessions that `times`
/// contains for this process. Returns the number of messages, and the largest number of sessions at
/// the same time. Returns an error if a property is violated or a deadlock occurs.
pub(crate) fn run<P, U, M>(
    config: P::Config,
    times: &[u32],
    mut monitor: M,
    seed: u64,
) -> Result<(u64, usize), String>
where
    P: Protocol,
    U: ServiceUser<Command = P::Command, Event = P::Event>,
    M: Monitor<P::Command, P::Event>,
{
    let size = u32::try_from(times.len()).expect("few processes");
    let mut cluster = TestCluster::<P>::with_same_config(size, ChannelOrder::Reordered, config);
    let mut rng = SplitMix64(seed);
    let user = |(at, times): (usize, &u32)| {
        let (at, service) = (ProcessId::from_index(at), Service::Other);
        U::new(&UserModelConfig { service, at, size, work_count: *times })
    };
    let mut users: Vec<U> = times.iter().enumerate().map(user).collect();
    let mut most = 0;
    for step in 0..1_000_000_u32 {
        for (at, seen) in cluster.take_events() {
            let verdict = monitor.observe(at, seen.to_observation());
            verdict.map_err(|violation| format!("step {step}: {violation}"))?;
            if let ProcessEvent::Event(event) = &seen {
                users[at.index()].on_event(event);
            }
        }
        most = most.max(users.iter().filter(|user| user.is_using()).count());
        let links = cluster.links_in_use();
        let ready = |at: &usize| users[*at].next_command().is_some();
        let ready: Vec<usize> = (0..users.len()).filter(ready).collect();
        let waits = users.iter().any(|user| user.state() == UserState::Waiting);
        match links.len() + ready.len() {
            0 if waits => return Err(format!("step {step}: blocked, {users:?}")),
            0 => return Ok((cluster.total_sent(), most)),
            choices => match rng.below(choices) {
                link if link < links.len() => cluster.deliver(links[link], &mut rng),
                other => {
                    let at = ready[other - links.len()];
                    let command = users[at].next_command().expect("it is ready");
                    users[at].on_command(&command);
                    cluster.issue_command(ProcessId::from_index(at), command);
                }
            },
        }
    }
    Err("step limit exceeded".into())
}
