//! The names under which a model knows the tools of servers: `gh` and `create-issue` become
//! `gh__create_issue`.

use sha2::{Digest as _, Sha256};

/// The most characters of a name. The APIs of models accept no more.
const MAX_CHARS: usize = 64;
/// The digits of the hash that follows a cut name.
const HASH_DIGITS: usize = 8;

/// Makes the name of a server's tool.
pub(super) fn tool_name(server: &str, tool: &str) -> String {
    let name = format!("{}__{}", word(server), word(tool));
    let name = if name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        name
    } else {
        format!("mcp_{name}")
    };
    if name.len() <= MAX_CHARS {
        return name;
    }
    let hash = Sha256::digest(format!("{server}\0{tool}"));
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}_{}", &name[..MAX_CHARS - HASH_DIGITS - 1], &hash[..HASH_DIGITS])
}

/// Writes a name in small letters, digits and underscores.
pub(super) fn word(name: &str) -> String {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9') => letter,
        _ => '_',
    };
    name.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_every_model_takes() {
        let table = [
            ("gh", "create-issue", "gh__create_issue"),
            ("My Server", "Read.File", "my_server__read_file"),
            ("21st", "x", "mcp_21st__x"),
            ("서버", "읽기", "mcp_______"),
        ];
        for (server, tool, name) in table {
            assert_eq!(tool_name(server, tool), name);
        }
    }

    #[test]
    fn a_name_that_is_cut_ends_in_a_hash_of_the_whole() {
        let long = "a".repeat(100);
        let one = tool_name("s", &long);
        let other = tool_name("s", &format!("{long}b"));
        assert_eq!((one.len(), other.len()), (64, 64));
        assert_ne!(one, other);
        assert_eq!(tool_name("s", &"a".repeat(61)), format!("s__{}", "a".repeat(61)));
    }
}
