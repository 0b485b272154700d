//! Describes the API as OpenAPI 3.1, from the table of routes and from the types themselves.

use std::collections::{BTreeMap, BTreeSet};

use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform,
};
use serde_json::{Map, Value, json};

use crate::{
    forms::{AnyText, MadeId, SessionName},
    problem::{Form, ProblemName},
    route::{Access, Parameter, Route},
};

/// The members of every problem; some problems have more.
#[derive(JsonSchema)]
#[schemars(rename = "Problem")]
#[expect(dead_code, reason = "only its schema is used")]
struct ProblemBody {
    /// The kind: `/problems/` and its name.
    r#type: String,
    /// The title of the kind.
    title: String,
    status: u16,
    /// What is wrong with this request, in English.
    detail: String,
    /// The places in the request where something is wrong.
    problems: Option<Vec<ProblemPlace>>,
    /// The name of the request in the log.
    trace: String,
}

/// A place in a request where something is wrong.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ProblemPlace {
    /// A JSON Pointer into the body, or the name of a header or a value of the query.
    pointer: String,
    /// What is wrong there, in English.
    detail: String,
    /// The rule of the tool's schema that an edited argument breaks: a keyword of JSON Schema, or
    /// one of Madang's own names.
    rule: Option<&'static str>,
    /// What the rule expects, such as the bound of `maximum` or the types of `type`.
    expected: Option<Value>,
    /// The keys that the schema does not allow.
    keys: Option<Vec<String>>,
}

/// The problems of each route.
const OF_ALL: [ProblemName; 3] = [ProblemName::Host, ProblemName::Origin, ProblemName::TooMany];
/// The problems of each route that needs a credential.
const OF_CALLERS: [ProblemName; 1] = [ProblemName::Unauthorized];
/// The problems of each route that takes a body.
const OF_BODIES: [ProblemName; 4] = [
    ProblemName::Malformed,
    ProblemName::UnsupportedMediaType,
    ProblemName::TooLong,
    ProblemName::TooSlow,
];

/// Writes the description of these routes.
pub(crate) fn describe(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    // A generator of clients takes a member with a default for one that must be there.
    let settings = settings.with_transform(RecursiveTransform(|schema: &mut Schema| {
        schema.remove("default");
        // A generator of clients in Python does not read `true` in place of a schema.
        if schema.get("items") == Some(&Value::Bool(true)) {
            schema.insert("items".to_owned(), json!({}));
        }
    }));
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<ProblemBody>().to_value();
    let mut paths = Map::new();
    for route in routes {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation(route, &problem, &mut generator);
    }
    let mut schemas = generator.take_definitions(true);
    schemas.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Madang",
            "summary": "Chats in which a language model calls tools, over HTTP",
            "description": "A request that changes something can be repeated: under the same `Idempotency-Key` its work \
                            is done once. A stream resumes after the last cursor that the client has seen. Another \
                            user's session is reported as not found.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "A token. Scopes: chat, decide, tools, admin." },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "madang", "description": "The login of the page, for its own requests. It is accepted only with the proof in the header `Madang-Proof`." },
            },
        },
    })
}

fn operation(route: &Route, problem: &Value, generator: &mut SchemaGenerator) -> Value {
    let doc = &route.doc;
    let mut operation = json!({
        "operationId": doc.id,
        "summary": doc.summary,
        "tags": [tag(route.path)],
        "security": security(route.rule.access),
        "responses": {},
    });
    if let Access::Scope(scope) = route.rule.access {
        operation["description"] = format!("Needs the scope `{scope}`.").into();
    }
    let parameters = parameters(route, generator);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some((schema, example)) = doc.takes {
        let schema = schema(generator).to_value();
        let content = json!({ "application/json": { "schema": schema, "example": example() } });
        let is_required = needs_body(&content["application/json"]["schema"], generator);
        operation["requestBody"] = json!({ "required": is_required, "content": content });
    }
    for given in &doc.gives {
        let answer = &mut operation["responses"][given.status.as_str()];
        if answer.is_null() {
            *answer = json!({ "description": given.what });
        }
        if let Some((media_type, schema)) = given.body {
            let schema =
                schema.map_or(json!({ "type": "string" }), |schema| schema(generator).to_value());
            answer["content"][media_type] = json!({ "schema": schema });
        }
    }
    let media_type = match Form::of(route.path) {
        Form::Rfc9457 => "application/problem+json",
        Form::PlainJson | Form::OpenAi => "application/json",
    };
    let mut refused = BTreeMap::<u16, BTreeSet<_>>::new();
    for problem in all_problems(route) {
        refused.entry(problem.status().as_u16()).or_default().insert(problem.name());
    }
    for (status, names) in refused {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let answer = &mut operation["responses"][status.to_string()];
        if answer.is_null() {
            *answer = json!({ "description": format!("Refused: {names}.") });
        }
        let is_openai = Form::of(route.path) == Form::OpenAi;
        let schema = if is_openai { json!({ "type": "object" }) } else { problem.clone() };
        answer["content"][media_type] = json!({ "schema": schema });
    }
    operation
}

fn all_problems(route: &Route) -> impl Iterator<Item = ProblemName> {
    let rule = route.rule;
    let when = |is_true: bool, names: &'static [ProblemName]| names.iter().filter(move |_| is_true);
    let has_id = route.path.contains('{');
    let reads = has_id || !route.doc.query.is_empty();
    when(route.path != "/healthz", &OF_ALL)
        .chain(when(rule.access != Access::Public, &OF_CALLERS))
        .chain(when(
            matches!(rule.access, Access::Scope(_)),
            &[ProblemName::Scope, ProblemName::Store],
        ))
        .chain(when(route.doc.takes.is_some(), &OF_BODIES))
        // MCP has its own error for it.
        .chain(when(
            route.doc.takes.is_some() && route.path != "/mcp",
            &[ProblemName::RoundedNumber],
        ))
        .chain(when(reads, &[ProblemName::Malformed]))
        .chain(when(has_id, &[ProblemName::NotFound]))
        .chain(when(rule.begins, &[ProblemName::Draining, ProblemName::Overloaded]))
        .chain(route.doc.refuses)
        .copied()
}

fn parameters(route: &Route, generator: &mut SchemaGenerator) -> Vec<Value> {
    let ids = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<_> = ids
        .map(|name| {
            let schema = schema_of_id(name, generator).to_value();
            json!({ "in": "path", "name": name, "required": true, "schema": schema })
        })
        .collect();
    for (location, parameters) in [("query", &route.doc.query), ("header", &route.doc.headers)] {
        all.extend(parameters.iter().map(|Parameter { name, meaning, schema, is_required }| {
            let schema = schema(generator).to_value();
            json!({
                "in": location, "name": name, "required": is_required, "schema": schema,
                "description": meaning,
            })
        }));
    }
    all
}

/// Returns the schema of an id in a path.
fn schema_of_id(name: &str, generator: &mut SchemaGenerator) -> Schema {
    match name {
        "session" => generator.subschema_for::<SessionName>(),
        "turn" | "call" => generator.subschema_for::<MadeId>(),
        _ => generator.subschema_for::<AnyText>(),
    }
}

/// Returns whether a body must be there. No body counts as an object without members.
fn needs_body(schema: &Value, generator: &SchemaGenerator) -> bool {
    let named = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    let body = named.and_then(|name| generator.definitions().get(name));
    body.is_none_or(|body| body["type"] != "object" || body.get("required").is_some())
}

fn security(access: Access) -> Value {
    match access {
        Access::Public => json!([]),
        Access::Caller | Access::Scope(_) => json!([{ "bearer": [] }, { "cookie": [] }]),
    }
}

/// Groups the operations.
fn tag(path: &str) -> &'static str {
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next()) {
        (Some("v1"), Some("sessions" | "search" | "suggestions")) => "sessions",
        (Some("v1"), Some("inbox" | "approvals")) => "approvals",
        (Some("v1"), Some("calls" | "tools" | "ledger")) => "calls",
        (Some("v1"), Some("login" | "logout" | "me")) => "login",
        (Some("v1"), _) => "openai",
        (Some("ag-ui"), _) => "ag-ui",
        (Some("api"), _) => "ai-sdk",
        (Some("mcp"), _) => "mcp",
        (Some("" | "assets"), _) => "page",
        (Some(_) | None, _) => "server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{auth::scope::TokenScope, routes};

    #[test]
    fn each_route_is_described_with_its_scope_and_its_answers() {
        let routes = routes::table();
        let text = describe(&routes);
        let mut ids = BTreeSet::new();
        for route in &routes {
            let operation = &text["paths"][route.path][route.method];
            assert!(!route.doc.summary.is_empty() && route.doc.summary.ends_with('.'), "{route:?}");
            assert!(!route.doc.gives.is_empty(), "{route:?} has no answer");
            let id = operation["operationId"].as_str().unwrap();
            let is_name = id.starts_with(|letter: char| letter.is_ascii_lowercase())
                && id.chars().all(|letter| letter.is_ascii_alphabetic());
            assert!(is_name && ids.insert(id.to_owned()), "{route:?}: {id:?}");
            let is_public = route.rule.access == Access::Public;
            assert_eq!(
                operation["security"].as_array().unwrap().is_empty(),
                is_public,
                "{route:?}"
            );
            assert_eq!(
                operation["responses"].get("401").is_some(),
                !is_public || route.path == "/v1/login"
            );
        }
        assert_eq!(TokenScope::ALL.len(), 4, "the description names each scope");
    }

    #[test]
    fn a_body_without_members_that_must_be_there_may_be_left_out() {
        let text = describe(&routes::table());
        let is_required = |path: &str| &text["paths"][path]["post"]["requestBody"]["required"];
        assert_eq!(is_required("/v1/sessions"), false);
        assert_eq!(is_required("/v1/sessions/{session}/turns"), true);
        assert_eq!(is_required("/ag-ui"), true);
        assert_eq!(
            is_required("/v1/approvals/{call}/decision"),
            true,
            "it has one of several forms"
        );
    }

    #[test]
    fn no_member_of_a_body_has_a_default_and_each_body_has_an_example() {
        let text = describe(&routes::table());
        let schemas = text["components"]["schemas"].as_object().unwrap();
        assert!(schemas.contains_key("TurnBody"));
        let with_default = schemas.iter().find(|(_, schema)| has_default(schema));
        assert_eq!(with_default, None);
        let operations = text["paths"].as_object().unwrap().values();
        let operations = operations.flat_map(|path| path.as_object().unwrap().values());
        for operation in operations.filter(|operation| operation.get("requestBody").is_some()) {
            let body = &operation["requestBody"]["content"]["application/json"];
            assert!(body["example"].is_object(), "{operation:#}");
        }
    }

    /// Returns whether a schema, or one within it, has a default. A member may have that name.
    fn has_default(schema: &Value) -> bool {
        match schema {
            Value::Object(map) => map.iter().any(|(name, value)| match &**name {
                "default" => true,
                "properties" => value.as_object().unwrap().values().any(has_default),
                "const" | "enum" | "examples" => false,
                _ => has_default(value),
            }),
            Value::Array(list) => list.iter().any(has_default),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    #[test]
    fn each_schema_that_is_named_is_there() {
        let text = describe(&routes::table());
        let mut named = BTreeSet::new();
        references(&text, &mut named);
        assert!(named.len() > 3, "{named:?}");
        for name in named {
            let pointer = name.strip_prefix('#').unwrap_or_else(|| panic!("{name} is elsewhere"));
            assert!(text.pointer(pointer).is_some(), "{name} is missing");
        }
    }

    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(name)) = map.get("$ref") {
                    found.insert(name.clone());
                }
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
