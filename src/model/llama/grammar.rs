//! What a model may write inside a tool call: a registered name, and arguments that its schema allows.

use std::{collections::HashSet, fmt::Write as _, panic::AssertUnwindSafe, sync::Arc};

use llguidance::{Matcher, ParserFactory, api::TopLevelGrammar};
use madang_actors::protocol::ToolSpec;
use serde_json::{Value, json};
use toktrie::{InferenceCapabilities, SimpleVob, TokEnv};
use tracing::{debug, warn};

use super::{call::CallForm, family::Family};

/// Compiles grammars for sets of tools and keeps the latest.
pub(super) struct Grammars {
    factory: ParserFactory,
    tok_env: TokEnv,
    family: &'static Family,
    /// The latest last; `None` where a set cannot be followed, which has been said then.
    compiled: Vec<(ToolSet, Option<Matcher>)>,
    /// Tools of which it was said already that their schema is not understood.
    named: HashSet<Arc<str>>,
}

/// What a grammar depends on: names and schemas.
type ToolSet = Vec<(Arc<str>, Arc<Value>)>;

/// How many sets of tools are kept compiled: sessions of one application share one or few.
const KEPT: usize = 8;

impl Grammars {
    pub(super) fn new(tok_env: TokEnv, family: &'static Family) -> Result<Self, String> {
        let mut factory = ParserFactory::new(&tok_env, InferenceCapabilities::default(), &[])
            .map_err(|error| error.to_string())?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Self { factory, tok_env, family, compiled: Vec::new(), named: HashSet::new() })
    }

    /// Begins a call whose body has come as far as `body`; `None` where the tools cannot be followed.
    pub(super) fn begin(&mut self, tools: &[ToolSpec], body: &str) -> Option<CallGuide> {
        if tools.is_empty() {
            return None;
        }
        let matcher = self.matcher(tools)?.deep_clone();
        let mut guide = CallGuide { matcher };
        if !body.is_empty() {
            let tokens = self.tok_env.tokenize_bytes(body.as_bytes());
            if guide.matcher.try_consume_tokens(&tokens).ok()? != tokens.len() {
                debug!(body, "the call begins in a way that no tool allows");
                return None;
            }
        }
        Some(guide)
    }

    fn matcher(&mut self, tools: &[ToolSpec]) -> Option<&Matcher> {
        let is_same = |(name, schema): &(Arc<str>, Arc<Value>), tool: &ToolSpec| {
            *name == tool.name
                && (Arc::ptr_eq(schema, &tool.parameters) || *schema == tool.parameters)
        };
        let found = self.compiled.iter().position(|(set, _)| {
            set.len() == tools.len()
                && set.iter().zip(tools).all(|(known, tool)| is_same(known, tool))
        });
        if let Some(found) = found {
            return self.compiled[found].1.as_ref();
        }
        let grammar = self.grammar(tools);
        let matcher = compile(&self.factory, &grammar)
            .inspect_err(|problem| {
                warn!(
                    problem,
                    "failed to constrain tool calls; they are checked by the dispatcher only"
                );
            })
            .ok();
        if self.compiled.len() == KEPT {
            self.compiled.remove(0);
        }
        let set = tools
            .iter()
            .map(|tool| (Arc::clone(&tool.name), Arc::clone(&tool.parameters)))
            .collect();
        self.compiled.push((set, matcher));
        self.compiled.last()?.1.as_ref()
    }

    /// One rule a tool: a head that is fixed, and the arguments by the tool's own schema.
    fn grammar(&mut self, tools: &[ToolSpec]) -> String {
        let (open, close) = match self.family.form {
            CallForm::Object { within: Some(_), .. } => (r#"\{ ?"tool_call": ?"#, "}"),
            CallForm::Object { .. }
            | CallForm::Objects
            | CallForm::Marked(_)
            | CallForm::Braces(_)
            | CallForm::Python => ("", ""),
        };
        let calls: Vec<String> = (0..tools.len()).map(|at| format!("call_{at}")).collect();
        let calls = calls.join(" | ");
        let mut grammar = format!("start: BLANK? call\nBLANK: /[ \\n]{{1,2}}/\ncall: {calls}\n");
        for (at, tool) in tools.iter().enumerate() {
            let (name, arguments) = (&tool.name, self.arguments(tool));
            // Names are letters, digits and underscores, so they need no escape in a regular expression.
            let head = format!(r#"HEAD_{at}: /{open}\{{ ?"name": ?"{name}", ?"arguments": ?/"#);
            writeln!(grammar, "{head}\ncall_{at}: HEAD_{at} %json {arguments} \"}}{close}\"")
                .expect("a string takes everything");
        }
        grammar
    }

    /// The schema of a tool's arguments in a form that is understood: strictly, leniently, or any object.
    fn arguments(&mut self, tool: &ToolSpec) -> Value {
        let mut schema = (*tool.parameters).clone();
        if let Some(members) = schema.as_object_mut() {
            // Unknown keys are dropped later; a model does better when it cannot invent them.
            if members.contains_key("properties") {
                members.entry("additionalProperties").or_insert(Value::Bool(false));
            }
        }
        let mut problems = Vec::new();
        for is_lenient in [false, true] {
            let mut schema = schema.clone();
            schema["x-guidance"] = json!({
                "whitespace_flexible": false,
                "item_separator": ", ?",
                "key_separator": ": ?",
                "lenient": is_lenient,
            });
            match compile(&self.factory, &format!("start: %json {schema}")) {
                Ok(_) => return schema,
                Err(problem) => problems.push(problem),
            }
        }
        if self.named.insert(Arc::clone(&tool.name)) {
            warn!(tool = %tool.name, problem = problems[0], "failed to follow the schema of a tool; any object is let pass");
        }
        json!({"type": "object", "x-guidance": {"whitespace_flexible": false, "item_separator": ", ?", "key_separator": ": ?"}})
    }
}

impl std::fmt::Debug for Grammars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grammars").field("family", &self.family.name).finish_non_exhaustive()
    }
}

/// Follows one call, token by token.
pub(super) struct CallGuide {
    matcher: Matcher,
}

impl CallGuide {
    /// The tokens that may come next; `None` where the guide is lost, and at the end of the call.
    pub(super) fn allowed(&mut self) -> Option<SimpleVob> {
        match self.matcher.compute_mask() {
            Ok(mask) if mask.is_zero() => None,
            Ok(mask) => Some(mask),
            Err(error) => {
                warn!(%error, "failed to say what may come next in a tool call");
                None
            }
        }
    }

    /// Goes on by a token; false where the guide is lost.
    pub(super) fn take(&mut self, token: u32) -> bool {
        self.matcher.consume_token(token).is_ok()
    }
}

impl std::fmt::Debug for CallGuide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallGuide")
    }
}

/// Compiles a grammar. The compiler may panic on a schema that it did not expect, which must cost no more than the
/// grammar.
fn compile(factory: &ParserFactory, grammar: &str) -> Result<Matcher, String> {
    let parse =
        || Matcher::new(factory.create_parser(TopLevelGrammar::from_lark(grammar.to_owned())));
    let matcher = std::panic::catch_unwind(AssertUnwindSafe(parse))
        .map_err(|_| "the compiler panicked".to_owned())?;
    match matcher.get_error() {
        None => Ok(matcher),
        Some(problem) => Err(problem),
    }
}

#[cfg(test)]
#[path = "tests/grammar.rs"]
mod tests;
