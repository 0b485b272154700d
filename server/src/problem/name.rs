//! The names of problems, each with its status and its title.

use axum::http::StatusCode;

/// Declares the problems once: variant, name on the wire, status, whether trying again can help,
/// title.
macro_rules! problems {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $status:ident, $again:literal, $title:literal;)*) => {
        /// The kind of a problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ProblemName {
            $($(#[$doc])* $variant,)*
        }

        impl ProblemName {
            /// All problems.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name on the wire.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the status of the answer.
            pub(crate) const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// Returns whether the same request can succeed later. Clients then repeat it on their
            /// own.
            pub(crate) const fn may_be_repeated(self) -> bool {
                match self { $(Self::$variant => $again,)* }
            }

            /// Returns the title.
            pub(crate) const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

problems! {
    /// The request cannot be read.
    Malformed, "malformed", BAD_REQUEST, false, "The request cannot be read";
    /// The request asks for something that this server does not support.
    UnsupportedParameter, "unsupported-parameter", BAD_REQUEST, false, "The request asks for something that is not supported";
    /// No valid credential came with the request.
    Unauthorized, "unauthorized", UNAUTHORIZED, false, "A token is needed";
    /// The credential does not have the scope.
    Scope, "scope", FORBIDDEN, false, "This token may not do that";
    /// The request names another host.
    Host, "host", FORBIDDEN, false, "The request names another host";
    /// The request comes from another site.
    Origin, "origin", FORBIDDEN, false, "The request comes from another site";
    /// There is no such thing, or it is another user's.
    NotFound, "not-found", NOT_FOUND, false, "Not found";
    /// The path does not allow this method.
    MethodNotAllowed, "method-not-allowed", METHOD_NOT_ALLOWED, false, "The path does not allow this method";
    /// The client does not accept the form of the path's answers.
    NotAcceptable, "not-acceptable", NOT_ACCEPTABLE, false, "The client does not accept the form of the answer";
    /// The body did not come in time.
    TooSlow, "too-slow", REQUEST_TIMEOUT, true, "The request came too slowly";
    /// A turn or call runs.
    Busy, "busy", CONFLICT, true, "A turn is running";
    /// The approval request is closed, or is about something else.
    NotOpen, "not-open", CONFLICT, false, "The approval request is not open";
    /// The call whose effect is asked for may still run.
    StillRuns, "still-runs", CONFLICT, false, "The call may still run";
    /// The effect of the call is known.
    NotUnknown, "not-unknown", CONFLICT, false, "The effect of the call is known";
    /// The cursor is after the end of the chat.
    CursorAhead, "cursor-ahead", CONFLICT, false, "The cursor is after the end of the chat";
    /// The ledger is not what was written.
    LedgerBroken, "ledger-broken", CONFLICT, false, "The ledger is not what was written";
    /// A text or body is too long.
    TooLong, "too-long", PAYLOAD_TOO_LARGE, false, "Too long";
    /// The body is not JSON.
    UnsupportedMediaType, "unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, false, "The body is not JSON";
    /// The text is empty.
    Empty, "empty", UNPROCESSABLE_ENTITY, false, "The text is empty";
    /// A value of the request fits its form, and names nothing here: a place in a list that the
    /// server did not return, a model or a time zone.
    UnknownValue, "unknown-value", UNPROCESSABLE_ENTITY, false, "A value of the request names nothing here";
    /// A number would be rounded, and a call would run with another one.
    RoundedNumber, "rounded-number", UNPROCESSABLE_ENTITY, false, "A number would be rounded";
    /// The idempotency key was used for something else.
    KeyReused, "key-reused", UNPROCESSABLE_ENTITY, false, "The idempotency key was used for another request";
    /// What a person typed does not fit.
    DoesNotFit, "does-not-fit", UNPROCESSABLE_ENTITY, false, "What was typed does not fit";
    /// The prompt is too long for the model.
    PromptTooLong, "prompt-too-long", BAD_REQUEST, false, "Too long for the model";
    /// A bound of the session, the user or the address is reached.
    TooMany, "too-many", TOO_MANY_REQUESTS, true, "Too many at once";
    /// The model failed.
    Model, "model", BAD_GATEWAY, true, "The model failed";
    /// The server has no model.
    NoModel, "no-model", NOT_IMPLEMENTED, false, "There is no model";
    /// A bound of the whole server is reached.
    Overloaded, "overloaded", SERVICE_UNAVAILABLE, true, "The server is overloaded";
    /// The server is shutting down.
    Draining, "draining", SERVICE_UNAVAILABLE, true, "The server is about to restart";
    /// The store cannot be reached.
    Store, "store", SERVICE_UNAVAILABLE, true, "The store cannot be reached";
    /// It is not known whether a decision was recorded.
    DecisionNotKnown, "decision-not-known", SERVICE_UNAVAILABLE, true, "It is not known whether the decision was recorded";
    /// The answer did not come in time.
    Unanswered, "unanswered", GATEWAY_TIMEOUT, true, "The answer did not come in time";
    /// The turn did not end in time.
    StillWaiting, "still-waiting", GATEWAY_TIMEOUT, true, "The turn has not ended yet";
}
