//! Tests that TOOLS.md equals the registry. `UPDATE_EXPECT=1 cargo test tools_md` rewrites it.

mod markdown;

use expect_test::expect_file;
use madang::tool::ToolRegistry;
use madang_toolkits::{life, notes};

use markdown::tools_markdown;

#[test]
fn tools_md_is_what_the_registry_says() {
    let mut registry = ToolRegistry::new();
    registry.register_all(life::tools()).unwrap();
    registry.register_all(notes::tools()).unwrap();
    expect_file!["../../../../TOOLS.md"].assert_eq(&tools_markdown(&registry));
}
