//! The names of problems, each with its status and its title.

use axum::http::StatusCode;
use madang::language::Locale;

/// Declares the problems once: variant, name on the wire, status, whether trying again can help, titles.
macro_rules! problems {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $status:ident, $again:literal, $ko:literal, $en:literal;)*) => {
        /// The kind of a problem.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ProblemName {
            $($(#[$doc])* $variant,)*
        }

        impl ProblemName {
            /// All problems.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Gives the name on the wire.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Gives the status of the answer.
            pub(crate) const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// Tells whether the very same request can succeed later. Clients repeat by themselves where it can.
            pub(crate) const fn may_be_repeated(self) -> bool {
                match self { $(Self::$variant => $again,)* }
            }

            /// Gives the title in a language.
            pub(crate) fn title(self, locale: Locale) -> &'static str {
                match self { $(Self::$variant => locale.pick($ko, $en),)* }
            }
        }
    };
}

problems! {
    /// The request cannot be read.
    Malformed, "malformed", BAD_REQUEST, false, "요청을 읽을 수 없습니다", "The request cannot be read";
    /// The request asks for what this server does not offer.
    UnsupportedParameter, "unsupported-parameter", BAD_REQUEST, false, "지원하지 않는 요청입니다", "The request asks for what is not offered";
    /// No valid credential came with the request.
    Unauthorized, "unauthorized", UNAUTHORIZED, false, "로그인이 필요합니다", "A token is needed";
    /// The credential does not have the scope.
    Scope, "scope", FORBIDDEN, false, "이 토큰으로는 할 수 없습니다", "This token may not do that";
    /// The request names another host.
    Host, "host", FORBIDDEN, false, "다른 호스트로 온 요청입니다", "The request names another host";
    /// The request comes from another site.
    Origin, "origin", FORBIDDEN, false, "다른 사이트에서 온 요청입니다", "The request comes from another site";
    /// There is no such thing, or it is another user's.
    NotFound, "not-found", NOT_FOUND, false, "찾을 수 없습니다", "Not found";
    /// The path has other methods.
    MethodNotAllowed, "method-not-allowed", METHOD_NOT_ALLOWED, false, "지원하지 않는 메서드입니다", "This path has other methods";
    /// The client does not take what the path answers with.
    NotAcceptable, "not-acceptable", NOT_ACCEPTABLE, false, "받을 수 없는 형식입니다", "The answer has another form";
    /// The body did not come in time.
    TooSlow, "too-slow", REQUEST_TIMEOUT, true, "요청이 너무 느립니다", "The request came too slowly";
    /// A turn or call runs.
    Busy, "busy", CONFLICT, true, "진행 중인 턴이 있습니다", "A turn is running";
    /// The approval request is closed, or is about something else.
    NotOpen, "not-open", CONFLICT, false, "열려 있지 않은 확인 요청입니다", "The approval request is not open";
    /// The call whose effect is asked for may still run.
    StillRuns, "still-runs", CONFLICT, false, "호출이 아직 실행 중입니다", "The call may still run";
    /// The effect of the call is known.
    NotUnknown, "not-unknown", CONFLICT, false, "결과를 이미 알고 있는 호출입니다", "The effect of the call is known";
    /// The cursor lies behind the end of the chat.
    CursorAhead, "cursor-ahead", CONFLICT, false, "커서가 대화의 끝보다 뒤에 있습니다", "The cursor is behind the end of the chat";
    /// The ledger is not what was written.
    LedgerBroken, "ledger-broken", CONFLICT, false, "원장이 기록된 그대로가 아닙니다", "The ledger is not what was written";
    /// A text or body is too long.
    TooLong, "too-long", PAYLOAD_TOO_LARGE, false, "너무 깁니다", "Too long";
    /// The body is no JSON.
    UnsupportedMediaType, "unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, false, "JSON이 아닙니다", "The body is not JSON";
    /// The text is empty.
    Empty, "empty", UNPROCESSABLE_ENTITY, false, "내용이 없습니다", "The text is empty";
    /// The idempotency key was used for something else.
    KeyReused, "key-reused", UNPROCESSABLE_ENTITY, false, "다른 요청에 쓰인 키입니다", "The idempotency key was used for another request";
    /// What a person typed does not fit.
    DoesNotFit, "does-not-fit", UNPROCESSABLE_ENTITY, false, "입력이 맞지 않습니다", "What was typed does not fit";
    /// The model cannot read so much.
    PromptTooLong, "prompt-too-long", BAD_REQUEST, false, "모델이 읽기에 너무 깁니다", "Too long for the model";
    /// A bound of the session, the user or the address is reached.
    TooMany, "too-many", TOO_MANY_REQUESTS, true, "한꺼번에 너무 많습니다", "Too many at once";
    /// The model failed.
    Model, "model", BAD_GATEWAY, true, "모델이 실패했습니다", "The model failed";
    /// A bound of the whole server is reached.
    Overloaded, "overloaded", SERVICE_UNAVAILABLE, true, "서버가 붐빕니다", "The server has too much to do";
    /// The server is about to end.
    Draining, "draining", SERVICE_UNAVAILABLE, true, "서버가 다시 시작하고 있습니다", "The server is about to restart";
    /// The store cannot be reached.
    Store, "store", SERVICE_UNAVAILABLE, true, "저장소에 접근할 수 없습니다", "The store cannot be reached";
    /// Whether a decision counts is not known.
    DecisionNotKnown, "decision-not-known", SERVICE_UNAVAILABLE, true, "결정이 기록되었는지 알 수 없습니다", "It is not known whether the decision counts";
    /// The answer did not come in time.
    Unanswered, "unanswered", GATEWAY_TIMEOUT, true, "제때 답하지 못했습니다", "The answer did not come in time";
    /// The turn did not end in time.
    StillWaiting, "still-waiting", GATEWAY_TIMEOUT, true, "턴이 아직 끝나지 않았습니다", "The turn has not ended yet";
}
