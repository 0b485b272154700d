//! Exchanges a token for a cookie and its proof, ends such a login, and returns the user of a
//! credential.

use std::{io, sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode, header::SET_COOKIE},
    response::{IntoResponse as _, Response},
};
use madang::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tracing::error;

use crate::{
    accept::peer::Peer,
    answer,
    auth::{
        caller::{Caller, CallerCredential},
        cookie::{self, Halves},
        credential::Credential,
        holder::TokenHolder,
        scope::TokenScopes,
        secret::digest_of,
    },
    extract::Json,
    guard::layer,
    metrics,
    problem::{Problem, ProblemName},
    route::{Access, Route},
    state::Shared,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/v1/login", Access::Public, login).id("login")
            .takes_a_token()
            .says("Exchanges a token for a login: a cookie that scripts cannot read, and a proof that requests send as the header `Madang-Proof`.")
            .takes::<LoginBody>(|| serde_json::json!({ "token": "mdg_0000000000000000000000000000000000000000000" }))
            .gives::<LoggedIn>(StatusCode::OK, "The cookie is set.")
            .refuses(&[ProblemName::Unauthorized, ProblemName::Scope]),
        Route::post("/v1/logout", Access::Caller, logout).id("logout")
            .says("Ends the login and removes the cookie from the browser.")
            .gives_nothing(StatusCode::NO_CONTENT, "The login has ended."),
        Route::get("/v1/me", Access::Caller, me).id("getMe")
            .says("Returns the user of the credential and its scopes.")
            .gives::<Me>(StatusCode::OK, "The user."),
    ]
}

/// A token to exchange.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    /// The token.
    token: String,
}

/// The part of a login that a browser does not send by itself.
#[derive(Serialize, JsonSchema)]
struct LoggedIn {
    /// The value of the header `Madang-Proof`, without which the cookie is not accepted.
    proof: String,
}

/// The user of a credential.
#[derive(Debug, Serialize, JsonSchema)]
struct Me {
    /// The user.
    #[schemars(with = "String")]
    user: UserId,
    /// The name of the token.
    token: Arc<str>,
    /// The scopes of the credential.
    scopes: TokenScopes,
    /// The language that the request names for questions and reasons, otherwise English.
    language: &'static str,
}

async fn login(
    State(shared): State<Arc<Shared>>,
    peer: Option<axum::Extension<Peer>>,
    headers: HeaderMap,
    Json(LoginBody { token }): Json<LoginBody>,
) -> Result<Response, Problem> {
    let tokens = shared.auth.tokens.current();
    let Some(entry) = tokens.get(&digest_of(&token)) else {
        metrics::auth_failed("login");
        return Err(layer::wrong_credential(&shared, peer.map(|peer| peer.0)));
    };
    if let TokenHolder::Service { .. } = &entry.holder {
        return Err(Problem::new(
            ProblemName::Scope,
            "A service's token speaks for many users, and none of them can log in with it.",
        ));
    }
    let life = shared.limits.cookie_life;
    let Halves { cookie, proof } = shared.auth.log_in(entry.sha256, shared.now(), life);
    end_login_before(&shared, &headers).await;
    Ok((set_cookie(&shared, &cookie, life), answer::json(&LoggedIn { proof })).into_response())
}

async fn logout(State(shared): State<Arc<Shared>>, caller: Caller) -> Result<Response, Problem> {
    end(&shared, caller.credential).await.map_err(|_| {
        Problem::new(ProblemName::Store, "The login has ended, but this could not be recorded: it would be valid again after a restart.")
    })?;
    Ok((StatusCode::NO_CONTENT, set_cookie(&shared, "", Duration::ZERO)).into_response())
}

/// Ends the login that a browser had before, because the new one takes its place there.
async fn end_login_before(shared: &Arc<Shared>, headers: &HeaderMap) {
    let credential = Credential::of(headers, shared.site.has_secure_cookies());
    if let Credential::Cookies { .. } = credential
        && let Ok(before) = shared.auth.identify(headers, &credential, shared.now(), None)
    {
        // If it cannot be written, the log says so. The new login counts nevertheless.
        let _ = end(shared, before.credential).await;
    }
}

/// The end of a login could not be written. The log says why.
struct Unwritten;

async fn end(shared: &Arc<Shared>, credential: CallerCredential) -> Result<(), Unwritten> {
    let all = Arc::clone(shared);
    let ended = spawn_blocking(move || all.auth.end_login(credential, all.now())).await;
    ended.unwrap_or_else(|panic| Err(io::Error::other(panic))).map_err(|error| {
        error!(%error, "failed to write that a login has ended: it is valid again after a restart");
        Unwritten
    })
}

async fn me(caller: Caller) -> Response {
    let Caller { user, token, scopes, named, .. } = caller;
    let language = named.unwrap_or_default().pick("ko", "en");
    answer::json(&Me { user, token, scopes, language })
}

fn set_cookie(shared: &Shared, value: &str, life: Duration) -> [(HeaderName, String); 1] {
    [(SET_COOKIE, cookie::set(value, life.as_secs(), shared.site.has_secure_cookies()))]
}
