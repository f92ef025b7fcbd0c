//! The same over real sockets: one of three nodes lies, with keys of its own, about every field of
//! every message that it sends. The others go on; and once all are started again and honest,
//! everybody is served.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tempfile::TempDir;
use tenure_algorithms::catalogue::{
    ELECTIONS, MUTEXES, OfficeVisitor, Parameters, office_card, visit_office,
};
use tenure_algorithms::compose::{Detected, detected};
use tenure_algorithms::detector::{Heartbeat, heartbeat};
use tenure_core::{Algorithm, Crashes, Delay, Office, ProcessId, TICKS_PER_UNIT};
use tenure_runtime::store::Owner;
use tenure_runtime::transport::{
    GroupKeys, Keys, Limits, Listen, PrivateKey, Settings, Trust, View,
};
use tenure_runtime::{
    Failure, Front, Injection, Leadership, Lock, Parts, Recorder, Running, Store, start,
};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, timeout};

use super::SIZE;
use super::liar::{Liar, Tongue};

/// How long honest nodes may take to serve everybody, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a liar may look for something new to say.
const IDLE: Duration = Duration::from_millis(1_500);

/// How long it may go on.
const LONGEST: Duration = Duration::from_secs(12);

/// A lock, and the election beside it or below it.
type Name = (String, &'static str);

/// Every lock beside an election, and every election beside a lock.
fn offices() -> Vec<Name> {
    let locks = MUTEXES.iter().map(|lock| ((*lock).to_owned(), "raft"));
    let below = ["raft", "bully"].map(|election| (format!("coordinated:{election}"), election));
    let elections = ELECTIONS.iter().map(|election| ("central".to_owned(), *election));
    below.into_iter().chain(locks).chain(elections).collect()
}

fn parameters() -> Parameters {
    Parameters { delay: 40 * TICKS_PER_UNIT, ..Parameters::plain(SIZE) }
}

/// Where a cluster is: its keys, its addresses and what its nodes have saved.
struct Place {
    directory: TempDir,
    addresses: Vec<SocketAddr>,
    keys: Vec<Keys>,
}

/// A node, and its user, who enters and leaves again and again.
struct Node {
    lock: Lock,
    leadership: Leadership,
    running: Running,
    user: JoinHandle<()>,
}

impl Place {
    fn new() -> (Place, Vec<TcpListener>) {
        let bind = |_| TcpListener::bind("127.0.0.1:0").unwrap();
        let listeners: Vec<TcpListener> = (0..SIZE).map(bind).collect();
        let private: Vec<_> = (0..SIZE).map(|_| PrivateKey::generate().unwrap()).collect();
        let group = GroupKeys::new(private.iter().map(|key| vec![key.public()]).collect()).unwrap();
        let keys = |(index, key)| Keys::new(ProcessId::at(index), key, group.clone()).unwrap();
        let place = Place {
            directory: tempfile::tempdir().unwrap(),
            addresses: listeners.iter().map(|it| it.local_addr().unwrap()).collect(),
            keys: private.into_iter().enumerate().map(keys).collect(),
        };
        (place, listeners)
    }

    fn start<P: Office>(&self, me: ProcessId, listen: Listen, config: P::Config) -> Node {
        let owner = Owner { cluster: "lied-to".into(), process: me, group_size: SIZE };
        let directory = self.directory.path().join(me.to_string());
        let store = Store::open(directory, &owner, "test").unwrap();
        let transport = Settings {
            cluster: "lied-to".into(),
            me,
            session: store.session(),
            listen,
            addresses: self.addresses.iter().map(SocketAddr::to_string).collect(),
            trust: Trust::Keys(self.keys[me.index()].clone().into()),
            limits: Limits::default(),
        };
        let (front, lock, leadership, asks) = Front::new();
        let running = start::<P, Front>(Parts {
            config,
            transport,
            store,
            local: front,
            asks,
            recorder: Recorder::none(),
            injection: Injection::none(),
            suspected: None,
        })
        .unwrap();
        let user = tokio::spawn(user(lock.clone(), leadership.clone(), running.view.clone(), me));
        Node { lock, leadership, running, user }
    }
}

/// Enters, leaves, and asks for a leader where there is none; the highest first.
async fn user(lock: Lock, leadership: Leadership, view: View, me: ProcessId) {
    let begun = Instant::now();
    while !view.peers().iter().all(|it| it.connected) && begun.elapsed() < Duration::from_secs(1) {
        sleep(Duration::from_millis(2)).await;
    }
    sleep(Duration::from_millis(200) * (SIZE - me.number())).await;
    loop {
        if leadership.now().is_none() {
            let _ = leadership.elect();
        }
        let entered = timeout(Duration::from_millis(500), lock.enter()).await;
        drop(entered);
        sleep(Duration::from_millis(2)).await;
    }
}

impl Node {
    /// Leaves in good order; says what became of the node.
    async fn stop(self) -> Result<Result<(), Failure>, JoinError> {
        self.user.abort();
        let _ = self.user.await;
        drop((self.lock, self.leadership));
        self.running.task.await
    }
}

/// One office, one liar.
struct Trial {
    seed: u64,
    /// How many lies are told at most.
    most: usize,
    /// Whether its nodes find again what they had saved: a lock whose card survives no crash begins
    /// anew when all are restarted.
    survives: bool,
}

impl OfficeVisitor for Trial {
    type Output = Result<String, String>;

    fn office<P: Office + Algorithm>(self, inner: P::Config) -> Self::Output {
        let detector = heartbeat::Config {
            period: Delay::units(20),
            timeout: 400 * TICKS_PER_UNIT,
            increment: 100 * TICKS_PER_UNIT,
            longest: 2_000 * TICKS_PER_UNIT,
        };
        let config = detected::Config { detector, inner };
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(self.of::<Detected<Heartbeat, P>>(config))
    }
}

impl Trial {
    async fn of<P: Office>(&self, config: P::Config) -> Result<String, String> {
        let (place, listeners) = Place::new();
        let liar = ProcessId::at(usize::try_from(self.seed).unwrap() % SIZE as usize);
        let tongue = Tongue::new(self.seed, self.most);
        let mut nodes = Vec::new();
        for (index, listener) in listeners.into_iter().enumerate() {
            let (me, listen) = (ProcessId::at(index), Listen::Listener(listener));
            nodes.push(if me == liar {
                place.start::<Liar<P>>(me, listen, (config.clone(), tongue.clone()))
            } else {
                place.start::<P>(me, listen, config.clone())
            });
        }
        self.listen_to(&tongue).await;
        let counts = nodes.iter().map(|node| node.running.view.counts().implausible);
        let disbelieved: u64 = counts.sum();
        for (index, node) in nodes.into_iter().enumerate() {
            let ended = timeout(PATIENCE, node.stop()).await;
            match ended.map_err(|_| "does not stop".to_owned()) {
                Ok(Ok(Ok(()))) => {}
                _ if ProcessId::at(index) == liar => {}
                ended => return Err(format!("{} was taken down: {ended:?}", ProcessId::at(index))),
            }
        }
        if disbelieved == 0 {
            return Err("nothing that was said was absurd".to_owned());
        }
        self.start_again::<P>(&place, config).await?;
        let (lies, (kinds, places)) = (tongue.told(), tongue.reach());
        Ok(format!(
            "{lies} lies of {liar} in {places} places of {kinds} kinds of messages, {disbelieved} \
             times not believed"
        ))
    }

    /// Waits until everything is said.
    async fn listen_to(&self, tongue: &Tongue) {
        let (begun, mut told, mut last) = (Instant::now(), 0, Instant::now());
        while told < self.most && last.elapsed() < IDLE && begun.elapsed() < LONGEST {
            sleep(Duration::from_millis(20)).await;
            let now = tongue.told();
            if now > told {
                (told, last) = (now, Instant::now());
            }
        }
        // What was said last is to arrive.
        sleep(Duration::from_millis(100)).await;
    }

    /// Starts everybody again, honest, and sees everybody served.
    async fn start_again<P: Office>(&self, place: &Place, config: P::Config) -> Result<(), String> {
        if !self.survives {
            for index in 0..SIZE as usize {
                let state = place.directory.path().join(ProcessId::at(index).to_string());
                std::fs::remove_dir_all(state).unwrap();
            }
        }
        let start = |index: usize| {
            let listen = Listen::Address(place.addresses[index]);
            place.start::<P>(ProcessId::at(index), listen, config.clone())
        };
        let nodes: Vec<Node> = (0..SIZE as usize).map(start).collect();
        let mut unserved = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let me = ProcessId::at(index);
            match timeout(PATIENCE, node.lock.enter()).await {
                Ok(Ok(guard)) => drop(guard),
                failed => unserved.push(format!("{me} does not enter: {failed:?}")),
            }
        }
        for node in nodes {
            if !matches!(timeout(PATIENCE, node.stop()).await, Ok(Ok(Ok(())))) {
                unserved.push("an honest node among honest nodes does not end well".to_owned());
            }
        }
        if unserved.is_empty() { Ok(()) } else { Err(unserved.join("; ")) }
    }
}

/// Lies to nodes of an office, and says what was wrong.
fn lie_to((mutex, election): &Name, seed: u64, most: usize) -> Result<(), String> {
    let card = office_card(mutex, election, &parameters()).map_err(|it| it.to_string())?;
    let survives = card.faults.crashes == Crashes::Recovery;
    let trial = Trial { seed, most, survives };
    let outcome = visit_office(mutex, election, &parameters(), trial);
    let outcome = outcome.map_err(|unknown| unknown.to_string()).and_then(|it| it);
    let told =
        outcome.map_err(|wrong| format!("{mutex} beside {election}, seed {seed}: {wrong}"))?;
    eprintln!("{mutex} beside {election}, seed {seed}: {told}");
    Ok(())
}

#[test]
fn a_member_that_lies_takes_nobody_down_over_real_sockets() {
    lie_to(&offices()[0], 2, 40).unwrap();
}

/// Everything that can be said wrongly, by each of them in turn: `cargo xtask attack messages`.
#[test]
#[ignore = "minutes"]
fn a_member_that_lies_about_everything_takes_nobody_down() {
    let offices = offices();
    let all = crate::seeds(0..offices.len() as u64);
    let office = |seed: u64| &offices[usize::try_from(seed).unwrap() % offices.len()];
    let wrong: Vec<String> =
        all.filter_map(|seed| lie_to(office(seed), seed, usize::MAX).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
