//! A model's chat template, rendered the way its authors rendered it.

use std::io;

use minijinja::{
    Environment, Error, ErrorKind, Value as Jinja,
    syntax::SyntaxConfig,
    value::{Kwargs, Serde},
};
use minijinja_contrib::pycompat;
use serde_json::{Value, json};

use super::{call::json, hidden::marks_in_json};

/// A compiled chat template.
#[derive(Debug)]
pub(super) struct ChatTemplate {
    environment: Environment<'static>,
}

/// What a template is given.
#[derive(Debug)]
pub(super) struct TemplateInput<'a> {
    /// The chat in the form of OpenAI.
    pub(super) messages: &'a [Value],
    /// The tools in the form of OpenAI; none where the system text lists them.
    pub(super) tools: &'a [Value],
    pub(super) bos: &'a str,
    pub(super) eos: &'a str,
    /// Whether a model that can think aloud should.
    pub(super) has_thinking: bool,
    /// So many bytes may be written.
    pub(super) max_bytes: usize,
}

const NAME: &str = "chat";
/// Steps that a template may take: thousands of messages, and an end to a template that loops.
const FUEL: u64 = 5_000_000;

impl ChatTemplate {
    /// Compiles a template.
    pub(super) fn compile(source: &str) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment
            .set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(pycompat::unknown_method_callback);
        environment.add_filter("tojson", to_json);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_template_owned(NAME, without_training_marks(source))?;
        Ok(Self { environment })
    }

    /// Renders a chat up to where the model goes on.
    pub(super) fn render(&self, input: &TemplateInput<'_>) -> Result<String, Error> {
        let tools = if input.tools.is_empty() { Value::Null } else { Value::from(input.tools) };
        let values = json!({
            "messages": input.messages,
            "tools": tools,
            "bos_token": input.bos,
            "eos_token": input.eos,
            "add_generation_prompt": true,
            "enable_thinking": input.has_thinking,
        });
        let mut written = Bounded { bytes: Vec::new(), left: input.max_bytes };
        let template = self.environment.get_template(NAME)?;
        template.render_captured_to(Serde(values), &mut written)?;
        String::from_utf8(written.bytes).map_err(|error| {
            Error::new(ErrorKind::BadSerialization, "the template wrote no text").with_source(error)
        })
    }
}

/// Takes so many bytes and no more.
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

/// The block tags that only mark what is trained on.
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

/// JSON as Python writes it, which is what models were trained on: blanks behind `,` and `:`, and no ASCII escapes.
#[expect(clippy::needless_pass_by_value, reason = "minijinja hands its filters values")]
fn to_json(value: &Jinja, indent: Option<usize>, options: Kwargs) -> Result<String, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => options.get::<Option<usize>>("indent")?,
    };
    let value: Value = serde_json::to_value(value).map_err(|error| {
        Error::new(ErrorKind::BadSerialization, "failed to write JSON").with_source(error)
    })?;
    let mut written = String::new();
    json::write(&mut written, &value, indent, 0);
    Ok(marks_in_json(&written))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, messages: &[Value]) -> Result<String, String> {
        let template = ChatTemplate::compile(source).map_err(|error| error.to_string())?;
        let tools = [
            json!({"type": "function", "function": {"name": "a", "parameters": {"속성": [1, 2.5]}}}),
        ];
        let input = TemplateInput {
            messages,
            tools: &tools,
            bos: "<s>",
            eos: "</s>",
            has_thinking: false,
            max_bytes: 100_000,
        };
        template.render(&input).map_err(|error| error.to_string())
    }

    #[test]
    fn blocks_leave_no_lines_behind() {
        let source = "{{ bos_token }}{% for m in messages %}\n  {% if m.role == 'user' %}\n{{ m.content }};\n  {% endif %}\n{% endfor %}\n";
        let messages =
            [json!({"role": "user", "content": "x"}), json!({"role": "user", "content": "y"})];
        assert_eq!(render(source, &messages), Ok("<s>x;\ny;\n".into()));
    }

    #[test]
    fn json_is_written_as_python_writes_it() {
        let line =
            r#"{"type": "function", "function": {"name": "a", "parameters": {"속성": [1, 2.5]}}}"#;
        assert_eq!(render("{{ tools[0] | tojson }}", &[]), Ok(line.into()));
        let indented = "{\n  \"name\": \"a\",\n  \"parameters\": {\n    \"속성\": [\n      1,\n      2.5\n    ]\n  }\n}";
        assert_eq!(render("{{ tools[0].function | tojson(indent=2) }}", &[]), Ok(indented.into()));
    }

    #[test]
    fn python_methods_work() {
        let source = "{% for m in messages %}{{ m.content.split('|')[-1].strip().upper() }}{% endfor %}\
                      {% for key, value in tools[0].items() %}{{ key }} {% endfor %}";
        let messages = [json!({"role": "user", "content": "a| b "})];
        assert_eq!(render(source, &messages), Ok("Btype function ".into()));
    }

    #[test]
    fn a_template_can_refuse_a_chat() {
        assert!(
            render("{{ raise_exception('no system role') }}", &[])
                .unwrap_err()
                .contains("no system role")
        );
    }

    #[test]
    fn the_date_has_the_form_that_was_asked_for() {
        let date = render("{{ strftime_now('%Y-%m-%d') }}", &[]).unwrap();
        assert_eq!(date.len(), "2026-11-20".len());
        assert!(date.starts_with("20"), "{date}");
    }

    #[test]
    fn a_template_that_writes_too_much_ends() {
        let source = "{% for a in range(20000) %}{{ 'ten bytes ' }}{% endfor %}";
        assert!(render(source, &[]).is_err());
    }

    #[test]
    fn a_template_that_loops_for_ever_ends() {
        let source = "{% for a in range(100000) %}{% for b in range(100000) %}{% set x = a * b %}{% endfor %}{% endfor %}";
        assert!(render(source, &[]).is_err());
    }
}
