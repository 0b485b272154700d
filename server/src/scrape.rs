//! Serves the metrics on listeners of their own, for a collector that has no token.

use std::sync::Arc;

use axum::{
    Router,
    http::{HeaderMap, Method, Uri, header},
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

/// Makes the router of a listener. Its only path is that of the metrics.
pub(crate) fn router(listener: &Listener, render: Arc<RenderMetrics>) -> Router {
    let own = OwnPort { port: listener.port(), is_https: listener.is_https() };
    let site = Site { listeners: vec![own].into(), ..Site::default() };
    // If only this machine reaches the listener, the guard checks the host and origin of a request,
    // because a page in a browser can point a name of its own at loopback. If others reach it, no
    // name makes a difference.
    let site = listener.is_local().then(|| Arc::new(site));
    let scrape = async move |method: Method, uri: Uri, headers: HeaderMap| {
        if let Some(site) = site {
            admit(&site, &method, &uri, &headers)?;
        }
        Ok::<_, Problem>(text(&*render))
    };
    Router::new().route("/metrics", routing::get(scrape))
}

/// Answers with the metrics as Prometheus reads them.
pub(crate) fn text(render: &RenderMetrics) -> Response {
    let media_type = "text/plain; version=0.0.4";
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store")];
    (headers, render()).into_response()
}
