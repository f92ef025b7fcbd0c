//! Tests of the metrics that a client reports to a recorder of the crate `metrics`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use tenure_client::{CampaignOptions, describe_metrics};
use tokio::time::sleep;

use crate::service::{RENEWED_TTL, Service, joined, spawn_with, within};

/// Recorded values of each metric, by its name and labels: the increments of a counter, or the
/// values of a histogram.
type Values = Arc<Mutex<BTreeMap<String, Vec<f64>>>>;

#[derive(Default)]
struct KeepingRecorder {
    values: Values,
    described: Mutex<Vec<(String, Option<Unit>)>>,
}

struct Series {
    values: Values,
    key: String,
}

impl Series {
    fn add(&self, value: f64) {
        let mut values = self.values.lock().expect("not poisoned");
        values.entry(self.key.clone()).or_default().push(value);
    }
}

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        self.add(f64::from(u32::try_from(value).expect("a small number")));
    }

    fn absolute(&self, _value: u64) {
        unreachable!("counters of the client are only incremented");
    }
}

impl HistogramFn for Series {
    fn record(&self, value: f64) {
        self.add(value);
    }
}

impl KeepingRecorder {
    fn series(&self, key: &Key) -> Arc<Series> {
        let labels: Vec<String> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let key = match labels.is_empty() {
            true => key.name().to_owned(),
            false => format!("{}{{{}}}", key.name(), labels.join(",")),
        };
        Arc::new(Series { values: self.values.clone(), key })
    }

    fn describe(&self, key: &KeyName, unit: Option<Unit>) {
        self.described.lock().expect("not poisoned").push((key.as_str().to_owned(), unit));
    }

    /// Returns the recorded values of the metric `tenure_client_` + `key`. The key consists of a
    /// name and labels.
    fn values(&self, key: &str) -> Vec<f64> {
        let key = format!("tenure_client_{key}");
        self.values.lock().expect("not poisoned").get(&key).cloned().unwrap_or_default()
    }
}

impl Recorder for KeepingRecorder {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&key, unit);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&key, unit);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(&key, unit);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.series(key))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.series(key))
    }
}

/// Asserts that the client records how long it waits for a lock, how long it holds a lock, and how
/// sessions start and end. The recorder is installed for this thread only, so the runtime must have
/// no other thread.
#[tokio::test(flavor = "current_thread")]
async fn waits_holds_and_sessions_are_measured() {
    let recorder = KeepingRecorder::default();
    let _installed = metrics::set_default_local_recorder(&recorder);
    let (service, [one, other]) = Service::with_sessions_of(RENEWED_TTL).await;
    assert_eq!(recorder.values("sessions_started_total"), [1.0, 1.0]);
    let held = one.lock("a").await.expect("the lock");
    let waits = spawn_with(&other, |other| async move { other.lock("a").await });
    service.wait_for_watchers(1).await;
    let pause = Duration::from_millis(40);
    sleep(pause).await;
    assert_eq!(recorder.values("lock_wait_seconds").len(), 1, "one client waits");
    assert_eq!(recorder.values("lock_hold_seconds"), [0.0; 0], "the lock is held");
    held.release().await.expect("released");
    drop(joined(waits).await.expect("the lock"));
    let (waits, holds) =
        (recorder.values("lock_wait_seconds"), recorder.values("lock_hold_seconds"));
    assert_eq!((waits.len(), holds.len()), (2, 2));
    assert!(waits[1] >= pause.as_secs_f64(), "{waits:?}");
    assert!(holds[0] >= pause.as_secs_f64(), "{holds:?}");

    one.close().await.expect("revoked");
    assert_eq!(recorder.values("sessions_ended_total{reason=closed}"), [1.0]);
    service.revoke(&other).await;
    within(other.lost()).await;
    assert_eq!(recorder.values("sessions_ended_total{reason=lease_ended}"), [1.0]);
    assert_eq!(recorder.values("renewals_total{result=lease_not_found}"), [1.0]);
    assert!(!recorder.values("renewal_seconds").is_empty());
}

#[tokio::test(flavor = "current_thread")]
async fn reconnects_retries_and_yields_are_counted() {
    let recorder = KeepingRecorder::default();
    let _installed = metrics::set_default_local_recorder(&recorder);
    let (service, relay, session) = Service::with_relay(60).await;
    assert_eq!(recorder.values("connections_total"), [1.0]);
    assert_eq!(recorder.values("reconnects_total"), [0.0; 0]);
    relay.drops_next_response.store(true, Ordering::Relaxed);
    within(session.lock("a")).await.expect("the lock").release().await.expect("released");
    assert!(!recorder.values("reconnects_total").is_empty());
    assert!(!recorder.values("retries_total{action=failover}").is_empty());

    let leader = session.campaign("boss", "leader").await.expect("elected");
    for (identity, priority) in [("low", 0), ("high", 1)] {
        let (session, keys) = (service.session().await, service.keys().await);
        let options = CampaignOptions::new(identity).priority(priority);
        tokio::spawn(async move { session.campaign_with("boss", options).await.map(drop) });
        within(async { while service.keys().await == keys {} }).await;
    }
    let yields = async {
        while recorder.values("candidate_yields_total").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    within(yields).await;
    drop(leader);
}

#[test]
fn metrics_are_described_with_units() {
    let recorder = KeepingRecorder::default();
    metrics::with_local_recorder(&recorder, describe_metrics);
    let described = recorder.described.lock().expect("not poisoned");
    let unit = |name: &str| described.iter().find(|(it, _)| it == name).and_then(|(_, unit)| *unit);
    assert_eq!(unit("tenure_client_lock_wait_seconds"), Some(Unit::Seconds));
    assert_eq!(unit("tenure_client_retries_total"), Some(Unit::Count));
    assert_eq!(unit("tenure_client_unknown"), None);
}
