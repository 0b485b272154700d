//! The forms of ids, cursors, keys and texts in requests, for the description of the API.
//!
//! A form has a JSON Schema. What it lets through, the server can read. What it leaves out is
//! refused, except where a comment here says that the server takes more. In the query, an empty
//! value counts as none, and its forms let it through.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The characters that no id has.
macro_rules! control {
    () => {
        r"\x00-\x1f\x7f-\x9f"
    };
}

/// The blanks of Unicode, as a text is trimmed of them.
macro_rules! blank {
    () => {
        r"\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
    };
}

/// An id that the runtime made.
macro_rules! uuid {
    () => {
        "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    };
}

/// At least one and at most 256 bytes of UTF-8, without control characters. A pattern counts
/// characters, so it has a length for each number of bytes that one takes. The server also takes
/// an id of mixed characters that is longer than these lengths and has no more than 256 bytes.
macro_rules! up_to_256_bytes {
    () => {
        concat!(
            r"[ -~]{1,256}|[ -~\u00a0-\u07ff]{1,128}|[ -~\u00a0-\uffff]{1,85}|[^",
            control!(),
            "]{1,64}"
        )
    };
}

/// An id.
const ID: &str = concat!("^(?:", up_to_256_bytes!(), ")$");

/// An id in the query, where an empty value counts as none.
const ID_OR_NONE: &str = concat!("^(?:", up_to_256_bytes!(), ")?$");

/// An id in a header. The server also takes UTF-8 there, which few clients can send.
const ID_IN_A_HEADER: &str = "^[!-~](?:[ -~]{0,254}[!-~])?$";

/// A key in a header: bare, or quoted with a backslash before each quotation mark and backslash.
const KEY_IN_A_HEADER: &str =
    r#"^(?:[!#-~](?:[ -~]{0,254}[!-~])?|"(?:[ !#-\[\]-~]|\\["\\]){1,256}")$"#;

/// At least one character that is no blank.
const NOT_BLANK: &str = concat!("[^", blank!(), "]");

/// At least one character that is neither a blank nor a control character.
const NOT_BLANK_OR_CONTROL: &str = concat!("[^", control!(), blank!(), "]");

/// Declares types whose schema is a form. They have no values.
macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident = $schema:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) enum $name {}

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

forms! {
    /// The id of a session.
    SessionName = json_schema!({
        "type": "string", "pattern": ID, "not": { "enum": [".", ".."] },
    });
    /// The id of a session in the query.
    SessionFilter = json_schema!({
        "type": "string", "pattern": ID_OR_NONE, "not": { "enum": [".", ".."] },
    });
    /// The id of a session in a header.
    SessionHeader = json_schema!({
        "type": "string", "pattern": ID_IN_A_HEADER, "not": { "enum": [".", ".."] },
    });
    /// The id of a message or run of a client, which is a key.
    ClientId = json_schema!({ "type": "string", "pattern": ID });
    /// The key of a request in its header.
    KeyHeader = json_schema!({ "type": "string", "pattern": KEY_IN_A_HEADER });
    /// Who is asked for approvals, in a header.
    AskHeader = json_schema!({ "type": "string", "enum": ["here", "elsewhere", "none"] });
    /// A text of the user.
    UserText = json_schema!({ "type": "string", "pattern": NOT_BLANK });
    /// Words to find. The bound is one of bytes, so it is lower for other letters than those of
    /// ASCII.
    SearchWords = json_schema!({ "type": "string", "maxLength": 256, "pattern": NOT_BLANK });
    /// A title, or none. The server also takes a longer text that is short enough without its blanks.
    ChatTitle = json_schema!({
        "type": ["string", "null"], "maxLength": 80, "pattern": NOT_BLANK_OR_CONTROL,
    });
    /// A position in the list of sessions, in the query.
    SessionPlace = json_schema!({ "type": "string", "pattern": r"^(?:-?[0-9]+\.[0-9a-f]+)?$" });
    /// A position in a search.
    SearchPlace = json_schema!({ "type": "string", "pattern": r"^-?[0-9]+\.[0-9a-f]+\.[0-9]+$" });
    /// A position in the list of approval requests, in the query.
    RequestPlace = json_schema!({
        "type": "string", "pattern": concat!(r"^(?:-?[0-9]+\.", uuid!(), ")?$"),
    });
    /// A position in a list of calls, in the query.
    CallPlace = json_schema!({ "type": "string", "pattern": concat!("^(?:", uuid!(), ")?$") });
    /// A position in the events of a chat, in the query or in a header.
    EventPlace = json_schema!({
        "type": "string",
        "pattern": r"^(?:[0-9]{1,19}(?:\.[12])?(?:@[0-9a-f]{1,16}\.[0-9]{1,19})?)?$",
    });
    /// The head of a ledger, in the query.
    LedgerHead = json_schema!({ "type": "string", "pattern": "^(?:[0-9a-f]{64})?$" });
    /// The number of an entry.
    EntryNumber = json_schema!({ "type": "integer", "minimum": 0, "maximum": u64::MAX });
    /// An id that the runtime made.
    MadeId = json_schema!({ "type": "string", "format": "uuid" });
    /// How many entries a page has.
    PageSize = json_schema!({ "type": "integer", "minimum": 1, "maximum": 100 });
    /// Yes or no.
    YesOrNo = json_schema!({ "type": "boolean" });
    /// The form of an export, in the query.
    ExportForm = json_schema!({ "type": "string", "enum": ["json", "markdown", ""] });
    /// Any text.
    AnyText = json_schema!({ "type": "string" });
}
