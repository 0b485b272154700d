//! The metrics on listeners of their own, for a collector that has no token.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, Uri, header},
    response::{IntoResponse as _, Response},
    routing,
};

use crate::{
    accept::listener::Listener,
    guard::{
        admit,
        site::{OwnPort, Site},
    },
    options::RenderMetrics,
    problem::Problem,
};

/// What such a listener answers from.
#[derive(Clone)]
struct Scrape {
    /// The names under which it may be asked, where only this machine reaches it: a page that a browser shows can point a
    /// name of its own at loopback. Where others reach it, no name makes a difference.
    site: Option<Arc<Site>>,
    render: Arc<RenderMetrics>,
}

/// Makes the router of a listener. Its one path is that of the metrics.
pub(crate) fn router(listener: &Listener, render: Arc<RenderMetrics>) -> Router {
    let own = OwnPort { port: listener.port(), is_https: listener.is_https() };
    let site = || Arc::new(Site { listeners: vec![own].into(), ..Site::default() });
    let site = listener.is_local().then(site);
    Router::new().route("/metrics", routing::get(scrape)).with_state(Scrape { site, render })
}

async fn scrape(
    State(Scrape { site, render }): State<Scrape>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if let Some(site) = site {
        admit(&site, &method, &uri, &headers)?;
    }
    Ok(text(&*render))
}

/// Answers with the metrics as Prometheus reads them.
pub(crate) fn text(render: &RenderMetrics) -> Response {
    let media_type = HeaderValue::from_static("text/plain; version=0.0.4");
    let no_store = HeaderValue::from_static("no-store");
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, no_store)];
    (headers, render()).into_response()
}
