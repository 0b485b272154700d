//! The guard as a layer of the router. It carries the decisions out and writes problems in the form
//! of their reader.

use std::sync::Arc;

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use tokio::time::{Instant, timeout};
use tracing::{Instrument as _, debug, field, info_span};
use uuid::Uuid;

use super::{admit, cors, csrf, origin::ComesFrom};
use crate::{
    ServerLimits,
    accept::{open_connections::OpenConnection, peer::Peer},
    answer,
    auth::{NotIdentified, caller::Caller, credential::Credential},
    extract::MaxBodyBytes,
    language, metrics,
    problem::{Form, Problem, ProblemName},
    route::{Access, RouteRule},
    state::Shared,
    turns::TURN_ID,
};

/// The path that returns only that the process is alive.
const HEALTH: &str = "/healthz";

/// Runs before every route: checks where a request comes from, and finishes the answer.
pub(crate) async fn outermost(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let counted = metrics::Counted::request();
    let trace = trace_of(request.headers());
    let form = Form::of(request.uri().path());
    let method = method_of(&request);
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".to_owned());
    let span = info_span!("http.server", %trace, method, %route, { TURN_ID } = field::Empty);
    let admitted = match request.uri().path() {
        HEALTH => Ok(None),
        _ => admit(&shared.site, request.method(), request.uri(), request.headers()).map(Some),
    };
    let mut allowed = None;
    let answer = match admitted {
        Err(problem) => problem.into_response(),
        Ok(from) => {
            if let Some(from) = from {
                let is_allowed = from == ComesFrom::Allowed;
                allowed = request.headers().get(header::ORIGIN).filter(|_| is_allowed).cloned();
                request.extensions_mut().insert(from);
            }
            if allowed.is_some() && cors::is_preflight(request.method(), request.headers()) {
                let mut answer = StatusCode::NO_CONTENT.into_response();
                cors::answer_preflight(request.headers(), answer.headers_mut());
                answer
            } else {
                next.run(request).instrument(span.clone()).await
            }
        }
    };
    drop(counted);
    let mut answer = finish(answer, form, &trace, shared.drain.is_draining());
    let headers = answer.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    if let Some(origin) = &allowed {
        cors::expose(origin, headers);
    }
    let status = answer.status().as_u16();
    let took = begun.elapsed();
    span.in_scope(|| debug!(status, ?took, "answered"));
    metrics::answered(method, route, status, took);
    answer
}

/// Runs before the handler of a route: finds the caller, and checks what it may do.
pub(crate) async fn authorize(
    State((shared, rule)): State<(Arc<Shared>, RouteRule)>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Err(problem) = identify(&shared, rule, &mut request) {
        return problem.into_response();
    }
    if rule.begins && shared.drain.is_draining() {
        return Problem::draining().into_response();
    }
    request.extensions_mut().insert(MaxBodyBytes((rule.max_body_bytes)(&shared.limits)));
    let user = request.extensions().get::<Caller>().map(|caller| caller.user.clone());
    let connection = request.extensions().get::<Arc<OpenConnection>>();
    let busy = connection.filter(|_| user.is_some()).map(OpenConnection::is_busy);
    let method = request.method().clone();
    let ServerLimits { body_timeout, answer_timeout, .. } = shared.limits;
    let patience = body_timeout + answer_timeout + (rule.waits)(&shared.limits);
    let answer = match timeout(patience, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) if method == Method::GET => Problem::unanswered().into_response(),
        Err(_) => Problem::unanswered().not_again().into_response(),
    };
    let answer = match user {
        Some(user) => answer::held(&shared, &user, &method, answer).await,
        None => answer,
    };
    match busy {
        Some(busy) => busy.until_taken(answer),
        None => answer,
    }
}

fn identify(shared: &Shared, rule: RouteRule, request: &mut Request) -> Result<(), Problem> {
    let scope = match rule.access {
        Access::Public => return Ok(()),
        Access::Caller => None,
        Access::Scope(scope) => Some(scope),
    };
    let (headers, named) = (request.headers(), language::named(request.headers()));
    let credential = Credential::of(headers, shared.site.has_secure_cookies());
    let found = shared.auth.identify(headers, &credential, shared.now(), named);
    let caller = found.map_err(|why| not_identified(shared, request, why))?;
    if let Credential::Cookies { .. } = credential {
        // If nothing was decided about the site, there is no proof.
        let from = request.extensions().get().copied().unwrap_or(ComesFrom::Foreign);
        csrf::check(request.method(), from, headers)?;
    }
    if let Err(wait) = shared.rates.user_comes(&caller.user) {
        let max = shared.limits.request_burst;
        return Err(too_often(wait).reached("requests", "user", max));
    }
    if caller.is_of_service
        && let Err(wait) = shared.rates.service_comes(&caller.token)
    {
        let max = shared.limits.service_request_burst;
        return Err(too_often(wait).reached("requests", "service", max));
    }
    if let Some(scope) = scope {
        caller.must_have(scope)?;
    }
    request.extensions_mut().insert(caller);
    Ok(())
}

fn not_identified(shared: &Shared, request: &Request, why: NotIdentified) -> Problem {
    metrics::auth_failed(why.name());
    match why {
        NotIdentified::Missing | NotIdentified::NoLogin => Problem::unauthorized(),
        NotIdentified::NoUser(header) => Problem::malformed(format!(
            "This service's token needs the user that it speaks for, once, in the header {} and no other.",
            header.name()
        )),
        NotIdentified::Wrong => wrong_credential(shared, request.extensions().get().copied()),
    }
}

/// Refuses a credential that does not count. An address that sends many of them is refused as too
/// fast.
pub(crate) fn wrong_credential(shared: &Shared, peer: Option<Peer>) -> Problem {
    match shared.rates.wrong_credential(&peer.unwrap_or(Peer::Local)) {
        Ok(()) => Problem::unauthorized(),
        Err(wait) => {
            let max = shared.limits.wrong_credentials_per_minute;
            too_often(wait).reached("wrong_credentials", "address", max)
        }
    }
}

fn too_often(wait: std::time::Duration) -> Problem {
    Problem::new(ProblemName::TooMany, "Requests come too often.").retry_after(wait)
}

/// Writes a problem again, in the form of its reader and with the trace.
fn finish(mut answer: Response, form: Form, trace: &str, is_draining: bool) -> Response {
    let Some(problem) = answer.extensions_mut().remove::<Problem>() else { return answer };
    let problem = problem.of_server(is_draining);
    let name = problem.name().name();
    debug!(name, status = problem.status().as_u16(), "refused");
    metrics::refused(name);
    let allow = answer.headers().get(header::ALLOW).map(|allow| [(header::ALLOW, allow)]);
    (allow, problem.with("trace", trace).answer(form)).into_response()
}

/// Returns the trace that the client began, or a new one.
fn trace_of(headers: &HeaderMap) -> String {
    let given = headers.get("traceparent").and_then(|value| value.to_str().ok());
    let given = given.and_then(|text| text.split('-').nth(1));
    let is_trace =
        |text: &&str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    given.filter(is_trace).map_or_else(|| Uuid::new_v4().simple().to_string(), str::to_owned)
}

/// Returns the method as a label. All methods that no standard has share one label.
fn method_of(request: &Request) -> &'static str {
    let known = ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"];
    known.into_iter().find(|name| *name == request.method().as_str()).unwrap_or("_OTHER")
}
