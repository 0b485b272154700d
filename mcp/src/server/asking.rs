//! Decides how a client's person is asked: by what its client shows, by its revision, and by which
//! person its user wants asked.

use madang::{IdempotencyKey, approval::Digest};
use rmcp::{
    RoleServer,
    model::{
        ClientCapabilities, ElicitationCapability, FormElicitationCapability, ProtocolVersion,
    },
    service::{Peer, RequestContext},
};

use super::{
    caller::{AskWhere, ToolCaller},
    question::{Answer, Shape},
};

/// How the person of a call is asked.
pub(super) enum Ask {
    /// No person is asked. A client of the newest revision learns by an error what it lacks.
    NoPerson { is_told_by_error: bool },
    /// On another device, while the call waits.
    Elsewhere,
    /// By a request of the server, while the call waits.
    Now(Peer<RoleServer>, Shape),
    /// By the result. The client answers it with the same call again.
    Again(Again),
}

/// What it takes to answer a call of a revision without a handshake.
pub(super) struct Again {
    pub(super) key: IdempotencyKey,
    pub(super) bound: Vec<u8>,
    pub(super) shape: Shape,
    /// The answer to the request that was shown.
    pub(super) answered: Option<(Digest, Answer)>,
}

/// Which way a person can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    NoPerson { lacks_a_capability: bool },
    Elsewhere,
    Client(Shape),
}

/// Finds the way to the person.
pub(super) fn way(caller: &ToolCaller, capabilities: Option<&ClientCapabilities>) -> Way {
    match caller.asks() {
        AskWhere::Nowhere => Way::NoPerson { lacks_a_capability: false },
        AskWhere::Elsewhere => Way::Elsewhere,
        AskWhere::Here => {
            let shape = shape(capabilities, caller.page.as_deref());
            shape.map_or(Way::NoPerson { lacks_a_capability: true }, Way::Client)
        }
    }
}

/// Returns what the client can show. Older clients say only that they can ask.
fn shape(capabilities: Option<&ClientCapabilities>, page: Option<&str>) -> Option<Shape> {
    let elicitation = capabilities?.elicitation.as_ref()?;
    match page {
        _ if elicitation.form.is_some() || elicitation.url.is_none() => Some(Shape::Form),
        Some(page) => Some(Shape::Page(page.to_owned())),
        None => None,
    }
}

/// Returns whether the request is of a revision in which a server cannot ask on its own.
pub(super) fn is_without_handshake(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns the capabilities that a client needs so that its person can be asked.
pub(super) fn forms() -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    let form = FormElicitationCapability::default();
    capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
    capabilities
}

#[cfg(test)]
mod tests {
    use madang::UserId;
    use serde_json::{Value, json};

    use super::*;

    fn of(ask: AskWhere, may_decide: bool, page: Option<&str>, elicitation: &Value) -> Way {
        let caller = ToolCaller::new(UserId::new("kim").unwrap()).ask(ask);
        let caller = if may_decide { caller } else { caller.without_decisions() };
        let caller = page.into_iter().fold(caller, ToolCaller::page);
        let capabilities =
            if elicitation.is_null() { json!({}) } else { json!({ "elicitation": elicitation }) };
        way(&caller, Some(&serde_json::from_value(capabilities).unwrap()))
    }

    #[test]
    fn a_person_is_asked_by_what_the_client_shows_and_where_the_user_wants_it() {
        use AskWhere::{Elsewhere, Here, Nowhere};
        let page = Some("http://localhost/#/inbox");
        let shown = Way::Client(Shape::Page("http://localhost/#/inbox".to_owned()));
        let lacks = Way::NoPerson { lacks_a_capability: true };
        let form = Way::Client(Shape::Form);
        for (ask, page, elicitation, expected) in [
            (Here, page, json!({ "form": {} }), &form),
            (Here, page, json!({ "form": {}, "url": {} }), &form),
            (Here, page, json!({}), &form),
            (Here, page, json!({ "url": {} }), &shown),
            (Here, None, json!({ "url": {} }), &lacks),
            (Here, page, Value::Null, &lacks),
            (Elsewhere, page, json!({ "form": {} }), &Way::Elsewhere),
            (Elsewhere, page, Value::Null, &Way::Elsewhere),
            (Nowhere, page, json!({ "form": {} }), &Way::NoPerson { lacks_a_capability: false }),
        ] {
            assert_eq!(&of(ask, true, page, &elicitation), expected, "{ask:?} {elicitation}");
        }
        for elicitation in [json!({ "form": {} }), json!({ "url": {} }), Value::Null] {
            let way = of(Here, false, page, &elicitation);
            assert_eq!(way, Way::Elsewhere, "a client that may not decide decides nothing");
        }
    }
}
