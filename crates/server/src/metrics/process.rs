//! Metrics of this process from the operating system, under the standard names of Prometheus
//! exporters. On systems without `/proc`, the only metric is the maximum number of file
//! descriptors.

use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// Name, kind, help text and value of a metric.
type Metric = (&'static str, &'static str, &'static str, f64);

pub(crate) fn read_metrics() -> Vec<Metric> {
    let mut metrics = of_proc().unwrap_or_default();
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        let help = "Number of open file descriptors.";
        // One of the descriptors belongs to this read of the directory.
        metrics.push(("process_open_fds", "gauge", help, files.count().saturating_sub(1) as f64));
    }
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let help = "Maximum number of open file descriptors.";
    metrics.push(("process_max_fds", "gauge", help, most as f64));
    metrics
}

fn of_proc() -> Option<Vec<Metric>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The program name in parentheses is the second field, and may contain any characters.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // The first element of `fields` is field 3 of the file.
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let ticks = clock_ticks_per_second() as f64;
    let booted = fs::read_to_string("/proc/stat").ok()?;
    let booted = booted.lines().find_map(|line| line.strip_prefix("btime "))?;
    let booted: f64 = booted.trim().parse().ok()?;
    let resident = field(24)? * page_size() as f64;
    let started = booted + field(22)? / ticks;
    Some(vec![
        (
            "process_cpu_seconds_total",
            "counter",
            "Total user and system CPU time spent in seconds.",
            (field(14)? + field(15)?) / ticks,
        ),
        ("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", resident),
        ("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", field(23)?),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time of the process since unix epoch in seconds.",
            started,
        ),
    ])
}
