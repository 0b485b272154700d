#!/usr/bin/env bash
# Builds the program that runs on any x86-64 with Linux and uses what the processor has: llama.cpp computes in a library, and of several
# variants the program loads the one for the processor that it finds (llama/src/processor.rs). Whatever of it is older is replaced:
#
#   target/portable/bin/madang          starts the program
#   target/portable/lib/madang/madang   the program, for scripts/package.sh
#   target/portable/lib/madang/*.so*    the libraries
#
# usage: scripts/portable.sh [OPTION..]     options of cargo, such as --locked
set -eu -o pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

stop() {
    echo "scripts/portable.sh: $*" >&2
    exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] || stop "the variants are those of x86-64 on Linux, and this is $(uname -sm): use \`cargo build --release\`"
command -v readelf >/dev/null || stop "there is no \`readelf\`: install binutils"

# Each file finds the libraries beside itself. RPATH, not RUNPATH, so that no variable of the environment puts a llama.cpp of another
# version in their place.
export CMAKE_INSTALL_RPATH='$ORIGIN' CMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags CMAKE_MODULE_LINKER_FLAGS=-Wl,--disable-new-dtags
# llama-cpp-sys-2 leaves links here that lead nowhere, and fails if it finds them when it builds again.
rm -f "$target"/release/{,deps/,examples/}lib{llama,ggml,ggml-base}.so
said=$(mktemp)
trap 'rm -f "$said"' EXIT
cargo rustc --release -p madang-cli --bin madang --features portable --message-format json-render-diagnostics "$@" -- \
    -C 'link-arg=-Wl,--disable-new-dtags,-rpath,$ORIGIN' >"$said"

built=$(sed -n 's/.*"reason":"build-script-executed".*llama-cpp-sys-2.*"out_dir":"\([^"]*\)".*/\1/p' "$said")
program=$(sed -n 's/.*"reason":"compiler-artifact".*"executable":"\([^"]*\/madang\)".*/\1/p' "$said")
[ -d "$built/backends" ] && [ -f "$program" ] || stop "cargo does not say where it built llama.cpp and the program"

new=$target/portable.new
rm -rf "$new"
mkdir -p "$new/bin" "$new/lib/madang"
cp packaging/launcher.sh "$new/bin/madang"
cp "$program" "$new/lib/madang/madang"
# Under the names by which they are loaded; those that cmake installs are links to names with the whole version.
for library in "$built"/lib*/lib*.so; do
    cp "$library" "$new/lib/madang/$(readelf --dynamic "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
done
for variant in $(sed -n '/^const VARIANTS/,/^];/s/^ *"\(.*\)",$/\1/p' llama/src/processor.rs); do
    cp "$built/backends/libggml-cpu-$variant.so" "$new/lib/madang/"
done
rm -rf "$target/portable"
mv "$new" "$target/portable"
echo "$target/portable/bin/madang"
