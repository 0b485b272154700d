//! Writes the request for an approval as an MCP form or an address, and reads what the answer
//! means.

use std::{borrow::ToOwned, sync::Arc};

use madang::approval::{ApprovalRequest, Decision};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::Value;

/// The field that says yes or no. Clients show fields in alphabetical order, and this is the first.
const OK: &str = "ok";
/// The field for the person's own words with a no.
const REASON: &str = "reason";

/// What a client can show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// A form.
    Form,
    /// The address of a page on which the person decides.
    Page(String),
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Decided(Decision),
    /// The person went to the page. The decision on the page counts; this answer does not.
    Elsewhere,
    /// Neither a yes nor a no. The call ends with it, because a person who read "cancelled" must
    /// find nothing done later.
    Dismissed,
}

/// Returns what the client shows: the request as text, with a field to set or with the page's
/// address.
pub(super) fn asking(request: &ApprovalRequest, shape: &Shape) -> ElicitRequestParams {
    match shape {
        // It keeps the sentence about "always", although only another device offers that: this text
        // is stored, and the digest covers it.
        Shape::Form => form_of(request.text.to_string()),
        Shape::Page(address) => ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message: request.text.to_string(),
            url: address.clone(),
            elicitation_id: request.call.to_string(),
        },
    }
}

fn form_of(message: String) -> ElicitRequestParams {
    // The field has no default, so an untouched form says nothing.
    let schema = ElicitationSchema::builder()
        .required_bool(OK)
        .optional_string(REASON)
        .build()
        .expect("the required field is there");
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema }
}

/// Reads an answer. Only an accepted form whose `ok` is true approves. Opening an address does not.
pub(super) fn answer(given: &ElicitResult, shape: &Shape) -> Answer {
    let field = |name: &str| given.content.as_ref().and_then(|content| content.get(name));
    match given.action {
        ElicitationAction::Accept if *shape != Shape::Form => Answer::Elsewhere,
        ElicitationAction::Accept => match field(OK).and_then(Value::as_bool) {
            Some(true) => Answer::Decided(Decision::Approve),
            Some(false) => Answer::Decided(no(field(REASON))),
            None => Answer::Dismissed,
        },
        ElicitationAction::Decline => Answer::Decided(no(field(REASON))),
        _ => Answer::Dismissed,
    }
}

fn no(reason: Option<&Value>) -> Decision {
    match reason.and_then(Value::as_str).map(ToOwned::to_owned) {
        Some(message) => Decision::DenyWith { message: Arc::from(message) },
        None => Decision::Deny,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_form_needs_its_first_field_and_gives_it_no_default() {
        let form = serde_json::to_value(form_of("Remove 'Read'?".to_owned())).unwrap();
        assert_eq!((&form["mode"], &form["message"]), (&json!("form"), &json!("Remove 'Read'?")));
        let schema = &form["requestedSchema"];
        assert_eq!(schema["required"], json!(["ok"]));
        assert_eq!(
            schema["properties"],
            json!({ "ok": { "type": "boolean" }, "reason": { "type": "string" } })
        );
    }

    #[test]
    fn only_an_accepted_form_that_says_ok_is_a_yes() {
        let yes = Answer::Decided(Decision::Approve);
        let no = Answer::Decided(Decision::Deny);
        let because = Answer::Decided(Decision::DenyWith { message: "later".into() });
        for (given, meant) in [
            (json!({ "action": "accept", "content": { "ok": true } }), &yes),
            (json!({ "action": "accept", "content": { "ok": true, "reason": "x" } }), &yes),
            (json!({ "action": "accept", "content": { "ok": false } }), &no),
            (
                json!({ "action": "accept", "content": { "ok": false, "reason": "later" } }),
                &because,
            ),
            (json!({ "action": "accept", "content": { "ok": "true" } }), &Answer::Dismissed),
            (json!({ "action": "accept", "content": { "ok": 1 } }), &Answer::Dismissed),
            (json!({ "action": "accept", "content": { "reason": "x" } }), &Answer::Dismissed),
            (json!({ "action": "accept", "content": [true] }), &Answer::Dismissed),
            (json!({ "action": "accept", "content": true }), &Answer::Dismissed),
            (json!({ "action": "accept", "content": {} }), &Answer::Dismissed),
            (json!({ "action": "accept" }), &Answer::Dismissed),
            (json!({ "action": "decline" }), &no),
            (json!({ "action": "decline", "content": { "ok": true } }), &no),
            (json!({ "action": "cancel" }), &Answer::Dismissed),
            (json!({ "action": "cancel", "content": { "ok": true } }), &Answer::Dismissed),
        ] {
            let read: ElicitResult = serde_json::from_value(given.clone()).unwrap();
            assert_eq!(&answer(&read, &Shape::Form), meant, "{given}");
        }
    }

    #[test]
    fn an_opened_page_is_no_yes_whatever_the_client_adds() {
        let page = Shape::Page("http://localhost/#/inbox".to_owned());
        for (given, meant) in [
            (json!({ "action": "accept" }), Answer::Elsewhere),
            (json!({ "action": "accept", "content": { "ok": true } }), Answer::Elsewhere),
            (json!({ "action": "decline" }), Answer::Decided(Decision::Deny)),
            (json!({ "action": "cancel" }), Answer::Dismissed),
        ] {
            let read: ElicitResult = serde_json::from_value(given.clone()).unwrap();
            assert_eq!(answer(&read, &page), meant, "{given}");
        }
    }
}
