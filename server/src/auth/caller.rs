//! The caller of a request: its user, and the scopes of its credential.

use std::sync::Arc;

use axum::{extract::FromRequestParts, http::request::Parts as Head};
use madang::{
    LanguageTag, Runtime, Session, SessionId, Timestamp, TurnOptions, UserId,
    approval::Digest,
    event::{ChatMessage, Content},
    language::Locale,
};

use super::scope::{TokenScope, TokenScopes};
use crate::{
    ask::Ask,
    problem::{Problem, ProblemName},
};

/// The caller of a request, which the guard has found by its credential. It is an extractor of
/// axum.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The user of the request.
    pub(crate) user: UserId,
    /// What the credential may do.
    pub(crate) scopes: TokenScopes,
    /// The name of the token that the credential is, or from which it was made.
    pub(crate) token: Arc<str>,
    /// Whether the credential is a service's, which may act for several users.
    pub(crate) is_of_service: bool,
    /// Who is asked if the request does not state it.
    pub(crate) ask: Option<Ask>,
    /// The language in which the request wants to be answered. `None` if it names none.
    pub(crate) named: Option<Locale>,
    /// What the credential depends on.
    pub(crate) credential: CallerCredential,
}

/// What a credential depends on. Streams look at it for as long as they live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CallerCredential {
    /// The hash of the token's secret, or of the key that has signed a JWT. `None` if no credential
    /// is needed.
    pub(crate) rests_on: Option<Digest>,
    /// The moment at which the login or the JWT ends.
    pub(crate) until: Option<Timestamp>,
    /// Whether it is a login by cookie, which a person can end.
    pub(crate) is_login: bool,
}

impl Caller {
    /// Returns whether the credential has a scope.
    pub(crate) const fn has(&self, scope: TokenScope) -> bool {
        self.scopes.has(scope)
    }

    /// Returns a problem if the credential does not have the scope.
    pub(crate) fn must_have(&self, scope: TokenScope) -> Result<(), Problem> {
        if self.has(scope) {
            return Ok(());
        }
        let problem = Problem::new(
            ProblemName::Scope,
            format!("This token does not have the scope {scope}."),
        );
        Err(problem.with("scope", scope))
    }

    /// Returns who is asked: as the request states, otherwise as the token states, otherwise the
    /// default of the surface. A client that may not decide asks its person elsewhere.
    pub(crate) fn asks(&self, requested: Option<Ask>, default: Ask) -> Ask {
        match requested.or(self.ask).unwrap_or(default) {
            Ask::Here if !self.has(TokenScope::Decide) => Ask::Elsewhere,
            ask @ (Ask::Here | Ask::Elsewhere | Ask::None) => ask,
        }
    }

    /// Returns the options of each turn of this caller whose person is asked like this.
    pub(crate) fn turn_options(&self, ask: Ask) -> TurnOptions {
        let language = self.language();
        TurnOptions { asks: ask.asks(), language, ..TurnOptions::default() }
    }

    /// Returns the language that the request names.
    pub(crate) fn language(&self) -> Option<LanguageTag> {
        self.named.map(|locale| locale.tag())
    }

    /// Returns the language of sentences about the last turn of these messages: the one that the
    /// request names, or else that of the user's texts.
    pub(crate) fn locale_of(&self, runtime: &Runtime, messages: &[ChatMessage]) -> Locale {
        let texts = messages.iter().rev().filter_map(|message| match &message.content {
            Content::User { text, .. } => Some(&**text),
            Content::Model { .. }
            | Content::ToolCall(_)
            | Content::Notice { .. }
            | Content::Cleared => None,
        });
        runtime.languages().choose(self.language(), texts)
    }

    /// Returns a session of this user.
    ///
    /// # Errors
    /// Returns the same problem if it does not exist and if it is another user's.
    pub(crate) async fn session(&self, runtime: &Runtime, id: &str) -> Result<Session, Problem> {
        let session = session_id(id)?;
        let found = runtime.user_with_id(&self.user).find_session(&session).await?;
        found.ok_or_else(Problem::not_found)
    }
}

/// Reads the id of a session. Ids that a parser of URLs would remove are refused.
pub(crate) fn session_id(id: &str) -> Result<SessionId, Problem> {
    match SessionId::new(id) {
        Ok(session) if !matches!(id, "." | "..") => Ok(session),
        Ok(_) | Err(_) => Err(Problem::malformed(
            "A session's id has 1 to 256 bytes, no control characters, and is neither one dot nor two.",
        )),
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Head, _: &S) -> Result<Self, Problem> {
        head.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthorized)
    }
}
