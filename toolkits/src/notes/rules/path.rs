//! Parses paths of the workspace.
use super::NotesViolation;

/// Splits a path into names, the outermost first. It returns no names for the workspace itself.
///
/// # Errors
/// Returns [`NotesViolation::OutsideWorkspace`] for a path that leads, or could lead, out of the
/// workspace.
pub fn parse_path(path: &str) -> Result<Vec<&str>, NotesViolation> {
    let is_drive =
        path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    let is_home = path == "~" || path.starts_with("~/");
    if is_drive || is_home || path.starts_with(['/', '\\']) || path.contains('\0') {
        return Err(NotesViolation::OutsideWorkspace);
    }
    let mut names = Vec::new();
    for name in path.split(['/', '\\']).map(str::trim) {
        match name {
            "" | "." => {}
            ".." => return Err(NotesViolation::OutsideWorkspace),
            name => names.push(name),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_what_is_on_the_way() {
        assert_eq!(parse_path("프로젝트/마당.md").unwrap(), ["프로젝트", "마당.md"]);
        assert_eq!(parse_path("./a//b/").unwrap(), ["a", "b"]);
        assert_eq!(parse_path("a\\b").unwrap(), ["a", "b"]);
        assert_eq!(parse_path(".").unwrap(), [""; 0]);
    }

    #[test]
    fn no_path_leads_out_of_the_workspace() {
        for path in [
            "..",
            "a/../..",
            "/etc/passwd",
            "\\\\server\\x",
            "C:\\Windows",
            "c:x",
            "~/x",
            "a\0b",
            "a/ .. /b",
        ] {
            assert_eq!(parse_path(path), Err(NotesViolation::OutsideWorkspace), "{path:?}");
        }
    }
}
