//! Constrains a tool call to a registered name, and to arguments that its schema allows.
//!
//! `schema` turns a tool's schema into rules, with `keywords` for single keywords, `numbers`, `any`
//! for unconstrained values, `tagged` for values between tags and `notation` for the family's form
//! of values. `block` writes the rules around them. llguidance compiles all of them into a
//! [`Grammar`]. A [`CallGuide`] follows one call token by token, and returns the allowed tokens and
//! the forced text.
//!
//! Invariants:
//! - The rules allow exactly the values of the schema, in canonical form.
//! - A part of a schema that the rules cannot follow is reported to the runtime, which checks every
//!   call anyway.
//! - If the compiler fails on a schema, only the constraint is lost.

mod any;
mod block;
mod keywords;
mod notation;
mod numbers;
mod schema;
mod tagged;

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use llguidance::{Matcher, ParserFactory, api::TopLevelGrammar, earley::SlicedBiasComputer};
use madang_actors::{port::Unconstrained, protocol::ToolSpec};
use madang_parser::family::Family;
use serde_json::Value;
use toktrie::{ApproximateTokEnv, InferenceCapabilities, SimpleVob, TokEnv};
use tracing::{debug, warn};

use self::schema::{Gap, SchemaRules};
use super::telling::CallStyle;

/// Compiles grammars for sets of tools and keeps the latest.
pub(super) struct Grammars {
    factory: ParserFactory,
    tok_env: TokEnv,
    family: &'static Family,
    style: CallStyle,
    /// The grammars, the latest last. `None` for a set that cannot be followed, which was logged.
    compiled: Mutex<Vec<(ToolSet, Option<Grammar>)>>,
}

/// A compiled grammar of calls.
#[derive(Clone)]
pub(super) struct Grammar {
    matcher: Arc<Matcher>,
    tok_env: TokEnv,
    style: CallStyle,
}

/// The names and schemas that a grammar depends on.
type ToolSet = Vec<(Arc<str>, Arc<Value>)>;

/// How many sets of tools stay compiled. The sessions of one application share one or few.
const KEPT: usize = 8;

impl Grammars {
    pub(super) fn new(
        tok_env: TokEnv,
        family: &'static Family,
        style: CallStyle,
    ) -> Result<Self, String> {
        // Inside strings nearly every token is allowed. Slices show that without checking each
        // token.
        let slices = SlicedBiasComputer::json_slices();
        let mut factory = ParserFactory::new(&tok_env, InferenceCapabilities::default(), &slices)
            .map_err(|error| error.to_string())?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Self { factory, tok_env, family, style, compiled: Mutex::default() })
    }

    /// Returns the grammar of these tools, or `None` if there are none, or they cannot be followed.
    pub(super) fn compiled_for(&self, tools: &[ToolSpec]) -> Option<Grammar> {
        if tools.is_empty() {
            return None;
        }
        if let Some(known) = self.known(tools) {
            return known;
        }
        // Compiled outside of the lock, so that other prompts do not wait for these schemas.
        let grammar = self.grammar(tools);
        let matcher = compile(&self.factory, &grammar).inspect_err(|problem| {
            warn!(
                problem,
                "failed to constrain tool calls; they are checked by the dispatcher only"
            );
        });
        let grammar = matcher.ok().map(|matcher| Grammar {
            matcher: Arc::new(matcher),
            tok_env: Arc::clone(&self.tok_env),
            style: self.style.clone(),
        });
        let set = tools.iter().map(|tool| (Arc::clone(&tool.name), Arc::clone(&tool.parameters)));
        let mut compiled = self.compiled();
        if compiled.len() == KEPT {
            compiled.remove(0);
        }
        compiled.push((set.collect(), grammar.clone()));
        grammar
    }

    fn known(&self, tools: &[ToolSpec]) -> Option<Option<Grammar>> {
        let is_same = |(name, schema): &(Arc<str>, Arc<Value>), tool: &ToolSpec| {
            *name == tool.name
                && (Arc::ptr_eq(schema, &tool.parameters) || *schema == tool.parameters)
        };
        let mut compiled = self.compiled();
        let found = compiled.iter().position(|(set, _)| {
            set.len() == tools.len()
                && set.iter().zip(tools).all(|(known, tool)| is_same(known, tool))
        })?;
        let latest = compiled.remove(found);
        let grammar = latest.1.clone();
        compiled.push(latest);
        Some(grammar)
    }

    fn compiled(&self) -> MutexGuard<'_, Vec<(ToolSet, Option<Grammar>)>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn follow(&self, tool: &ToolSpec, at: usize) -> Followed {
        let family = self.family;
        let style = &self.style;
        let new = || SchemaRules::new(family.form, style, format!("t{at}_"), &tool.parameters);
        let with_call = |schema: SchemaRules<'_>, arguments: &str| Followed {
            rules: schema.rules + &block::call(family, style, &tool.name, at, arguments),
            gaps: schema.gaps,
        };
        let mut schema = new();
        let arguments = schema.arguments();
        let followed = with_call(schema, &arguments);
        let alone = format!("start: call_{at}\n{}{}", block::shared(family, style), followed.rules);
        let Err(problem) = compile(&self.factory, &alone) else { return followed };
        debug!(tool = %tool.name, problem, "the compiler refused a grammar");
        let mut any = new();
        let arguments = any.any_arguments();
        any.gaps.push(Gap { pointer: String::new(), keyword: "size".to_owned() });
        with_call(any, &arguments)
    }

    /// Builds the grammar of a block of calls, with registered names and with arguments that fit
    /// the tools' schemas.
    fn grammar(&self, tools: &[ToolSpec]) -> String {
        let mut grammar = block::rules(self.family, &self.style, tools.len());
        for (at, tool) in tools.iter().enumerate() {
            let Followed { rules, gaps } = self.follow(tool, at);
            if !gaps.is_empty() {
                debug!(tool = %tool.name, ?gaps, "not all of the schema of a tool is followed");
            }
            grammar.push_str(&rules);
        }
        grammar
    }
}

impl Grammar {
    /// Begins a call with the text so far. Returns `None` if no tool allows it.
    pub(super) fn begin(&self, body: &str) -> Option<CallGuide> {
        let mut guide = CallGuide { matcher: self.matcher.deep_clone() };
        // The model may begin with any blanks. The grammar has those of the template.
        let lead = &self.style.lead;
        let body = match body.trim_start() {
            _ if lead.starts_with(body) => body.to_owned(),
            body => format!("{lead}{body}"),
        };
        if !body.is_empty() {
            let tokens = self.tok_env.tokenize_bytes(body.as_bytes());
            if guide.matcher.try_consume_tokens(&tokens).ok()? != tokens.len() {
                debug!(body, "the call begins in a way that no tool allows");
                return None;
            }
        }
        Some(guide)
    }
}

/// Lists the parts of these schemas that a family's calls may break. They do not depend on the
/// tokens of a model.
pub(super) fn unconstrained(
    family: &'static Family,
    style: CallStyle,
    tools: &[ToolSpec],
) -> Vec<Unconstrained> {
    let of_tool = |grammars: &Grammars, tool: &ToolSpec| {
        let broken = |Gap { pointer, keyword }| Unconstrained {
            tool: Arc::clone(&tool.name),
            pointer,
            keyword,
        };
        grammars.follow(tool, 0).gaps.into_iter().map(broken).collect::<Vec<_>>()
    };
    match Grammars::new(ApproximateTokEnv::single_byte_env(), family, style) {
        Ok(grammars) => tools.iter().flat_map(|tool| of_tool(&grammars, tool)).collect(),
        Err(problem) => {
            warn!(problem, "failed to prepare grammars");
            Vec::new()
        }
    }
}

/// The rules of one tool, and the parts of its schema that they cannot follow.
struct Followed {
    rules: String,
    gaps: Vec<Gap>,
}

/// Follows one call, token by token.
pub(super) struct CallGuide {
    matcher: Matcher,
}

impl CallGuide {
    /// Returns the tokens that may come next, or `None` if the guide is lost or the call has ended.
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

    /// Returns whether this token may come next.
    pub(super) fn allows(&mut self, token: u32) -> bool {
        matches!(self.matcher.validate_tokens(&[token]), Ok(1))
    }

    /// Returns the text that must come next, in whole characters.
    pub(super) fn forced(&mut self) -> String {
        let bytes = self.matcher.compute_ff_bytes();
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        String::from_utf8_lossy(&bytes[..whole]).into_owned()
    }

    /// Adds those of these tokens, which spell the forced text, that any continuation begins with,
    /// and returns how many. If a longer token is possible, the model chooses.
    pub(super) fn take_certain(&mut self, tokens: &[u32]) -> usize {
        let Ok(env) = self.matcher.tok_env() else { return 0 };
        let trie = env.tok_trie();
        let mut rest: usize = tokens.iter().map(|token| trie.token_len(*token)).sum();
        for (at, token) in tokens.iter().enumerate() {
            if rest < trie.max_token_len() {
                let is_longer = |token: u32| trie.token_len(token) > rest;
                let Some(allowed) = self.allowed() else { return at };
                if allowed.iter().any(is_longer) {
                    return at;
                }
            }
            if !self.take(*token) {
                return at;
            }
            rest -= trie.token_len(*token);
        }
        tokens.len()
    }

    /// Adds a token. Returns false if the guide is lost.
    pub(super) fn take(&mut self, token: u32) -> bool {
        self.matcher.consume_token(token).is_ok()
    }
}

/// Compiles a grammar. The compiler may panic on an unexpected schema. This must cost only the
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
#[path = "../tests/grammar.rs"]
mod tests;
