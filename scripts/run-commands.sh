#!/usr/bin/env bash
# Runs each command that a page of the repository names, in a form that takes seconds: tests are listed and must be some,
# `make` says what it would do, a proof has one small run, and the program reads the options before it prints their help.
#
# It runs what the suites before it have built, so nothing is compiled twice. A command that it does not know fails.
set -eu -o pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

members=(--workspace --exclude madang-actors --exclude madang-proof)

# The commands of the shell blocks and of the inline code of a page, one a line.
commands_of() {
    sed -n '/^```sh$/,/^```$/{/^```/!p}' "$1" | sed 's/ #.*//'
    sed '/^```/,/^```$/d' "$1" | tr '\n' ' ' | grep -o '`[^`]*`' | tr -d '`' |
        grep -E '^([A-Z_]+=[^ ]+ )?(make|cargo|madang|scripts/[a-z-]+\.sh) ' || true
}

# Says why a command is not run here; fails for the others.
has_reason() {
    case $1 in
    "cargo clippy "* | "cargo test") echo "a suite runs this very line" ;;
    "cargo deny "* | "cargo machete"* | "cargo nextest "* | "cargo mutants"*) echo "a tool that a person installs" ;;
    *--bench\ NAME* | *OWNER/REPO* | *path/to/model* | *COMMAND*) echo "a pattern, not a command" ;;
    llama-server\ *) echo "another program" ;;
    *) return 1 ;;
    esac
}

run() {
    local command words=() name="" value=""
    # Without its environment, and with values in place of what stands for one.
    command=$(sed -E -e 's/^([A-Z_]+=[^ ]+ )+//' -e 's/ N$/ 7/' -e "s/ HASH$/ $(printf '%064d' 0)/" <<<"$1")
    read -ra words <<<"$command"
    case "${words[0]} ${words[1]-}" in
    "make "*) eval "make -n ${command#make }" >/dev/null ;;
    "cargo fmt") cargo fmt --all --check ;;
    "cargo test") lists_some "${words[@]:2}" ;;
    "cargo bench")
        name=$(sed -nE 's/.*--bench ([a-z_]+).*/\1/p' <<<"$command")
        cargo metadata --no-deps --format-version 1 --offline | grep -q "\"kind\":\[\"bench\"\][^}]*\"name\":\"$name\""
        ;;
    "cargo run")
        set +o pipefail
        value=${command#*-- }
        if [ "$value" = "$command" ]; then
            "$target/debug/proof" | grep '^usage: proof' # it ends with 2, as without a command
        else
            # shellcheck disable=SC2086 # words
            "$target/debug/proof" $value >/dev/null
        fi
        ;;
    # The fuzz targets are a workspace of their own, whose lock file follows ours.
    scripts/fuzz.sh*) cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null ;;
    scripts/*) bash -n "${words[0]}" ;;
    "madang "*)
        # The options are read in order, and the help at their end ends the program before anything begins.
        "$target/debug/madang" "${words[@]:1}" --help >/dev/null
        ;;
    *) return 1 ;;
    esac
}

# Fails where the filter of a `cargo test` names no test.
lists_some() {
    local chosen=("${members[@]}") kind=() filter=""
    while [ $# -gt 0 ]; do
        case $1 in
        -p)
            shift
            if [ "$1" = madang-actors ]; then chosen=(-p madang-actors); fi
            if [ "$1" = madang-proof ]; then chosen=(--workspace); fi
            ;;
        --lib) kind=(--lib) ;;
        --test)
            shift
            kind=(--test "$1")
            ;;
        --) break ;;
        *) filter=$1 ;;
        esac
        shift
    done
    cargo test -q --locked "${chosen[@]}" ${kind[@]+"${kind[@]}"} $filter -- --list | grep -c ': test$'
}

ran=0
failed=0
while read -r page; do
    while read -r command; do
        if [ -z "$command" ]; then continue; fi
        if reason=$(has_reason "$command"); then
            echo "left out: $command ($reason)"
        elif output=$(run "$command" 2>&1); then
            ran=$((ran + 1))
        else
            printf '%s: `%s` cannot be run:\n%s\n' "$page" "$command" "$output"
            failed=1
        fi
    done < <(commands_of "$page" | sort -u)
done < <(git ls-files '*.md')
echo "$ran commands ran"
[ "$ran" -gt 20 ] && exit $failed
