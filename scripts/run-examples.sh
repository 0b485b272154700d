#!/usr/bin/env bash
# Runs every example, each of which must end by itself, without input, within a minute.
#
# An example that cannot says so in a line of its head, `//! Needs arguments: ...` or `//! Serves until it is stopped: ...`,
# and is only compiled.
set -eu
cd "$(dirname "$0")/.."

limit=""
if command -v timeout >/dev/null; then limit="timeout 60"; fi

ran=0
for source in {.,actors,llama,toolkits,server,mcp,program}/examples/{*.rs,*/main.rs}; do
    [ -e "$source" ] || continue # the pattern itself: nothing matched
    name=${source%/main.rs}
    name=$(basename "$name" .rs)
    # One of the library's needs the feature `remote`; with it they are all built once.
    package=(-p madang --features remote)
    case $source in ./*) ;; *) package=(-p "madang-${source%%/*}") ;; esac
    cargo build -q "${package[@]}" --example "$name"
    if grep -Eq '^//! (Needs arguments|Serves until it is stopped):' "$source"; then
        echo "example $name: compiled; it does not end by itself"
        continue
    fi
    begin=$SECONDS
    if ! output=$($limit cargo run -q "${package[@]}" --example "$name" </dev/null 2>&1); then
        printf '%s\n' "$output"
        echo "example $name: failed, or took longer than a minute"
        exit 1
    fi
    echo "example $name: ok, $((SECONDS - begin)) s"
    ran=$((ran + 1))
done
# The smallest program is a package of its own, built with what it asks for and no more.
begin=$SECONDS
cargo build -q -p madang-hello
if ! said=$($limit cargo run -q -p madang-hello </dev/null 2>&1) || [ "$said" != "You said: Good day!" ]; then
    printf '%s\n' "$said"
    echo "examples/hello: failed, or took longer than a minute"
    exit 1
fi
echo "examples/hello: ok, $((SECONDS - begin)) s"
if [ "$ran" -eq 0 ]; then
    echo "there is no example to run"
    exit 1
fi
