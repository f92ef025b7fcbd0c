//! Runs a protocol with your own sockets, threads and clock: three processes over UDP, without an
//! async runtime.
//!
//! UDP may lose, repeat and reorder datagrams, so the algorithm runs over the reliable-channel
//! adapter. To run any other protocol, you need no more than the loop in this file.
//!
//! `cargo run -p tenure --example 04_bring_your_own_io`
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tenure::algorithms::channel::{FifoChannel, fifo};
use tenure::algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure::core::service::mutex::{Command, Event};
use tenure::core::{
    ConstantEnvironment, Group, Input, Node, ProcessId, Protocol, ReleasedEffects, TimerChange,
};

type Lock = FifoChannel<RicartAgrawala>;
type Timer = <Lock as Protocol>::Timer;

const PROCESSES: u32 = 3;
const ENTRIES: u32 = 20;

static DONE: AtomicU32 = AtomicU32::new(0);
static INSIDE: AtomicU32 = AtomicU32::new(0);

fn main() -> std::io::Result<()> {
    let sockets = (0..PROCESSES)
        .map(|_| UdpSocket::bind("127.0.0.1:0"))
        .collect::<std::io::Result<Vec<_>>>()?;
    let addresses =
        sockets.iter().map(UdpSocket::local_addr).collect::<std::io::Result<Vec<_>>>()?;
    thread::scope(|scope| {
        for (me, socket) in sockets.into_iter().enumerate() {
            let addresses = &addresses;
            scope.spawn(move || {
                let mut process = Process {
                    socket,
                    addresses,
                    timers: BTreeMap::new(),
                    entries: 0,
                    next: Some(Command::Enter),
                };
                process.run(ProcessId::from_index(me));
            });
        }
    });
    println!("{} entries by {PROCESSES} processes, one at a time", PROCESSES * ENTRIES);
    Ok(())
}

/// A process with its socket, its timers and its user.
struct Process<'a> {
    socket: UdpSocket,
    addresses: &'a [std::net::SocketAddr],
    timers: BTreeMap<Timer, Instant>,
    entries: u32,
    next: Option<Command>,
}

impl Process<'_> {
    fn run(&mut self, me: ProcessId) {
        let config = fifo::Config::with_inner_config(ricart_agrawala::Config::default());
        let mut node: Node<Lock> =
            Node::boot(Group::new(me, PROCESSES), &config, None, ConstantEnvironment);
        // The adapter saves the number of its boot. A real service writes it to disk first.
        self.release(node.boot_step().mark_saved());
        while DONE.load(Ordering::SeqCst) < PROCESSES {
            while let Some(command) = self.next.take() {
                self.release(node.step(Input::Command(command)).mark_saved());
            }
            if let Some(input) = self.wait() {
                self.release(node.step(input).mark_saved());
            }
        }
    }

    /// Waits for a datagram until the next timer fires. Returns the message or the timer as an
    /// input; `None` if there is nothing to handle.
    fn wait(&mut self) -> Option<Input<Lock>> {
        let due = self.timers.iter().min_by_key(|(_, deadline)| **deadline);
        let (timer, pause) = match due {
            Some((timer, deadline)) => {
                (Some(timer.clone()), deadline.saturating_duration_since(Instant::now()))
            }
            None => (None, Duration::from_millis(20)),
        };
        if pause.is_zero() {
            let timer = timer?;
            self.timers.remove(&timer);
            return Some(Input::Timer(timer));
        }
        self.socket.set_read_timeout(Some(pause)).expect("a positive pause");
        let mut datagram = [0; 1024];
        let (length, address) = self.socket.recv_from(&mut datagram).ok()?;
        let from = ProcessId::from_index(self.addresses.iter().position(|peer| *peer == address)?);
        let message = postcard::from_bytes(&datagram[..length]).ok()?;
        Some(Input::Message { from, message })
    }

    fn release(&mut self, released: ReleasedEffects<'_, Lock>) {
        for (to, message) in released.messages {
            let datagram = postcard::to_stdvec(&message).expect("a message can be encoded");
            // An error is ignored, because the adapter repeats lost messages.
            let _ = self.socket.send_to(&datagram, self.addresses[to.index()]);
        }
        for change in released.timers {
            match change {
                TimerChange::Cancel(timer) => self.timers.remove(&timer),
                TimerChange::Set(timer, after) => {
                    self.timers.insert(timer, Instant::now() + Duration::from_nanos(after.max))
                }
            };
        }
        for event in released.events {
            self.next = self.on_event(event);
        }
    }

    fn on_event(&mut self, event: Event) -> Option<Command> {
        match event {
            Event::Entered { .. } => {
                assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "two processes are inside");
                self.entries += 1;
                INSIDE.fetch_sub(1, Ordering::SeqCst);
                Some(Command::Exit)
            }
            Event::Exited if self.entries < ENTRIES => Some(Command::Enter),
            Event::Exited => {
                DONE.fetch_add(1, Ordering::SeqCst);
                None
            }
        }
    }
}
