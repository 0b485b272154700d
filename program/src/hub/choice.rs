//! Chooses the files of a model in a repository, as llama.cpp does.

use super::name::HubName;

/// The default quantisations in order, as llama.cpp has them: the usual balance, and one that every
/// small model has.
const USUAL: [&str; 2] = ["Q4_K_M", "Q8_0"];

/// Parts of names of GGUF files that are no text model: vision, importance matrices, drafting
/// heads.
const BESIDE_A_MODEL: [&str; 6] = ["mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-"];

/// The reason why no file was chosen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoChoice {
    /// The repository has no model.
    NoModel,
    /// No model has this quantisation; these exist.
    NotOfThese(Vec<String>),
    /// The model is split, and this part is missing.
    NoPart(String),
}

impl NoChoice {
    /// Says why nothing was chosen for this name, and what to do.
    pub(super) fn sentence(&self, name: &HubName) -> String {
        match self {
            Self::NoModel => format!(
                "{name} has no GGUF file: give a repository that has, often one whose name ends in GGUF"
            ),
            Self::NotOfThese(there) => {
                format!("{name} is not there; the repository has {}", there.join(", "))
            }
            Self::NoPart(part) => {
                format!("{name} is not whole on the hub, {part} is missing: give another model")
            }
        }
    }
}

/// Chooses all parts of one model by the names of a repository's files; the first part is opened.
///
/// Without a quantisation it takes a default one, otherwise the first by name.
pub(super) fn choose<'a>(names: &[&'a str], quant: Option<&str>) -> Result<Vec<&'a str>, NoChoice> {
    let mut models: Vec<&str> =
        names.iter().copied().filter(|name| is_model(name) && begins(name)).collect();
    models.sort_unstable();
    let Some(first) = models.first().copied() else { return Err(NoChoice::NoModel) };
    let chosen = match quant {
        Some(quant) => of_quant(&models, quant).ok_or_else(|| {
            let mut there: Vec<String> = models.iter().filter_map(|name| quant_of(name)).collect();
            there.sort_unstable();
            there.dedup();
            NoChoice::NotOfThese(there)
        })?,
        None => USUAL.iter().find_map(|quant| of_quant(&models, quant)).unwrap_or(first),
    };
    let Some(split) = Split::of(chosen) else { return Ok(vec![chosen]) };
    (1..=split.count)
        .map(|number| {
            let part = split.part(number);
            names.iter().copied().find(|name| **name == part).ok_or(NoChoice::NoPart(part))
        })
        .collect()
}

/// Tells whether a file has a model's ending.
pub(super) fn is_gguf(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".gguf")
}

fn is_model(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    is_gguf(name) && BESIDE_A_MODEL.iter().all(|beside| !file.contains(beside))
}

/// Tells whether a model begins with this file.
fn begins(name: &str) -> bool {
    Split::of(name).is_none_or(|split| split.number == 1)
}

/// Finds the first name with the quantisation as a whole word; otherwise, like llama.cpp, as the
/// end of a word. Whole words come first, so that `F16` does not find `BF16`.
fn of_quant<'a>(models: &[&'a str], quant: &str) -> Option<&'a str> {
    let quant = quant.to_ascii_lowercase();
    let has = |name: &str, is_word: bool| {
        let name = name.to_ascii_lowercase();
        name.match_indices(&quant).any(|(at, found)| {
            let before = name[..at].chars().next_back();
            let behind = name[at + found.len()..].chars().next();
            let begins = before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
            matches!(behind, Some('.' | '-')) && (begins || !is_word)
        })
    };
    let find = |is_word| models.iter().copied().find(|name| has(name, is_word));
    find(true).or_else(|| find(false))
}

/// Returns the quantisation in a file's name: the last word before the part's number and `.gguf`.
fn quant_of(name: &str) -> Option<String> {
    let stem =
        Split::of(name).map_or_else(|| &name[..name.len() - ".gguf".len()], |split| split.stem);
    let word = stem.rsplit(['-', '.', '/']).next().filter(|word| *word != stem)?;
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_plain.then(|| word.to_ascii_uppercase())
}

/// A part of a split model: `STEM-00001-of-00003.gguf`.
#[derive(Debug, PartialEq, Eq)]
struct Split<'a> {
    stem: &'a str,
    number: u32,
    count: u32,
    ending: &'a str,
}

impl<'a> Split<'a> {
    fn of(name: &'a str) -> Option<Self> {
        let (rest, ending) = name.split_at_checked(name.len().checked_sub(".gguf".len())?)?;
        let (rest, count) = rest.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        let digits = |text: &str| {
            let is_number = text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
            text.parse().ok().filter(|_| is_number)
        };
        let number = digits(number)?;
        let count = digits(count)?;
        (is_gguf(ending) && count > 0).then_some(Self { stem, number, count, ending })
    }

    fn part(&self, number: u32) -> String {
        format!("{}-{number:05}-of-{:05}{}", self.stem, self.count, self.ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantisation_decides_and_else_the_usual_one() {
        let all = ["m-BF16.gguf", "m-F16.gguf", "m-IQ4_NL.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf"];
        let split = ["Q8_0/m-Q8_0-00001-of-00002.gguf", "Q8_0/m-Q8_0-00002-of-00002.gguf"];
        let others =
            ["README.md", "config.json", "mmproj-m-Q8_0.gguf", "imatrix.gguf", "mtp-Q4_K_M.gguf"];
        for (names, quant, chosen) in [
            (&all[..], None, &["m-Q4_K_M.gguf"][..]),
            (&all, Some("q8_0"), &["m-Q8_0.gguf"]),
            (&all, Some("F16"), &["m-F16.gguf"]),
            (&all, Some("bf16"), &["m-BF16.gguf"]),
            // Like llama.cpp: the end of a word counts if no whole word does.
            (&all, Some("Q4_NL"), &["m-IQ4_NL.gguf"]),
            (&["m-Q8_0.gguf", "m-Q2_K.gguf"], None, &["m-Q8_0.gguf"]),
            (&["b.gguf", "a.GGUF", "c.gguf"], None, &["a.GGUF"]),
            (&["m-UD-Q4_K_XL.gguf"], Some("UD-Q4_K_XL"), &["m-UD-Q4_K_XL.gguf"]),
            (&[split[1], split[0]], None, &split),
            (&[split[1], split[0]], Some("Q8_0"), &split),
        ] {
            let names = [names, &others[..]].concat();
            assert_eq!(choose(&names, quant), Ok(chosen.to_vec()), "{names:?} {quant:?}");
        }
    }

    #[test]
    fn what_there_is_is_named_where_nothing_fits() {
        let names = [
            "m-Q4_K_M.gguf",
            "m-q8_0.gguf",
            "x/m.Q2_K-00001-of-00001.gguf",
            "m-큰것.gguf",
            "mmproj-F16.gguf",
        ];
        let there = ["Q2_K", "Q4_K_M", "Q8_0"].map(str::to_owned).to_vec();
        assert_eq!(choose(&names, Some("Q5_K_M")), Err(NoChoice::NotOfThese(there)));
        // A part of a longer quantisation is another one.
        assert!(matches!(choose(&["m-Q2_K_L.gguf"], Some("Q2_K")), Err(NoChoice::NotOfThese(_))));
        for names in [&[][..], &["README.md"], &["mmproj-F16.gguf"], &["m-00002-of-00002.gguf"]] {
            assert_eq!(choose(names, None), Err(NoChoice::NoModel), "{names:?}");
        }
        let missing = ["m-00001-of-00003.gguf", "m-00003-of-00003.gguf"];
        assert_eq!(
            choose(&missing, None),
            Err(NoChoice::NoPart("m-00002-of-00003.gguf".to_owned()))
        );
    }
}
