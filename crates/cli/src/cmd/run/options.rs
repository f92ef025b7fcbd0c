//! What the user may ask for.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::schedule::{Cut, Moment, Pause, Timeouts};
use crate::cmd::duration;
use crate::cmd::group::nodes;
use crate::cmd::known::algorithm;
use crate::cmd::output::Format;
use crate::cmd::size::size;

const EXAMPLES: &str = "\
Examples:
  tenure run
  tenure run --mutex coordinated:raft --kill leader@2s --restart leader@5s --duration 10s
  tenure run --election raft --partition leader@2s..5s --duration 8s
  tenure run --log raft-log --kill all@2s --restart all@3s
  tenure run --service 3 --clients 8";

/// The main job: a cluster of real processes that elects, locks, is hurt, and is judged
///
/// Starts every node as a process of its own on this machine. They elect a leader, and each
/// enters the critical section again and again to increment one shared counter by an unprotected
/// read, add, write. Meanwhile nodes are killed, stopped and restarted; in the end one table says
/// what happened, and whether anything was violated or lost (exit status 1).
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// How many nodes [default: 5]
    #[arg(short = 'n', long, value_name = "N", value_parser = nodes, allow_hyphen_values = true)]
    #[arg(help_heading = "The cluster")]
    pub(super) nodes: Option<u32>,
    /// The lock: any that `tenure list` shows [default: coordinated:ELECTION]
    #[arg(long, value_name = "NAME", value_parser = algorithm(), hide_possible_values = true)]
    #[arg(help_heading = "The cluster")]
    pub(super) mutex: Option<String>,
    /// The election: any that `tenure list` shows [default: the one of the lock, or bully]
    #[arg(long, value_name = "NAME", value_parser = algorithm(), hide_possible_values = true)]
    #[arg(help_heading = "The cluster")]
    pub(super) election: Option<String>,
    /// Keep a log in place of a lock and a leader: raft-log
    #[arg(long, value_name = "NAME", value_parser = algorithm(), hide_possible_values = true)]
    #[arg(conflicts_with_all = ["mutex", "election", "no_lock", "hold", "fifo"])]
    #[arg(help_heading = "The cluster")]
    pub(super) log: Option<String>,
    /// Have a lock service of so many members (`tenure serve`), and clients who share one lock
    ///
    /// Members and clients are processes. Clients count under the lock, by its fences; what they
    /// were told is judged beside what the log of the service says.
    #[arg(long, value_name = "N", conflicts_with_all = ["mutex", "election", "log", "fifo"])]
    #[arg(help_heading = "The cluster")]
    pub(super) service: Option<u32>,
    /// With --log or --service: how many clients there are [default: 8]
    ///
    /// A quarter of those of a log only read, and so stay with whoever answers them.
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "The work")]
    pub(super) clients: Option<u32>,
    /// With --log: the shortest and the longest election timeout [default: 150ms..300ms]
    #[arg(long, value_name = "FROM..UNTIL", requires = "log")]
    #[arg(help_heading = "The cluster")]
    pub(super) election_timeout: Option<Timeouts>,
    /// With --log or --service: after how many entries a snapshot stands for them [default: 1000,
    /// of a service 10000]
    ///
    /// A tenth as many before it are kept, for who is a little behind.
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "The cluster")]
    pub(super) snapshot_after: Option<NonZeroU64>,
    /// Variants of lock or log to switch on, separated by commas; `tenure list NAME` shows them
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[arg(help_heading = "The cluster")]
    pub(super) variant: Vec<String>,
    /// The quorums of a lock that needs them: pairs, fpp, grid, majority or tree [default: grid]
    #[arg(long, value_name = "NAME")]
    #[arg(help_heading = "The cluster")]
    pub(super) quorums: Option<String>,
    /// The tree of a lock that needs one: star, path or heap [default: star]
    #[arg(long, value_name = "NAME")]
    #[arg(help_heading = "The cluster")]
    pub(super) tree: Option<String>,
    /// How often every node enters, or every client asks, instead of a time or within it
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "The work")]
    pub(super) entries: Option<u64>,
    /// How long the nodes go on entering [default: 10s, unless there are --entries]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    #[arg(help_heading = "The work")]
    pub(super) duration: Option<Duration>,
    /// Kill (SIGKILL) the leader, the process inside, another one or all: leader@2s, inside@2s,
    /// 3@1s, all@1s; repeatable [default: leader@2s, with --restart leader@5s, where the lock
    /// survives it and no fault is asked for]
    ///
    /// Inside is the next process that enters from that time on: it is killed, stopped or cut off
    /// while it holds the lock, between its read and its write of the counter. A requested fault
    /// replaces the default ones.
    #[arg(long, visible_alias = "crash", value_name = "WHO@WHEN")]
    #[arg(help_heading = "Faults")]
    pub(super) kill: Vec<Moment>,
    /// Inject no fault, not even the default ones
    ///
    /// For a run of some --entries whose length depends on the machine.
    #[arg(long)]
    #[arg(conflicts_with_all = ["kill", "leave", "restart", "pause", "partition", "full_disk"])]
    #[arg(conflicts_with_all = ["slow_disk", "lose", "duplicate"])]
    #[arg(help_heading = "Faults")]
    pub(super) no_faults: bool,
    /// Ask (SIGTERM) the leader or a process to leave: leader@2s, 3@1s; repeatable
    ///
    /// It hands over what it leads and says goodbye. --restart starts it again.
    #[arg(long, value_name = "WHO@WHEN")]
    #[arg(help_heading = "Faults")]
    pub(super) leave: Vec<Moment>,
    /// Start a process again that was killed or left, with what it had saved: leader@5s,
    /// inside@5s, 3@4s, all@2s; repeatable
    #[arg(long, visible_alias = "recover", value_name = "WHO@WHEN")]
    #[arg(help_heading = "Faults")]
    pub(super) restart: Vec<Moment>,
    /// Stop (SIGSTOP) a process for some time: 2@1s..3s, leader@1s..3s, inside@1s..3s; repeatable
    #[arg(long, value_name = "WHO@FROM..UNTIL")]
    #[arg(help_heading = "Faults")]
    pub(super) pause: Vec<Pause>,
    /// Cut some off from all others for some time: 1,2@2s..5s, leader@2s..5s, inside@2s..5s;
    /// repeatable
    ///
    /// The nodes are connected through this command then, which passes nothing between the sides
    /// and tells nobody, as a cable that is pulled out. What was sent waits, and arrives when the
    /// cut is over, as over TCP. The resource can be reached from both sides all the time.
    #[arg(long, value_name = "LIST@FROM..UNTIL")]
    #[arg(help_heading = "Faults")]
    pub(super) partition: Vec<Cut>,
    /// With --service: a member can write to no file for some time: 2@1s..3s, leader@1s..3s;
    /// repeatable
    ///
    /// As on a full disk: whoever cannot save ends and says why (status 4). After that time it is
    /// started again, with what it had saved.
    #[arg(long, value_name = "WHO@FROM..UNTIL", requires = "service")]
    #[arg(help_heading = "Faults")]
    pub(super) full_disk: Vec<Pause>,
    /// With --service: the disk of a member is slow for some time: 2@1s..3s, leader@1s..3s,
    /// all@1s..2s; repeatable
    ///
    /// Each flush takes --slow-flush longer, also after a restart. strace does that, which has to
    /// be there; some systems allow it to root alone.
    #[arg(long, value_name = "WHO@FROM..UNTIL", requires = "service")]
    #[arg(help_heading = "Faults")]
    pub(super) slow_disk: Vec<Pause>,
    /// With --slow-disk: how much longer a flush takes
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "15ms")]
    #[arg(help_heading = "Faults", requires = "slow_disk")]
    pub(super) slow_flush: Duration,
    /// With --service: two more clients put values, some of so many bytes, such as 1M, and read
    /// them
    ///
    /// They do many things at a time; most values are short, and some have half as many bytes or
    /// more. In the end all members are killed and started again: what was acknowledged has to be
    /// there at each of them. 1400K are the most.
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "service")]
    #[arg(help_heading = "The work")]
    pub(super) values: Option<u64>,
    /// How long to stay inside, between the read and the write
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "0ms")]
    #[arg(help_heading = "The work")]
    pub(super) hold: Duration,
    /// The longest pause between entries; each is drawn
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "0ms")]
    #[arg(help_heading = "The work")]
    pub(super) think: Duration,
    /// The control experiment: no lock and no fence, so updates get lost
    #[arg(long)]
    #[arg(help_heading = "The work")]
    pub(super) no_lock: bool,
    /// Run over the reliable-channel adapter
    #[arg(long)]
    #[arg(help_heading = "The cluster")]
    pub(super) fifo: bool,
    /// With --fifo or --log: how likely a message is lost above the sockets, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    #[arg(help_heading = "Faults")]
    pub(super) lose: f64,
    /// With --fifo or --log: how likely a message is sent twice, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    #[arg(help_heading = "Faults")]
    pub(super) duplicate: f64,
    /// Where states, traces and logs go, and stay, however long the traces become [default: a
    /// temporary directory, removed if everything held]
    #[arg(long, value_name = "DIR")]
    #[arg(help_heading = "Written and told")]
    pub(super) dir: Option<PathBuf>,
    /// Without --dir: how much of each trace is kept on disk, in MiB [default: 64]
    ///
    /// Traces are judged while the run goes on; what was judged is deleted beyond this, except
    /// around the first violation. A run may so last as long as you like.
    #[arg(long, value_name = "N", conflicts_with = "dir")]
    #[arg(help_heading = "Written and told")]
    pub(super) trace_mib: Option<u64>,
    /// In the traces, what each process holds after every step that changed it
    #[arg(long)]
    #[arg(help_heading = "Written and told")]
    pub(super) states: bool,
    /// Show the run on a page while it runs, and its verdicts in the end: prints its address
    ///
    /// Without --duration and --entries the run takes a minute then, and the leader is killed
    /// after 10 s and comes back after 15 s, so that there is time to open the page.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:0"
    )]
    #[arg(help_heading = "Written and told")]
    pub(super) watch: Option<SocketAddr>,
    /// What pauses and injected faults are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(help_heading = "The cluster")]
    pub(super) seed: u64,
    /// Do to the algorithm what it says that it does not survive
    #[arg(long)]
    #[arg(help_heading = "Faults")]
    pub(super) beyond_assumptions: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    #[arg(help_heading = "Written and told")]
    pub(super) format: Format,
}

impl Options {
    /// How many nodes there are.
    pub(super) fn size(&self) -> u32 {
        self.nodes.unwrap_or(5)
    }
}
