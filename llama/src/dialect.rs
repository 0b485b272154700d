//! Finds a model's family, and the form in which its template wants a chat. It tries the template
//! and does not look at the model's name.

use std::sync::Arc;

use madang_actors::port::Caveat;
use madang_parser::{
    Parser, Segment, behind_leads,
    call::CallForm,
    family::{ENVELOPE, FAMILIES, Family, HERMES, Opening},
};
use minijinja::Error;
use serde_json::{Value, json};
use tracing::warn;

use super::{
    built_in::{CHATML, CHATML_STOPS, PLAIN, PLAIN_STOPS},
    foreign,
    gguf::Gguf,
    probes::{ARGUMENTS, RESULT, SAID, TOOL, every_kind, probe_chat, said, user},
    telling::{CallStyle, Telling, ToolListing},
    template::{ChatTemplate, LEAST_BYTES, TemplateInput},
};

/// How to write to a model, and how to read it.
#[derive(Debug)]
pub(super) struct Dialect {
    pub(super) template: ChatTemplate,
    pub(super) family: &'static Family,
    pub(super) telling: Telling,
    pub(super) style: CallStyle,
    /// How the model learns of its tools.
    pub(super) listing: ToolListing,
    /// Whether the template takes a system message. If not, the system text comes before the first
    /// user message.
    pub(super) has_system: bool,
    /// Whether the template writes the model's text before its calls.
    pub(super) has_said_with_calls: bool,
    /// The text that opens the template's own calls. `None` if a family reads them.
    pub(super) foreign: Option<Arc<str>>,
    /// What a person should know of this dialect.
    pub(super) caveats: Vec<Caveat>,
    /// The texts that end an answer, for models without a token for it.
    pub(super) stops: &'static [&'static str],
}

impl Dialect {
    /// Finds the dialect by the template, or by the vocabulary if no template works.
    pub(super) fn detect(gguf: &Gguf, has_token: &dyn Fn(&str) -> bool) -> Self {
        let sources = [&gguf.tool_template, &gguf.chat_template];
        let mut caveats = Vec::new();
        for source in sources.into_iter().flatten() {
            match Self::of_template(source, has_token) {
                Ok(dialect) => {
                    caveats.extend(dialect.caveats);
                    return Self { caveats, ..dialect };
                }
                Err(error) => {
                    caveats.push(Caveat::TemplateGivenUp { problem: error.to_string() });
                    let error: &dyn std::error::Error = &error;
                    warn!(error, "failed to use the chat template of the model");
                }
            }
        }
        if caveats.is_empty() {
            warn!("the model has no chat template");
            caveats.push(Caveat::NoTemplate);
        }
        let dialect = if has_token("<|im_start|>") {
            let has_calls = HERMES.marker().is_some_and(has_token);
            Self::built_in(CHATML, if has_calls { &HERMES } else { &ENVELOPE }, CHATML_STOPS)
        } else {
            Self::built_in(PLAIN, &ENVELOPE, PLAIN_STOPS)
        };
        Self { caveats, ..dialect }
    }

    fn built_in(source: &str, family: &'static Family, stops: &'static [&'static str]) -> Self {
        let template = ChatTemplate::compile(source).expect("our own templates are tested");
        let (telling, lead) = match family.opening {
            Opening::Marker(_) => (Telling::Calls, "\n"),
            Opening::Header(_) | Opening::Answer(_) => (Telling::Text { result_role: "user" }, ""),
        };
        let style = CallStyle { lead: lead.to_owned(), is_compact: false };
        let listing = ToolListing::SystemText;
        Self {
            template,
            family,
            telling,
            style,
            listing,
            has_system: true,
            has_said_with_calls: true,
            foreign: None,
            caveats: Vec::new(),
            stops,
        }
    }

    pub(super) fn of_template(
        source: &str,
        has_token: &dyn Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let template = ChatTemplate::compile(source)?;
        let probe = Probe { template: &template };
        let plain = probe.render(&[user(), said("b"), user()], &[])?;
        let system = json!({"role": "system", "content": "probe-system"});
        let has_system =
            probe.render(&[system, user()], &[]).is_ok_and(|text| text.contains("probe-system"));
        let learned = probe.by_calls().or_else(|| probe.by_tools(has_token));
        let is_unknown = learned.is_none() && probe.writes_calls();
        let foreign = if is_unknown { probe.foreign_opening() } else { None };
        let caveats = is_unknown.then_some(Caveat::UnknownCalls).into_iter().collect();
        let learned = learned.unwrap_or_else(|| Learned {
            family: by_vocabulary(has_token)
                .filter(|_| !is_unknown)
                .unwrap_or_else(|| by_frames(&plain)),
            telling: Telling::Text { result_role: "user" },
            style: CallStyle::default(),
            listing: ToolListing::SystemText,
        });
        let Learned { family, telling, style, listing } = learned;
        // A template that fails for such a tool, or does not end, is taken to list no tools. A
        // model that was trained on its tools writes as Hermes does, and needs no list.
        let is_listed = probe
            .with_tool(&every_kind())
            .is_ok_and(|text| text.contains(TOOL) || *family == HERMES);
        let listing = if is_listed { listing } else { ToolListing::SystemText };
        // Some templates leave this text out once an answer has followed.
        let with_calls = probe_chat(Telling::Calls, SAID);
        let answered = [&with_calls[..], &[said("b"), user()]].concat();
        let has_said = |chat: &[Value]| probe.render(chat, &[]).map(|text| text.contains(SAID));
        let has_said_with_calls =
            has_said(&with_calls).unwrap_or(false) && has_said(&answered).unwrap_or(true);
        Ok(Self {
            template,
            family,
            telling,
            style,
            listing,
            has_system,
            has_said_with_calls,
            foreign,
            caveats,
            stops: &[],
        })
    }
}

/// What the probes have shown.
struct Learned {
    family: &'static Family,
    telling: Telling,
    style: CallStyle,
    listing: ToolListing,
}

/// Renders probes with a template.
struct Probe<'a> {
    template: &'a ChatTemplate,
}

impl Probe<'_> {
    fn render(&self, messages: &[Value], tools: &[Value]) -> Result<String, Error> {
        let input = TemplateInput {
            messages,
            tools,
            bos: "",
            eos: "",
            has_thinking: false,
            max_bytes: LEAST_BYTES,
        };
        self.template.render(&input)
    }

    /// Finds the family whose parser reads the call that the template wrote.
    fn by_calls(&self) -> Option<Learned> {
        let asked = self.render(&[user()], &[]).ok()?;
        let renderings = [Telling::Calls, Telling::CallsWithResults].map(|telling| {
            let rendered = self.render(&probe_chat(telling, ""), &[]).ok()?;
            rendered.contains(RESULT).then_some((telling, rendered))
        });
        let found = |family: &'static Family, is_exact: bool| {
            let frames =
                |text: &str| family.frames.iter().filter(|frame| text.contains(**frame)).count();
            let written = renderings.iter().flatten().filter_map(|(telling, rendered)| {
                let is_written = rendered.contains(&family.form.write(TOOL, ARGUMENTS));
                let style =
                    style_of(family, rendered, &asked).filter(|_| is_written || !is_exact)?;
                let listing = ToolListing::Template;
                let learned = Learned { family, telling: *telling, style, listing };
                Some((frames(rendered), learned))
            });
            // The rendering that frames the result as the family does. If several do, the usual
            // one.
            let best = written.reduce(|best, next| if next.0 > best.0 { next } else { best });
            best.map(|(_, learned)| learned)
        };
        // Some families differ only in blanks.
        let by = |is_exact| FAMILIES.into_iter().find_map(|family| found(family, is_exact));
        by(true).or_else(|| by(false))
    }

    /// Returns whether the template writes a call, in whatever form.
    fn writes_calls(&self) -> bool {
        let rendered = self.render(&probe_chat(Telling::Calls, ""), &[]);
        rendered.is_ok_and(|text| text.contains(TOOL))
    }

    /// Finds the text that opens a call which no family reads, and that is in no other answer.
    fn foreign_opening(&self) -> Option<Arc<str>> {
        let asked = self.render(&[user()], &[]).ok()?;
        let said = self.render(&[user(), self::said(SAID)], &[]).ok()?;
        let called = self.render(&probe_chat(Telling::Calls, ""), &[]).ok()?;
        foreign::opening(&asked, &said, &called, TOOL).map(Arc::from)
    }

    /// Renders a chat with a tool that has these parameters.
    fn with_tool(&self, parameters: &Value) -> Result<String, Error> {
        let tool = json!({"name": TOOL, "description": "A tool", "parameters": parameters});
        self.render(&[user()], &[json!({"type": "function", "function": tool})])
    }

    /// Finds the family whose marker is in the vocabulary, if the template lists tools and writes
    /// no calls.
    fn by_tools(&self, has_token: &dyn Fn(&str) -> bool) -> Option<Learned> {
        let parameters = json!({"type": "object", "properties": {"probe_key": {"type": "string"}}});
        let listed = self.with_tool(&parameters).unwrap_or_default();
        if !listed.contains(TOOL) || self.writes_calls() {
            return None;
        }
        let rendered = self.render(&probe_chat(Telling::Calls, ""), &[]);
        // Several families share a marker, so the family's other texts must be explained with the
        // tools or be tokens.
        let is_it = |family: &&Family| {
            let is_known = |text: &str| has_token(text) || listed.contains(text);
            family.marker().is_some_and(has_token) && family.inner().all(is_known)
        };
        let family = FAMILIES.into_iter().find(is_it)?;
        let has_results = rendered.is_ok_and(|text| text.contains(RESULT));
        let result_role = if has_results { "tool" } else { "user" };
        Some(Learned {
            family,
            telling: Telling::Text { result_role },
            style: CallStyle::default(),
            listing: ToolListing::Template,
        })
    }
}

/// Finds the family whose marks are tokens. The model was trained on its calls, even if the
/// template knows none.
fn by_vocabulary(has_token: &dyn Fn(&str) -> bool) -> Option<&'static Family> {
    FAMILIES.into_iter().find(|family| {
        let has_marks = family.marker().is_some_and(has_token) && family.inner().all(has_token);
        has_marks && family.instruction.is_some()
    })
}

/// Finds the family with these frames that answers with only a call.
fn by_frames(plain: &str) -> &'static Family {
    let is_asked = |family: &&Family| family.marker().is_none() && family.instruction.is_some();
    let asked = FAMILIES.into_iter().filter(is_asked);
    asked
        .into_iter()
        .find(|family| family.frames.iter().all(|frame| plain.contains(frame)))
        .unwrap_or(&ENVELOPE)
}

/// Finds the style in which a rendering writes the call. Returns `None` if the family has no such
/// style.
fn style_of(family: &'static Family, rendered: &str, asked: &str) -> Option<CallStyle> {
    match family.opening {
        // The template may mention the marker before it writes it.
        Opening::Marker(marker) => rendered
            .match_indices(marker)
            .find_map(|(begin, _)| read_probe(family, &rendered[begin..], marker.len())),
        Opening::Header(channels) => {
            rendered.match_indices(channels.start).find_map(|(begin, _)| {
                let message = &rendered[begin..];
                read_probe(family, message, message.find(channels.tools)? + channels.tools.len())
            })
        }
        Opening::Answer(_) => {
            let answer = rendered.strip_prefix(asked.trim_end()).map(str::trim_start)?;
            let answer = behind_leads(answer)?;
            let is_whole = answer.starts_with(&family.form.write(TOOL, ARGUMENTS));
            is_whole.then(|| read_probe(family, answer, 0)).flatten()
        }
    }
}

/// Reads the call after an opening of this many bytes, as the parser does. Returns `None` if it
/// cannot be read.
fn read_probe(family: &'static Family, call: &str, opening: usize) -> Option<CallStyle> {
    let mut found = Vec::new();
    Parser::new(family, &[]).push(call, &mut found);
    let Some(Segment::Call(read)) = found.first() else { return None };
    let wanted: Value = serde_json::from_str(ARGUMENTS).expect("our own probe is JSON");
    let is_read = &*read.name == TOOL
        && serde_json::from_str::<Value>(&read.arguments).is_ok_and(|is| is == wanted)
        && names_arguments(family.form, call);
    let body = &call[opening..];
    let lead = body[..body.len() - body.trim_start().len()].to_owned();
    is_read.then(|| CallStyle { lead, is_compact: body.contains("\":\"") })
}

/// Returns whether the arguments have the family's key.
fn names_arguments(form: CallForm, call: &str) -> bool {
    match form {
        CallForm::Object { arguments, .. } => call.contains(&format!("\"{arguments}\"")),
        CallForm::Marked(marks) => marks.is_separated(call),
        CallForm::Objects(_) | CallForm::Tagged(_) | CallForm::Braces(_) | CallForm::Python => true,
    }
}

#[cfg(test)]
#[path = "tests/dialect.rs"]
mod tests;
