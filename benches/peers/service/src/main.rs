//! Comparison of `tenure serve` with etcd and ZooKeeper. Each service has three members, and only
//! one service runs at a time.

mod baseline;
mod catch_up;
mod cluster;
mod idle;
mod large_requests;
mod load;
mod outage;
mod puts;
mod recipe;
mod report;
mod sessions;
mod side;
mod zookeeper;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use cluster::Cluster;
use load::LOADS;
use side::{Programs, ServiceKind, Side};

const ROUNDS: usize = 5;

struct Options {
    programs: Programs,
    place: PathBuf,
    rounds: usize,
    long: Duration,
    kills: usize,
    only: Option<String>,
    sessions: usize,
    away: usize,
    keys: usize,
    watchers: usize,
    pause: Duration,
    without_etcd: bool,
    floor: bool,
    readme: Option<PathBuf>,
}

impl Options {
    fn leaves_out(&self, row: &str) -> bool {
        self.only.as_ref().is_some_and(|only| !row.contains(only))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if std::env::args().nth(1).as_deref() == Some(baseline::SERVE_OPTION) {
        return baseline::serve().await;
    }
    let options = options();
    if options.floor {
        return baseline::report(&options).await;
    }
    let mut sides = Vec::from(Side::ALL);
    sides.retain(|side| match side.kind() {
        ServiceKind::Etcd => !options.without_etcd,
        ServiceKind::ZooKeeper => options.programs.zookeeper.is_some(),
        ServiceKind::Tenure => true,
    });
    if options.sessions > 0 {
        return sessions::report(&options).await;
    }
    if options.away > 0 {
        return catch_up::report(&options).await;
    }
    if options.watchers > 0 {
        return idle::report(&options).await;
    }
    if options.keys > 0 {
        return large_requests::report(&options).await;
    }
    if options.kills > 0 {
        outage::table(&sides, &options).await;
    }
    if options.rounds > 0 {
        table(&sides, &options).await;
    }
}

/// Measures the throughput of every service and client under every load, in several rounds. Only
/// one service runs at a time. Prints the results as a table, and writes the table to the document
/// that the options name.
async fn table(sides: &[Side], options: &Options) {
    let mut rates = vec![vec![Vec::new(); sides.len()]; LOADS.len()];
    let mut etcd = None;
    for _ in 0..options.rounds {
        for (column, side) in sides.iter().enumerate() {
            let folder = tempfile::tempdir_in(&options.place).expect("a folder");
            let cluster = Cluster::start(side.kind(), &options.programs, folder.path()).await;
            for (row, load) in LOADS.iter().enumerate() {
                if options.leaves_out(load.name) || !side.has(load.access) {
                    continue;
                }
                let leader = cluster.leader().await;
                if *side == Side::Etcd {
                    etcd = recipe::status(cluster.clients()[leader]).await.map(|it| it.version);
                }
                let rate = load.rate(*side, cluster.clients(), leader, options.long).await;
                eprintln!("{}: {}: {rate:.0}", load.name, side.name());
                rates[row][column].push(rate);
            }
        }
    }
    let rates: Vec<Option<report::Rates>> = rates
        .into_iter()
        .map(|row| {
            let is_measured = row.iter().any(|rates| !rates.is_empty());
            is_measured.then(|| row.into_iter().map(median).collect())
        })
        .collect();
    let table = report::Table::new(sides, etcd.as_deref(), &rates);
    print!("{}", table.markdown(""));
    if let Some(document) = &options.readme
        && let Err(error) = table.write_into(document)
    {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn median(mut of: Vec<f64>) -> Option<f64> {
    of.sort_unstable_by(f64::total_cmp);
    of.get(of.len() / 2).copied()
}

fn options() -> Options {
    let mut options = Options {
        programs: Programs { etcd: "etcd".into(), zookeeper: None, tenure: "tenure".into() },
        place: std::env::temp_dir(),
        rounds: ROUNDS,
        long: Duration::from_secs(4),
        kills: 0,
        only: None,
        sessions: 0,
        away: 0,
        keys: 0,
        watchers: 0,
        pause: Duration::from_millis(1),
        without_etcd: false,
        floor: false,
        readme: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || {
            words.next().unwrap_or_else(|| {
                exit_with_usage_error(&format!("{word} wants a value behind it"))
            })
        };
        match word.as_str() {
            "--etcd" => options.programs.etcd = value().into(),
            "--zookeeper" => options.programs.zookeeper = Some(value().into()),
            "--tenure" => options.programs.tenure = value().into(),
            "--place" => options.place = value().into(),
            "--rounds" => options.rounds = number(&word, &value()),
            "--seconds" => options.long = Duration::from_secs(number(&word, &value())),
            "--kills" => options.kills = number(&word, &value()),
            "--sessions" => options.sessions = number(&word, &value()),
            "--away" => options.away = number(&word, &value()),
            "--keys" => options.keys = number(&word, &value()),
            "--watchers" => options.watchers = number(&word, &value()),
            "--pause" => options.pause = Duration::from_millis(number(&word, &value())),
            "--without-etcd" => options.without_etcd = true,
            "--floor" => options.floor = true,
            "--only" => options.only = Some(value()),
            "--readme" => options.readme = Some(value().into()),
            _ => exit_with_usage_error(&format!("{word} is not known; see README.md")),
        }
    }
    options
}

fn number<N: FromStr>(word: &str, value: &str) -> N {
    let number = value.parse();
    number.unwrap_or_else(|_| {
        exit_with_usage_error(&format!("{word} wants a whole number, and {value} is none"))
    })
}

fn exit_with_usage_error(why: &str) -> ! {
    eprintln!("error: {why}");
    std::process::exit(2)
}
