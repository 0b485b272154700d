//! `madang tools`: prints the tools as JSON.

use crate::{
    args::{Format, Tools},
    failure::Failure,
    output, setup,
};

/// Prints an array with all tools of these toolkits.
pub(crate) fn run(wanted: &Tools) -> Result<(), Failure> {
    let registry = setup::registry(&wanted.toolkits)?;
    let tools = match wanted.format {
        Format::Plain => registry.specs(),
        Format::Openai => registry.to_openai(),
        Format::Anthropic => registry.to_anthropic(),
    };
    let tools = serde_json::Value::from(tools);
    output::foreign(&format!("{tools:#}"))
}
