//! The problems of a call's arguments, and the bounded text of them.

use std::{error::Error, fmt};

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::{Number, Value};

use crate::protocol::{Breach, Limits, Locale, Problem, Text};

/// Replaces problems that did not fit into the text.
const MORE: &str = "...";
/// The longest pointer in a text: deep pointers stay readable, long keys do not fill the text
/// alone.
const MAX_POINTER_CHARS: usize = 120;

/// The problems of one call's arguments, all of them. Their text is bounded and repeats no value of
/// the arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Problems {
    problems: Vec<Problem>,
    max_problems: usize,
    max_bytes: usize,
}

impl Problems {
    /// Collects problems. Their text keeps to these limits.
    #[must_use]
    pub fn new(problems: Vec<Problem>, limits: &Limits) -> Self {
        Self {
            problems,
            max_problems: limits.max_validation_problems,
            max_bytes: limits.max_validation_bytes,
        }
    }

    /// Returns all problems.
    #[must_use]
    pub fn as_slice(&self) -> &[Problem] {
        &self.problems
    }

    /// Writes the text in this language: as many problems as the limits allow, `...` for the rest.
    #[must_use]
    pub fn in_locale(&self, locale: Locale) -> String {
        let shown = self.problems.len().min(self.max_problems);
        let mut text = String::new();
        for (index, problem) in self.problems[..shown].iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let words = in_words(problem, locale);
            // A later problem may need room for `; ...`; a single one is cut.
            let is_last = index + 1 == self.problems.len();
            let room =
                self.max_bytes.saturating_sub(if is_last { 0 } else { "; ".len() + MORE.len() });
            if text.len() + separator.len() + words.len() > room {
                return cut(text, separator, &words, self.max_bytes);
            }
            text.push_str(separator);
            text.push_str(&words);
        }
        if shown < self.problems.len() {
            text.push_str(if shown == 0 { MORE } else { "; ..." });
        }
        text
    }
}

/// Writes English, for logs; `in_locale` is for the model and the user.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_locale(Locale::EN))
    }
}

impl Error for Problems {}

fn in_words(problem: &Problem, locale: Locale) -> String {
    let breach = Text::Breach(&problem.breach).in_locale(locale);
    let pointer = match problem.pointer.char_indices().nth(MAX_POINTER_CHARS) {
        Some((end, _)) => &format!("{}{MORE}", &problem.pointer[..end]),
        None => &problem.pointer,
    };
    let words = if pointer.is_empty() { breach } else { format!("{pointer}: {breach}") };
    // Keys are the model's own words; they must not begin new lines.
    words.replace(char::is_control, "\u{fffd}")
}

/// Ends the text where a problem no longer fits: after the last complete one, or in the middle of
/// the first.
fn cut(mut text: String, separator: &str, words: &str, max_bytes: usize) -> String {
    if text.is_empty() {
        text.push_str(&words[..words.floor_char_boundary(max_bytes.saturating_sub(MORE.len()))]);
    } else {
        text.push_str(separator);
    }
    text.push_str(MORE);
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}

/// Describes the validator's finding in a sentence without the value.
pub(super) fn problems_of(error: &ValidationError<'_>, into: &mut Vec<Problem>) {
    let pointer = error.instance_path().as_str();
    let breach = match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default().replace('~', "~0").replace('/', "~1");
            into.push(Problem { pointer: format!("{pointer}/{name}"), breach: Breach::Missing });
            return;
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return alternatives(pointer, context, into);
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            Breach::Unknown(unexpected.clone())
        }
        Kind::Type { kind: TypeKind::Single(kind) } => Breach::Type(vec![kind.to_string()]),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            Breach::Type(kinds.iter().map(|kind| kind.to_string()).collect())
        }
        Kind::Constant { expected_value } => Breach::OneOf(vec![Value::clone(expected_value)]),
        Kind::Enum { options } => Breach::OneOf(options.as_array().cloned().unwrap_or_default()),
        Kind::Minimum { limit } => number(limit, Breach::AtLeast),
        Kind::Maximum { limit } => number(limit, Breach::AtMost),
        Kind::ExclusiveMinimum { limit } => number(limit, Breach::Above),
        Kind::ExclusiveMaximum { limit } => number(limit, Breach::Below),
        Kind::MultipleOf { multiple_of } => Breach::MultipleOf(*multiple_of),
        Kind::MinLength { limit } => Breach::MinLength(*limit),
        Kind::MaxLength { limit } => Breach::MaxLength(*limit),
        Kind::MinItems { limit } => Breach::MinItems(*limit),
        Kind::MaxItems { limit } => Breach::MaxItems(*limit),
        Kind::MinProperties { limit } => Breach::MinProperties(*limit),
        Kind::MaxProperties { limit } => Breach::MaxProperties(*limit),
        Kind::Pattern { pattern } => Breach::Pattern(pattern.clone()),
        Kind::Format { format } => Breach::Format(format.clone()),
        Kind::ContentEncoding { content_encoding: format }
        | Kind::ContentMediaType { content_media_type: format } => Breach::Format(format.clone()),
        Kind::UniqueItems => Breach::NotUnique,
        Kind::Contains => Breach::NoSuchItem,
        Kind::PropertyNames { .. } => Breach::KeyName,
        Kind::OneOfMultipleValid { .. } => Breach::SeveralForms,
        Kind::AdditionalItems { limit } => Breach::MaxItems(*limit as u64),
        Kind::Not { .. } | Kind::FalseSchema | Kind::UnevaluatedItems { .. } => Breach::NotAllowed,
        Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::Custom { .. }
        | Kind::FromUtf8 { .. }
        | Kind::Referencing(_) => Breach::Misfit { expected: None },
    };
    into.push(Problem { pointer: pointer.to_owned(), breach });
}

fn number(limit: &Value, breach: fn(Number) -> Breach) -> Breach {
    limit.as_number().map_or(Breach::Misfit { expected: None }, |limit| breach(limit.clone()))
}

/// Finds the problems to mend if a value fits none of several forms. They are those of the one form
/// that was meant, if its type and its constants show which. If the forms are only values, they are
/// the allowed values.
fn alternatives(pointer: &str, forms: &[Vec<ValidationError<'static>>], into: &mut Vec<Problem>) {
    let is_another_kind = |error: &ValidationError<'_>| {
        let is_here = error.instance_path().as_str() == pointer;
        (is_here && matches!(error.kind(), Kind::Type { .. }))
            || (!is_here && matches!(error.kind(), Kind::Enum { .. }))
            || matches!(error.kind(), Kind::Constant { .. })
    };
    let mut meant = forms.iter().filter(|errors| !errors.iter().any(is_another_kind));
    if let (Some(errors), None) = (meant.next(), meant.next()) {
        for error in errors {
            problems_of(error, into);
        }
        return;
    }
    let breach = allowed_values(pointer, forms)
        .or_else(|| allowed_types(pointer, forms))
        .unwrap_or(Breach::NoForm);
    into.push(Problem { pointer: pointer.to_owned(), breach });
}

/// Returns the values of forms that are each one value, a list of values, or another type
/// altogether, as an optional enumeration has them.
fn allowed_values(pointer: &str, forms: &[Vec<ValidationError<'static>>]) -> Option<Breach> {
    let mut values = Vec::new();
    for error in forms.iter().flatten() {
        if error.instance_path().as_str() != pointer {
            return None;
        }
        if let Kind::Constant { expected_value } = error.kind() {
            values.push(Value::clone(expected_value));
        } else if let Kind::Enum { options } = error.kind() {
            values.extend(options.as_array()?.iter().cloned());
        } else if !matches!(error.kind(), Kind::Type { .. }) {
            return None;
        }
    }
    (!values.is_empty()).then_some(Breach::OneOf(values))
}

/// Returns the types of forms, if the value has none of them.
fn allowed_types(pointer: &str, forms: &[Vec<ValidationError<'static>>]) -> Option<Breach> {
    let type_of = |error: &ValidationError<'_>| {
        let Kind::Type { kind: TypeKind::Single(kind) } = error.kind() else { return None };
        (error.instance_path().as_str() == pointer).then(|| kind.to_string())
    };
    let types = forms.iter().map(|errors| errors.iter().find_map(type_of));
    types.collect::<Option<Vec<_>>>().map(Breach::Type)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(problems: Vec<Problem>) -> String {
        Problems::new(problems, &Limits::default()).in_locale(Locale::EN)
    }

    fn missing(pointer: String) -> Problem {
        Problem { pointer, breach: Breach::Missing }
    }

    #[test]
    fn problems_stand_with_their_pointers_in_both_languages() {
        let problems = Problems::new(
            vec![
                missing("/id".into()),
                Problem { pointer: "/blocks/0/indent".into(), breach: Breach::AtLeast(0.into()) },
                Problem::of_whole(Breach::NotAnObject),
            ],
            &Limits::default(),
        );
        assert_eq!(
            problems.in_locale(Locale::EN),
            "/id: is required; /blocks/0/indent: must be at least 0; must be a JSON object"
        );
        assert_eq!(
            problems.in_locale(Locale::KO),
            "/id: 꼭 있어야 합니다; /blocks/0/indent: 0 이상이어야 합니다; JSON 객체여야 합니다"
        );
        assert_eq!(problems.to_string(), problems.in_locale(Locale::EN));
    }

    #[test]
    fn at_most_sixteen_problems_are_told() {
        let sixteen = text((0..16).map(|n| missing(format!("/{n}"))).collect());
        assert_eq!(sixteen.matches("is required").count(), 16);
        assert!(sixteen.ends_with("/15: is required"));
        let many = text((0..1_000).map(|n| missing(format!("/{n}"))).collect());
        assert_eq!(many, sixteen + "; ...");
    }

    #[test]
    fn the_text_is_at_most_one_kibibyte_and_ends_after_a_whole_problem() {
        let long = text((0..16).map(|n| missing(format!("/{n}/{}", "x".repeat(100)))).collect());
        assert!(long.len() <= 1_024 && long.len() > 800, "{}", long.len());
        assert!(long.ends_with("is required; ..."), "{long}");
        let alone = text(vec![Problem {
            pointer: "/a".into(),
            breach: Breach::Pattern("가".repeat(1_000)),
        }]);
        assert!(alone.len() <= 1_024 && alone.ends_with("가..."), "{alone}");
    }

    #[test]
    fn a_long_or_strange_key_does_not_fill_the_text() {
        let told = text(vec![missing(format!("/{}\n", "가".repeat(5_000)))]);
        assert_eq!(told, format!("/{}...: is required", "가".repeat(119)));
        assert_eq!(text(vec![missing("/a\nb\u{0}".into())]), "/a\u{fffd}b\u{fffd}: is required");
        let unknown = Problem::of_whole(Breach::Unknown(vec!["a\n".into(), "b".into()]));
        assert_eq!(text(vec![unknown]), "keys not allowed: a\u{fffd}, b");
    }

    proptest::proptest! {
        #[test]
        fn the_text_keeps_to_its_bounds(
            pointers in proptest::collection::vec("(/[a가~]{0,40}){0,8}", 0..40),
            max_problems in 0_usize..20,
            max_bytes in 0_usize..300,
        ) {
            let limits = Limits {
                max_validation_problems: max_problems,
                max_validation_bytes: max_bytes,
                ..Limits::default()
            };
            let count = pointers.len();
            let told = Problems::new(pointers.into_iter().map(missing).collect(), &limits);
            for locale in [Locale::KO, Locale::EN] {
                let text = told.in_locale(locale);
                proptest::prop_assert!(text.len() <= max_bytes.max(MORE.len()), "{} {text}", text.len());
                let words = Text::Breach(&Breach::Missing).in_locale(locale);
                proptest::prop_assert!(text.matches(&words).count() <= max_problems.min(count));
            }
        }
    }
}
