#!/usr/bin/env bash
# Checks programs as an application has them: each is a package outside of the workspace, which depends on this repository
# by its path and begins with its lock file.
#
# usage: scripts/outside.sh [README.md] [docs/embedding.md] [examples] [sqlite]     without names, all of them
#   a page: each whole program on it, with the dependencies that the page names before it
#   examples: each file and folder of examples/
#   sqlite: what the page says about other crates that use SQLite; Cargo chooses the versions, and nothing is compiled
#
# If llama.cpp was built here, its bindings are taken from that build. Otherwise README.md compiles it.
set -eu -o pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Writes each whole program of a page into a package of its own, and prints the folders.
programs_of() {
    awk -v out="$folder/$(basename "$1" .md)" '
        /^```/ && fence == "" { fence = $0; text = ""; next }
        /^```$/ {
            if (fence == "```toml" && text ~ /^\[dependencies\]/ && text !~ /git = /) { dependencies = text }
            if (fence ~ /^```rust/ && text ~ /fn main\(/) {
                package = out "-" ++count
                system("mkdir -p " package "/src")
                printf "%s", dependencies > (package "/dependencies")
                printf "%s", text > (package "/src/main.rs")
                print package
            }
            fence = ""
            next
        }
        fence != "" { text = text $0 "\n" }
    ' "$1"
}

# Makes a package of a folder that has sources and a file with its dependencies.
make_package() {
    {
        printf '[package]\nname = "outside"\nversion = "0.1.0"\nedition = "2024"\n\n[workspace]\n\n'
        sed -E "s#path = \"madang(/[^\"]*)?\"#path = \"$root\\1\"#" "$1/dependencies"
    } >"$1/Cargo.toml"
    cp Cargo.lock "$1/"
}

bindings=()
if found=$(scripts/llama-bindings.sh 2>/dev/null); then bindings=(--config "$found"); fi

check() {
    local package=$1 begin=$SECONDS
    shift
    make_package "$package"
    CARGO_TARGET_DIR=$target cargo check -q --manifest-path "$package/Cargo.toml" ${bindings[@]+"${bindings[@]}"} "$@"
    echo "outside: $(basename "$package"): ok, $((SECONDS - begin)) s"
}

page() {
    local package count=0
    while read -r package; do
        check "$package"
        count=$((count + 1))
    done < <(programs_of "$1")
    if [ "$count" -lt 2 ]; then
        echo "$1 has $count whole programs; it had two"
        return 1
    fi
}

# All in one package, which has what an application like any of them needs.
examples() {
    mkdir "$folder/examples"
    cp -r examples "$folder/examples/"
    rm -r "$folder/examples/examples/hello" # a package of its own; docs/embedding.md shows it
    cat >"$folder/examples/dependencies" <<'END'
[dependencies]
axum = "0.8"
futures-util = "0.3"
madang = { path = "madang", features = ["remote"] }
madang-testing = { path = "madang/testing" }
schemars = "1.2"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
sqlx = { version = "0.9", default-features = false, features = ["runtime-tokio", "sqlite", "migrate", "macros"] }
tempfile = "3"
tokio = { version = "1", features = ["full"] }
END
    mkdir "$folder/examples/src"
    : >"$folder/examples/src/lib.rs"
    check "$folder/examples" --examples
}

# Each row of the table `beside Madang`: the crates in its first column, and the libsqlite3-sys that Cargo chooses.
# shellcheck disable=SC2016 # the backticks of the page and of Cargo
sqlite() {
    local names wanted name found failed=0 count=0
    mkdir -p "$folder/sqlite/src"
    : >"$folder/sqlite/src/lib.rs"
    while IFS='|' read -r _ names wanted _; do
        while read -r name; do
            # These need to be told that they are for SQLite.
            case $name in
            diesel* | sqlx*) name="${name%% *} = { version = ${name#* = }, features = [\"sqlite\"] }" ;;
            sea-orm*) name="sea-orm = { version = ${name#* = }, features = [\"sqlx-sqlite\"] }" ;;
            esac
            printf '[dependencies]\nmadang = { path = "madang" }\n%s\n' "$name" >"$folder/sqlite/dependencies"
            make_package "$folder/sqlite"
            rm "$folder/sqlite/Cargo.lock" # a new application has none
            found=none
            if cargo generate-lockfile -q --manifest-path "$folder/sqlite/Cargo.toml" 2>"$folder/sqlite/said"; then
                found=$(sed -n '/^name = "libsqlite3-sys"$/{n;s/^version = "\([0-9]*\.[0-9]*\)\..*/\1/p}' "$folder/sqlite/Cargo.lock")
            elif ! grep -q 'links to the native library `sqlite3`' "$folder/sqlite/said"; then
                cat "$folder/sqlite/said"
                found="no answer"
            fi
            count=$((count + 1))
            if [ "$found" = "$(tr -d ' ' <<<"$wanted")" ]; then
                echo "outside: $name: $found"
            else
                echo "docs/embedding.md says$wanted for $name, and Cargo chooses $found"
                failed=1
            fi
        done < <(grep -o '`[a-z0-9_-]* = "[0-9.]*"`' <<<"$names" | tr -d '`')
    done < <(sed -n '/^| beside Madang /,/^$/p' docs/embedding.md | tail -n +3)
    if [ "$count" -lt 10 ]; then
        echo "the table of docs/embedding.md has $count crates; it had more"
        return 1
    fi
    return $failed
}

if [ $# -eq 0 ]; then set -- README.md docs/embedding.md examples sqlite; fi
for wanted in "$@"; do
    case $wanted in
    *.md) page "$wanted" ;;
    examples | sqlite) "$wanted" ;;
    *)
        echo "there is nothing to check named \`$wanted\`; see the head of this script" >&2
        exit 2
        ;;
    esac
done
