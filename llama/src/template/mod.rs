//! Renders a model's chat template as its authors rendered it, within bounds.
//!
//! Templates come from model files and may be hostile. `guarded` rewrites a template so that each
//! value it makes is charged by `weights`. The template engine bounds the steps, and the output has
//! a bound in bytes. The texts of users, models and tools are hidden, with marks in their place,
//! before a template sees them.
//!
//! Invariant: no template ends the process, takes unbounded time or memory, or reads anything but
//! its input and the date.

mod guarded;
mod jinja2;
mod to_json;
mod weights;

use std::io;

use minijinja::{
    Environment, Error, ErrorKind, Value as Jinja, context, syntax::SyntaxConfig, value::Serde,
};
use serde_json::Value;

use self::{
    guarded::guarded,
    to_json::to_json,
    weights::{Purse, install},
};

/// A compiled chat template.
#[derive(Debug)]
pub(super) struct ChatTemplate {
    environment: Environment<'static>,
}

/// The input of a template.
#[derive(Debug)]
pub(super) struct TemplateInput<'a> {
    /// The chat in the form of OpenAI.
    pub(super) messages: &'a [Value],
    /// The tools in the form of OpenAI; none if the system text lists them.
    pub(super) tools: &'a [Value],
    pub(super) bos: &'a str,
    pub(super) eos: &'a str,
    /// Whether a model that can think aloud does so.
    pub(super) has_thinking: bool,
    /// The most bytes of the output.
    pub(super) max_bytes: usize,
}

/// The least bound in bytes of a prompt, even in a small context. It is more than twice the longest
/// text of a person.
pub(super) const LEAST_BYTES: usize = 160 << 10;

const NAME: &str = "chat";
/// The steps of a rendering. They are enough for thousands of messages, and end a loop.
const FUEL: u64 = 5_000_000;

impl ChatTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// Returns an error if the template cannot be parsed or bounded.
    pub(super) fn compile(source: &str) -> Result<Self, Error> {
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
        let guarded = guarded(&without_training_marks(source), syntax)?;
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        install(&mut environment);
        jinja2::install(&mut environment);
        environment.add_filter("tojson", to_json);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_template_owned(NAME, guarded)?;
        Ok(Self { environment })
    }

    /// Renders a chat up to the place where the model continues.
    pub(super) fn render(&self, input: &TemplateInput<'_>) -> Result<String, Error> {
        let tools = (!input.tools.is_empty()).then(|| Jinja::from(Serde(input.tools)));
        let values = context! {
            messages => Jinja::from(Serde(input.messages)),
            tools => tools,
            documents => (),
            bos_token => input.bos,
            eos_token => input.eos,
            add_generation_prompt => true,
            enable_thinking => input.has_thinking,
            // The name must equal `weights::PURSE`.
            madang_purse => Jinja::from_object(Purse::new(input.max_bytes)),
        };
        let mut written = Bounded { bytes: Vec::new(), left: input.max_bytes };
        let template = self.environment.get_template(NAME)?;
        template.render_captured_to(values, &mut written)?;
        String::from_utf8(written.bytes).map_err(|error| {
            Error::new(ErrorKind::BadSerialization, "the template wrote no text").with_source(error)
        })
    }
}

/// A writer with a bound.
struct Bounded {
    bytes: Vec<u8>,
    left: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes the tags of blocks that only mark the text of training.
fn without_training_marks(source: &str) -> String {
    let mut source = source.to_owned();
    for name in ["generation", "endgeneration"] {
        for (open, close) in [("{%", "%}"), ("{%-", "%}"), ("{%", "-%}"), ("{%-", "-%}")] {
            source = source.replace(&format!("{open} {name} {close}"), "");
        }
    }
    source
}

fn raise_exception(message: String) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

fn strftime_now(format: &str) -> Result<String, Error> {
    jiff::fmt::strtime::format(format, &jiff::Zoned::now()).map_err(|error| {
        Error::new(ErrorKind::InvalidOperation, "failed to write the date").with_source(error)
    })
}

#[cfg(test)]
mod tests;
