#!/usr/bin/env bash
# Runs each command that a page of the repository names, in a form that takes seconds: tests are listed and must be some,
# `make` says what it would do, a proof has one small run, and the program reads the options before it prints their help.
#
# The programs of docs/serve.md talk to a server with a script in place of a model, and must run its tool.
#
# It runs what the suites before it have built, so nothing is compiled twice. A command that it does not know fails.
set -eu -o pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

limit=""
if command -v timeout >/dev/null; then limit="timeout 60"; fi

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
    "uvx "* | "npx "* | "cargo install "*) echo "it brings a package that is published" ;;
    "cargo build --locked --release --bin madang") echo "the suite packages takes the program of the build before it" ;;
    "cargo run -p madang-hello") echo "the suite examples runs this very line" ;;
    "cargo build --release --bin madang --features madang-cli/cuda") echo "it needs the CUDA toolkit" ;;
    *--bench\ NAME* | *OWNER/REPO* | *path/to/model* | *COMMAND*) echo "a pattern, not a command" ;;
    llama-server\ *) echo "another program" ;;
    *) return 1 ;;
    esac
}

run() {
    local command words=() name="" value=""
    # Without its environment, and with values in place of what stands for one.
    command=$(sed -E -e 's/^([A-Z_]+=[^ ]+ )+//' -e 's/ N$/ 7/' -e 's/ ADDRESS$/ 127.0.0.1:0/' -e "s/ HASH$/ $(printf '%064d' 0)/" <<<"$1")
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
        if [[ $command == *"-p madang-eval"* ]]; then
            "$target/debug/eval" "${words[@]:6}" --help >/dev/null
            return
        fi
        [[ $command == *"-p madang-proof --bin proof"* ]] || return 1
        set +o pipefail
        value=${command#*-- }
        if [ "$value" = "$command" ]; then
            "$target/debug/proof" 2>&1 | grep '^Usage: proof' # it ends with 2, as without a command
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

# Prints the block of a language of docs/serve.md that needs no SDK. The suite `clients` runs the others.
block_of_serve() {
    sed -n '/^## From another language$/,/^## /p' docs/serve.md | sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p}"
}

# Runs the program of this language on that page, by this command and before a server of its own.
runs_with_a_server() {
    local language=$1 folder server ended=0
    shift
    folder=$(mktemp -d)
    cat >"$folder/script" <<'END'
{"tool_calls":[{"name":"add_habit","arguments":{"protocol_id":"morning-light","frame_level":"L2","framed_text":"I look at it."}}]}
{"text":"It is a habit of yours now."}
END
    block_of_serve "$language" >"$folder/program"
    MADANG_SEAL_KEYS=$folder/keys "$target/debug/madang" serve --script "$folder/script" --db "$folder/db" \
        --listen 127.0.0.1:0 >"$folder/said" 2>"$folder/err" </dev/null &
    server=$!
    for _ in $(seq 300); do
        if grep -q '^open ' "$folder/said" || ! kill -0 $server 2>/dev/null; then break; fi
        sleep 0.1
    done
    MADANG=$(sed -n 's/^listening //p' "$folder/said") TOKEN=$(sed -n 's/.*#token=//p' "$folder/said") \
        $limit "$@" <"$folder/program" >"$folder/heard" || ended=$?
    kill $server
    wait $server || ended=$?
    grep -q turn_ended "$folder/heard" || ended=1
    # Only with the yes.
    MADANG_SEAL_KEYS=$folder/keys "$target/debug/madang" ledger --db "$folder/db" | grep -q '"status":"ok"' || ended=1
    if [ $ended -ne 0 ]; then cat "$folder/err" "$folder/heard"; fi
    rm -r "$folder"
    return $ended
}

ran=0
failed=0
for program in "bash bash -eu" "python python3 -" "js node --input-type=module -"; do
    read -ra words <<<"$program"
    needs=${words[1]}
    if [ "${words[0]}" = bash ]; then needs=jq; fi
    if ! command -v "$needs" >/dev/null; then
        echo "left out: the ${words[0]} of docs/serve.md (there is no $needs)"
    elif output=$(runs_with_a_server "${words[@]}" 2>&1); then
        ran=$((ran + 1))
    else
        printf 'docs/serve.md: its %s does not do what it says:\n%s\n' "${words[0]}" "$output"
        failed=1
    fi
done
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
