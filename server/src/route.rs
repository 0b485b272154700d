//! Defines a route: its method, its path, its rule for the guard, its handler, and its entry in the
//! description of the API.

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    handler::Handler,
    http::StatusCode,
    routing::{self, MethodRouter},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::{ServerLimits, auth::scope::TokenScope, problem::ProblemName, state::Shared};

/// A route of the server.
pub(crate) struct Route {
    /// The method, in lower case as descriptions have it.
    pub(crate) method: &'static str,
    /// The path, with names in braces.
    pub(crate) path: &'static str,
    /// What the guard asks of a request.
    pub(crate) rule: RouteRule,
    /// The entry in the description.
    pub(crate) doc: RouteDoc,
    /// The handler, which runs after the guard.
    pub(crate) handler: MethodRouter<Arc<Shared>>,
}

/// What the guard asks of a request of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteRule {
    /// Which callers may come.
    pub(crate) access: Access,
    /// Whether it begins something. A server that is shutting down refuses it.
    pub(crate) begins: bool,
    /// How many bytes its bodies may have.
    pub(crate) max_body_bytes: fn(&ServerLimits) -> usize,
    /// How long its answer may wait for a turn or a call.
    pub(crate) waits: fn(&ServerLimits) -> Duration,
}

/// Which callers may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// All of them, without a credential.
    Public,
    /// Every caller with a valid credential.
    Caller,
    /// The callers with this scope.
    Scope(TokenScope),
}

/// An object of a protocol that is described elsewhere, such as OpenAI's. Its reader decides which
/// members are used.
pub(crate) type ForeignObject = serde_json::Map<String, serde_json::Value>;

/// Makes the schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Makes an example of a body.
pub(crate) type ExampleOf = fn() -> Value;

/// The entry of a route in the description of the API.
#[derive(Default)]
pub(crate) struct RouteDoc {
    /// The name under which generated clients have it.
    pub(crate) id: &'static str,
    /// One sentence that says what the route does.
    pub(crate) summary: &'static str,
    /// The values of the query.
    pub(crate) query: Vec<Parameter>,
    /// The headers.
    pub(crate) headers: Vec<Parameter>,
    /// Makes the schema of the request body, and an example of it. `None` if the route takes none.
    pub(crate) takes: Option<(SchemaOf, ExampleOf)>,
    /// The answers that are not problems.
    pub(crate) gives: Vec<Given>,
    /// The route's own problems, in addition to those of each route.
    pub(crate) refuses: &'static [ProblemName],
}

/// A value of the query, or a header.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// One sentence that says what it means.
    pub(crate) meaning: &'static str,
    /// Makes the schema of its values.
    pub(crate) schema: SchemaOf,
    /// Whether it must be there.
    pub(crate) is_required: bool,
}

impl Parameter {
    fn of<T: JsonSchema>(name: &'static str, meaning: &'static str, is_required: bool) -> Self {
        Self { name, meaning, schema: |generator| generator.subschema_for::<T>(), is_required }
    }
}

/// An answer that is not a problem.
pub(crate) struct Given {
    pub(crate) status: StatusCode,
    pub(crate) what: &'static str,
    /// The media type and the schema of a body.
    pub(crate) body: Option<(&'static str, Option<SchemaOf>)>,
}

impl Route {
    /// Makes a route that reads.
    pub(crate) fn get<T: 'static>(
        path: &'static str,
        access: Access,
        handler: impl Handler<T, Arc<Shared>>,
    ) -> Self {
        Self::new("get", path, access, routing::get(handler))
    }

    /// Makes a route that writes.
    pub(crate) fn post<T: 'static>(
        path: &'static str,
        access: Access,
        handler: impl Handler<T, Arc<Shared>>,
    ) -> Self {
        Self::new("post", path, access, routing::post(handler))
    }

    /// Makes a route that changes a part of something.
    pub(crate) fn patch<T: 'static>(
        path: &'static str,
        access: Access,
        handler: impl Handler<T, Arc<Shared>>,
    ) -> Self {
        Self::new("patch", path, access, routing::patch(handler))
    }

    /// Makes a route that removes.
    pub(crate) fn delete<T: 'static>(
        path: &'static str,
        access: Access,
        handler: impl Handler<T, Arc<Shared>>,
    ) -> Self {
        Self::new("delete", path, access, routing::delete(handler))
    }

    fn new(
        method: &'static str,
        path: &'static str,
        access: Access,
        handler: MethodRouter<Arc<Shared>>,
    ) -> Self {
        let max_body_bytes = |limits: &ServerLimits| limits.max_body_bytes;
        let rule = RouteRule { access, begins: false, max_body_bytes, waits: |_| Duration::ZERO };
        Self { method, path, rule, doc: RouteDoc::default(), handler }
    }

    /// Names the operation for generated clients.
    pub(crate) fn id(mut self, id: &'static str) -> Self {
        self.doc.id = id;
        self
    }

    /// Describes the route in a sentence.
    pub(crate) fn says(mut self, summary: &'static str) -> Self {
        self.doc.summary = summary;
        self
    }

    /// Marks that it begins something. A server that is shutting down refuses it.
    pub(crate) fn begins(mut self) -> Self {
        self.rule.begins = true;
        self
    }

    /// Lets answers wait this long for a turn or a call.
    pub(crate) fn waits(mut self, wait: fn(&ServerLimits) -> Duration) -> Self {
        self.rule.waits = wait;
        self
    }

    /// Lets bodies have a client's whole history.
    pub(crate) fn takes_histories(mut self) -> Self {
        self.rule.max_body_bytes = |limits| limits.max_history_body_bytes;
        self
    }

    /// Limits bodies to a token, because they come from anybody.
    pub(crate) fn takes_a_token(mut self) -> Self {
        self.rule.max_body_bytes = |limits| limits.max_login_body_bytes;
        self
    }

    /// Lets bodies be as long as messages of MCP may be.
    #[cfg(feature = "mcp")]
    pub(crate) fn takes_mcp(mut self) -> Self {
        self.rule.max_body_bytes = |limits| limits.max_mcp_body_bytes;
        self
    }

    /// Describes a value of the query.
    pub(crate) fn query<T: JsonSchema>(
        mut self,
        name: &'static str,
        meaning: &'static str,
    ) -> Self {
        self.doc.query.push(Parameter::of::<T>(name, meaning, false));
        self
    }

    /// Describes a header that the route reads.
    pub(crate) fn header<T: JsonSchema>(
        mut self,
        name: &'static str,
        meaning: &'static str,
    ) -> Self {
        self.doc.headers.push(Parameter::of::<T>(name, meaning, false));
        self
    }

    /// Describes a header without which the route refuses.
    #[cfg(feature = "mcp")]
    pub(crate) fn needs_header<T: JsonSchema>(
        mut self,
        name: &'static str,
        meaning: &'static str,
    ) -> Self {
        self.doc.headers.push(Parameter::of::<T>(name, meaning, true));
        self
    }

    /// Describes the body, with an example.
    pub(crate) fn takes<T: JsonSchema>(mut self, example: ExampleOf) -> Self {
        let schema: SchemaOf = |generator| generator.subschema_for::<T>();
        self.doc.takes = Some((schema, example));
        self
    }

    /// Describes an answer.
    pub(crate) fn gives<T: JsonSchema>(self, status: StatusCode, what: &'static str) -> Self {
        self.gives_as::<T>(status, "application/json", what)
    }

    /// Describes an answer of another media type.
    pub(crate) fn gives_as<T: JsonSchema>(
        mut self,
        status: StatusCode,
        media_type: &'static str,
        what: &'static str,
    ) -> Self {
        let schema: SchemaOf = |generator| generator.subschema_for::<T>();
        self.doc.gives.push(Given { status, what, body: Some((media_type, Some(schema))) });
        self
    }

    /// Describes an answer without a body.
    pub(crate) fn gives_nothing(mut self, status: StatusCode, what: &'static str) -> Self {
        self.doc.gives.push(Given { status, what, body: None });
        self
    }

    /// Describes an answer of text that no schema describes, such as a stream.
    pub(crate) fn gives_text(mut self, media_type: &'static str, what: &'static str) -> Self {
        self.doc.gives.push(Given { status: StatusCode::OK, what, body: Some((media_type, None)) });
        self
    }

    /// Names the route's own problems.
    pub(crate) fn refuses(mut self, problems: &'static [ProblemName]) -> Self {
        self.doc.refuses = problems;
        self
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
