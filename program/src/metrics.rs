//! The metrics of `madang serve --metrics`, as Prometheus reads them.

use std::time::Duration;

use madang::telemetry::{self, METRICS, MetricKind};
use metrics::Unit;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::{task::JoinHandle, time::interval};

use crate::failure::Failure;

/// The bounds of what is measured in seconds: from a commit to the longest turn.
const SECONDS: &[f64] = &[
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0, 300.0,
];
/// The bounds of what is counted: from one job of a commit to the tokens of a long prompt.
const COUNTS: &[f64] = &[
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0, 4_096.0, 16_384.0,
    65_536.0, 262_144.0,
];
/// The time between two collections of the values of histograms. Until then each value takes room.
const UPKEEP: Duration = Duration::from_secs(5);

/// Takes the metrics of the whole process, from here on.
pub(crate) fn record() -> Result<PrometheusHandle, Failure> {
    let recorder = builder().map_err(Failure::of)?.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(Failure::of)?;
    telemetry::describe();
    madang_server::describe_server();
    Ok(handle)
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    let is_counted = |kind, unit| kind == MetricKind::Histogram && unit != Unit::Seconds;
    let counted = METRICS.iter().filter(|metric| is_counted(metric.kind, metric.unit));
    let builder = PrometheusBuilder::new().with_recommended_naming(true).set_buckets(SECONDS)?;
    counted
        .map(|metric| Matcher::Full(metric.name.to_owned()))
        .try_fold(builder, |builder, name| builder.set_buckets_for_metric(name, COUNTS))
}

/// Keeps what is measured small, until it is aborted.
pub(crate) fn keep_up(handle: PrometheusHandle) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut upkeep = interval(UPKEEP);
        loop {
            upkeep.tick().await;
            handle.run_upkeep();
        }
    })
}
