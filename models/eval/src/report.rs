//! Reports an evaluation: how many cases were right in what, by kind, language and part.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{
    case::Kind,
    cases::{Part, Placed},
    language::Language,
    score::Marks,
};

/// The verdict on a case.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Verdict {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) language: Language,
    pub(crate) toolkit: String,
    pub(crate) part: Part,
    #[serde(flatten)]
    pub(crate) marks: Marks,
    /// The unmet expectations; also empty for a sealed case that must not be shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) complaints: Vec<String>,
}

/// The results of an evaluation.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The name of the judged model.
    pub(crate) model: String,
    /// Cases without their toolkits.
    pub(crate) left_out: usize,
    pub(crate) groups: Vec<Group>,
    pub(crate) cases: Vec<Verdict>,
}

/// Cases that are counted together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Group {
    /// Their common property, such as `single`, `single ko`, `open`.
    pub(crate) name: String,
    pub(crate) cases: usize,
    pub(crate) calls: Share,
    pub(crate) rows: Share,
    pub(crate) restraint: Share,
    pub(crate) truth: Share,
    /// Cases that are right in everything.
    pub(crate) passed: Share,
}

/// A part of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Share {
    pub(crate) right: usize,
    pub(crate) of: usize,
}

impl Verdict {
    /// Builds the verdict of a case that was run.
    pub(crate) fn new(placed: &Placed, (marks, complaints): (Marks, Vec<String>)) -> Self {
        let case = &placed.case;
        Self {
            id: case.id.clone(),
            kind: case.kind,
            language: case.language,
            toolkit: case.toolkit.clone(),
            part: placed.part,
            marks,
            complaints,
        }
    }
}

impl Report {
    /// Counts the verdicts.
    pub(crate) fn new(model: String, left_out: usize, cases: Vec<Verdict>) -> Self {
        let mut groups = Vec::new();
        let mut add = |name: &str, is_in: &dyn Fn(&Verdict) -> bool| {
            groups.extend(Group::of(name, cases.iter().filter(|verdict| is_in(verdict))));
        };
        let languages = [Language::Ko, Language::En];
        for kind in [
            Kind::Single,
            Kind::Chain,
            Kind::Restraint,
            Kind::Correction,
            Kind::Refusal,
            Kind::Error,
            Kind::Natural,
        ] {
            add(kind.name(), &|verdict| verdict.kind == kind);
            for language in languages {
                let name = format!("{} {}", kind.name(), language.tag());
                add(&name, &|verdict| verdict.kind == kind && verdict.language == language);
            }
        }
        let mut toolkits: Vec<_> = cases.iter().map(|verdict| verdict.toolkit.clone()).collect();
        toolkits.sort();
        toolkits.dedup();
        for toolkit in toolkits {
            add(&toolkit, &|verdict| verdict.toolkit == toolkit);
        }
        for part in [Part::Open, Part::Sealed] {
            add(part.name(), &|verdict| verdict.part == part);
        }
        for language in languages {
            add(language.tag().as_str(), &|verdict| verdict.language == language);
        }
        add("all", &|_| true);
        Self { model, left_out, groups, cases }
    }

    /// Counts the cases that are right in everything.
    pub(crate) fn passed(&self) -> Share {
        self.groups.last().map_or(Share::default(), |all| all.passed)
    }
}

impl Group {
    /// Counts a group; `None` if it is empty.
    fn of<'a>(name: &str, verdicts: impl Iterator<Item = &'a Verdict>) -> Option<Self> {
        let mut group = Self { name: name.to_owned(), ..Self::default() };
        for Verdict { marks, .. } in verdicts {
            group.cases += 1;
            group.calls.count(marks.calls);
            if let Some(rows) = marks.rows {
                group.rows.count(rows);
            }
            group.restraint.count(marks.restraint);
            group.truth.count(marks.truth);
            group.passed.count(marks.are_all_right());
        }
        (group.cases > 0).then_some(group)
    }
}

impl Share {
    fn count(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.of += 1;
    }

    /// Returns the percentage; 100 of an empty total.
    pub(crate) fn percent(self) -> f64 {
        if self.of == 0 { 100.0 } else { self.right as f64 * 100.0 / self.of as f64 }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.of == 0 {
            return f.pad("-");
        }
        f.pad(&format!("{}/{} {:.1} %", self.right, self.of, self.percent()))
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Share", 3)?;
        fields.serialize_field("right", &self.right)?;
        fields.serialize_field("of", &self.of)?;
        fields.serialize_field("percent", &((self.percent() * 10.0).round() / 10.0))?;
        fields.end()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "model {}", self.model)?;
        if self.left_out > 0 {
            writeln!(
                f,
                "{} cases need toolkits that are not there, and were left out",
                self.left_out
            )?;
        }
        let mut line = |cells: [&str; 7]| {
            let [name, cases, rest @ ..] = cells;
            write!(f, "{name:<15}{cases:>6}")?;
            for cell in rest {
                write!(f, "{cell:>18}")?;
            }
            writeln!(f)
        };
        line(["", "cases", "exact calls", "right rows", "restraint", "truth", "all of these"])?;
        for group in &self.groups {
            let Group { name, cases, calls, rows, restraint, truth, passed } = group;
            let [calls, rows, restraint, truth, passed] =
                [calls, rows, restraint, truth, passed].map(Share::to_string);
            line([name, &cases.to_string(), &calls, &rows, &restraint, &truth, &passed])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn verdict(id: &str, kind: Kind, language: Language, part: Part, marks: Marks) -> Verdict {
        let toolkit = "life".to_owned();
        Verdict { id: id.to_owned(), kind, language, toolkit, part, marks, complaints: Vec::new() }
    }

    #[test]
    fn a_report_counts_by_kind_language_toolkit_and_part() {
        let right = Marks { calls: true, rows: Some(true), restraint: true, truth: true };
        let cases = vec![
            verdict("a", Kind::Single, Language::Ko, Part::Open, right),
            verdict(
                "b",
                Kind::Single,
                Language::En,
                Part::Sealed,
                Marks { calls: false, rows: None, ..right },
            ),
            verdict(
                "c",
                Kind::Restraint,
                Language::Ko,
                Part::Open,
                Marks { truth: false, rows: None, ..right },
            ),
        ];
        let report = Report::new("m".to_owned(), 2, cases);
        expect![[r#"
            model m
            2 cases need toolkits that are not there, and were left out
                            cases       exact calls        right rows         restraint             truth      all of these
            single              2        1/2 50.0 %       1/1 100.0 %       2/2 100.0 %       2/2 100.0 %        1/2 50.0 %
            single ko           1       1/1 100.0 %       1/1 100.0 %       1/1 100.0 %       1/1 100.0 %       1/1 100.0 %
            single en           1         0/1 0.0 %                 -       1/1 100.0 %       1/1 100.0 %         0/1 0.0 %
            restraint           1       1/1 100.0 %                 -       1/1 100.0 %         0/1 0.0 %         0/1 0.0 %
            restraint ko        1       1/1 100.0 %                 -       1/1 100.0 %         0/1 0.0 %         0/1 0.0 %
            life                3        2/3 66.7 %       1/1 100.0 %       3/3 100.0 %        2/3 66.7 %        1/3 33.3 %
            open                2       2/2 100.0 %       1/1 100.0 %       2/2 100.0 %        1/2 50.0 %        1/2 50.0 %
            sealed              1         0/1 0.0 %                 -       1/1 100.0 %       1/1 100.0 %         0/1 0.0 %
            ko                  2       2/2 100.0 %       1/1 100.0 %       2/2 100.0 %        1/2 50.0 %        1/2 50.0 %
            en                  1         0/1 0.0 %                 -       1/1 100.0 %       1/1 100.0 %         0/1 0.0 %
            all                 3        2/3 66.7 %       1/1 100.0 %       3/3 100.0 %        2/3 66.7 %        1/3 33.3 %
        "#]].assert_eq(&report.to_string());
        assert_eq!(report.passed(), Share { right: 1, of: 3 });
        assert_eq!(
            serde_json::to_value(&report.groups[0]).unwrap(),
            serde_json::json!({
                "name": "single", "cases": 2, "calls": { "right": 1, "of": 2, "percent": 50.0 },
                "rows": { "right": 1, "of": 1, "percent": 100.0 }, "restraint": { "right": 2, "of": 2, "percent": 100.0 },
                "truth": { "right": 2, "of": 2, "percent": 100.0 }, "passed": { "right": 1, "of": 2, "percent": 50.0 },
            })
        );
    }
}
