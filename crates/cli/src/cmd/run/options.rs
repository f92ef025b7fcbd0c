//! The options of `tenure run`.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::schedule::{FaultInterval, PartitionSpec, TimedTarget};
use crate::cmd::duration;
use crate::cmd::graph::{QuorumsOption, TopologyOption, TreeOption};
use crate::cmd::group::{parse_positive, parse_size};
use crate::cmd::name_parser::{election, lock};
use crate::cmd::output::Format;
use crate::cmd::size::parse_byte_size;

const EXAMPLES: &str = "\
Examples:
  tenure run
  tenure run --mutex coordinated:raft --kill leader@2s --restart leader@5s --duration 10s
  tenure run --election raft --partition leader@2s..5s --duration 8s
  tenure run --service 3 --clients 8 --kill all@2s --restart all@3s";

/// Run a cluster of real processes, inject faults, and verify the result
///
/// Starts every node as a separate process on this machine. The nodes elect a leader, and each
/// repeatedly enters the critical section to increment a shared counter by read, add and write.
/// Meanwhile nodes are killed, suspended and restarted. At the end a table shows the results. Exit
/// status 1: a property was violated or an update was lost.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Number of nodes [default: 5]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_size)]
    #[arg(allow_hyphen_values = true, help_heading = "Cluster")]
    pub(super) nodes: Option<u32>,
    /// Lock algorithm, from `tenure list` [default: coordinated:ELECTION]
    #[arg(long, value_name = "NAME", value_parser = lock(), hide_possible_values = true)]
    #[arg(help_heading = "Cluster")]
    pub(super) mutex: Option<String>,
    /// Election algorithm, from `tenure list` [default: that of the lock, or bully]
    #[arg(long, value_name = "NAME", value_parser = election(), hide_possible_values = true)]
    #[arg(help_heading = "Cluster")]
    pub(super) election: Option<String>,
    /// Run a lock service with this number of members (`tenure serve`) and clients of one lock
    ///
    /// Members and clients are processes. Clients increment the counter with the fencing tokens of
    /// the lock. Their observations are checked against the log of the service.
    #[arg(long, value_name = "N", conflicts_with_all = ["mutex", "election", "fifo"])]
    #[arg(help_heading = "Cluster")]
    pub(super) service: Option<u32>,
    /// With --service: number of clients [default: 8]
    #[arg(long, value_name = "N", requires = "service", help_heading = "Workload")]
    pub(super) clients: Option<u32>,
    /// With --service: number of log entries after which a snapshot is taken [default: 10000]
    ///
    /// A tenth of this number of entries before the snapshot is kept for slow followers.
    #[arg(long, value_name = "N", requires = "service", help_heading = "Cluster")]
    pub(super) snapshot_after: Option<NonZeroU64>,
    /// Variants of the lock, from `tenure list NAME`, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Cluster")]
    pub(super) variant: Vec<String>,
    /// Allow variants that are deliberate mistakes: the run may violate what the card promises
    #[arg(long, requires = "variant", help_heading = "Cluster")]
    pub(super) allow_mistakes: bool,
    /// Quorum system of a lock that uses quorums: pairs, fpp, grid, majority, tree, quorums such as
    /// 1,2/2,3/1,3, or a file with one quorum a line [default: grid, but majority for the lock
    /// `majority`]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Cluster")]
    pub(super) quorums: Option<QuorumsOption>,
    /// Tree of a lock that uses one: star, path, heap, edges 1-2,1-3, or a file [default: star]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Cluster")]
    pub(super) tree: Option<TreeOption>,
    /// Network of an algorithm that sends along edges, as in `tenure simulate` [default: ring]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Cluster")]
    pub(super) topology: Option<TopologyOption>,
    /// Number of entries of each node, instead of or within --duration
    #[arg(long, value_name = "N", value_parser = parse_positive::<NonZeroU64>)]
    #[arg(help_heading = "Workload")]
    pub(super) entries: Option<NonZeroU64>,
    /// Duration of the workload [default: 10s, unless --entries is given]
    #[arg(long, value_name = "TIME", value_parser = duration::parse, help_heading = "Workload")]
    pub(super) duration: Option<Duration>,
    /// Kill (SIGKILL) the leader, the lock holder, a process or all: leader@2s, inside@2s, 3@1s,
    /// all@1s; repeatable [default: leader@2s, with --restart leader@5s, if the lock tolerates it
    /// and no fault is given]
    ///
    /// `inside` is the next process that enters from that time on. The fault occurs while the
    /// process holds the lock, between its read and its write of the counter. Any given fault
    /// replaces the default ones.
    #[arg(long, visible_alias = "crash", value_name = "TARGET@TIME", help_heading = "Faults")]
    pub(super) kill: Vec<TimedTarget>,
    /// Inject no faults, not even the default ones
    ///
    /// Use this with --entries, for runs whose duration depends on the machine.
    #[arg(long)]
    #[arg(conflicts_with_all = ["kill", "leave", "restart", "pause", "partition", "full_disk"])]
    #[arg(conflicts_with_all = ["slow_disk", "lose", "duplicate"], help_heading = "Faults")]
    pub(super) no_faults: bool,
    /// Ask (SIGTERM) the leader or a process to leave: leader@2s, 3@1s; repeatable
    ///
    /// The process transfers leadership and leaves the cluster. --restart starts it again.
    #[arg(long, value_name = "TARGET@TIME", help_heading = "Faults")]
    pub(super) leave: Vec<TimedTarget>,
    /// Restart a process that was killed or has left, with its saved state: leader@5s, inside@5s,
    /// 3@4s, all@2s; repeatable
    #[arg(long, visible_alias = "recover", value_name = "TARGET@TIME", help_heading = "Faults")]
    pub(super) restart: Vec<TimedTarget>,
    /// Suspend (SIGSTOP) a process in an interval: 2@1s..3s, leader@1s..3s, inside@1s..3s;
    /// repeatable
    #[arg(long, value_name = "TARGET@FROM..UNTIL", help_heading = "Faults")]
    pub(super) pause: Vec<FaultInterval>,
    /// Partition some processes from all others in an interval: 1,2@2s..5s, leader@2s..5s,
    /// inside@2s..5s; repeatable
    ///
    /// The nodes are then connected through proxies of this command. In a partition nothing passes
    /// and connections stay open, as if a cable were unplugged. Data in transit waits and arrives
    /// after the partition, as over TCP. Both sides can always reach the counter.
    #[arg(long, value_name = "LIST@FROM..UNTIL", help_heading = "Faults")]
    pub(super) partition: Vec<PartitionSpec>,
    /// With --service: fill the disk of a member in an interval: 2@1s..3s, leader@1s..3s;
    /// repeatable
    ///
    /// All writes of the member fail. A member that cannot save ends with an error (status 4).
    /// After the interval it is restarted with its saved state.
    #[arg(long, value_name = "TARGET@FROM..UNTIL", requires = "service", help_heading = "Faults")]
    pub(super) full_disk: Vec<FaultInterval>,
    /// With --service: slow down the disk of a member in an interval: 2@1s..3s, leader@1s..3s,
    /// all@1s..2s; repeatable
    ///
    /// Each flush takes longer by --slow-flush, also after a restart. This requires strace, which
    /// some systems allow for root only.
    #[arg(long, value_name = "TARGET@FROM..UNTIL", requires = "service", help_heading = "Faults")]
    pub(super) slow_disk: Vec<FaultInterval>,
    /// With --slow-disk: additional time of a flush
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "15ms")]
    #[arg(help_heading = "Faults", requires = "slow_disk")]
    pub(super) slow_flush: Duration,
    /// With --service: two more clients that put and read values, short ones and ones of about SIZE
    ///
    /// These clients send many requests in parallel. Most values have at most 1 KiB. A large value
    /// has between half of SIZE and SIZE. Each value also has 8 random bytes. At the end all
    /// members are killed and restarted. No member may then have an older value of a key than the
    /// last acknowledged one. SIZE is at most 1400K.
    #[arg(long, value_name = "SIZE", value_parser = parse_byte_size, requires = "service")]
    #[arg(help_heading = "Workload")]
    pub(super) values: Option<u64>,
    /// Time in the critical section, between the read and the write
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "0ms")]
    #[arg(help_heading = "Workload")]
    pub(super) hold: Duration,
    /// Maximum pause between entries; each pause is random
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "0ms")]
    #[arg(help_heading = "Workload")]
    pub(super) think: Duration,
    /// Control experiment without a lock and fencing tokens: updates get lost
    #[arg(long, help_heading = "Workload")]
    pub(super) no_lock: bool,
    /// Use the reliable-channel adapter
    #[arg(long, help_heading = "Cluster")]
    pub(super) fifo: bool,
    /// With --fifo: probability that a message is lost above the sockets, 0 to below 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    #[arg(help_heading = "Faults")]
    pub(super) lose: f64,
    /// With --fifo: probability that a message is duplicated, 0 to below 1
    #[arg(long, value_name = "P", default_value_t = 0.0, allow_hyphen_values = true)]
    #[arg(help_heading = "Faults")]
    pub(super) duplicate: f64,
    /// Directory for states, traces and logs, which are kept without a size limit [default: a
    /// temporary directory, removed if all properties hold]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(super) dir: Option<PathBuf>,
    /// Without --dir: size of each trace to keep on disk, in MiB [default: 64]
    ///
    /// Traces are verified during the run. Verified parts beyond this size are deleted, except
    /// around the first violation, so that a run can last arbitrarily long.
    #[arg(long, value_name = "N", value_parser = parse_positive::<NonZeroU64>)]
    #[arg(conflicts_with = "dir", help_heading = "Output")]
    pub(super) trace_mib: Option<NonZeroU64>,
    /// Also write the state of each process to the traces, after every step that changed it
    #[arg(long, help_heading = "Output")]
    pub(super) states: bool,
    /// Show the run and its verdicts on a web page, and print the URL
    ///
    /// Without --duration and --entries, the run takes a minute. In such a run, the default faults
    /// leave time to open the page: the leader is killed after 10 s and restarted after 15 s. These
    /// faults occur if the lock tolerates them, and if neither a fault nor --no-faults is given.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:0"
    )]
    #[arg(help_heading = "Output")]
    pub(super) watch: Option<SocketAddr>,
    /// Seed of random pauses and faults
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Cluster")]
    pub(super) seed: u64,
    /// Allow faults that the card of the algorithm excludes
    #[arg(long, help_heading = "Faults")]
    pub(super) beyond_assumptions: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(super) format: Format,
}

impl Options {
    pub(super) fn size(&self) -> u32 {
        self.nodes.unwrap_or(5)
    }
}
