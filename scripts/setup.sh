#!/usr/bin/env bash
# Makes sure that Madang can be built here: Rust, and what llama.cpp asks for (a C++ compiler, cmake, libclang).
# Installs what is missing where it may; otherwise says what to type, and stops. Quick when nothing is missing.
#
# usage: scripts/setup.sh [lints] [browser] [clients] [templates] [packages] [postgres]
#   lints: rustfmt and clippy as well; browser: a Chromium, for the tests of the page; clients: npm, Python with venv and
#   curl, for the tests by the clients of others; templates: the chat templates of others and jinja2, in a cache;
#   packages: npm, the tools of Debian's packages, qemu, and in a cache a small Debian, auditwheel and uv; postgres: a
#   PostgreSQL, for the tests of its store
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

stop() {
    say "$*"
    exit 1
}

check_rust() {
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
        stop "Madang needs Rust $wanted or newer, and there is none in PATH: install it with rustup, then try again."
    fi
    found=$(rustc --version | cut -d ' ' -f 2)
    [ -n "$found" ] || stop "Madang needs Rust $wanted or newer, and \`rustc --version\` fails here: see above."
    if ! is_at_least "$found" "$wanted"; then
        stop "Madang needs Rust $wanted or newer, and here is $found: update it (with rustup: \`rustup update stable\`), then try again."
    fi
}

# is_at_least 1.95.0-nightly 1.94
is_at_least() {
    local found=${1%%-*} wanted=$2
    local major=${found%%.*} rest=${found#*.}
    [ "$major" -gt "${wanted%%.*}" ] || { [ "$major" -eq "${wanted%%.*}" ] && [ "${rest%%.*}" -ge "${wanted#*.}" ]; }
}

has_linker() { command -v cc >/dev/null; }

has_cxx() {
    local compiler=${CXX:-c++}
    command -v "${compiler%% *}" >/dev/null
}

has_cmake() { command -v "${CMAKE:-cmake}" >/dev/null; }

# bindgen loads the library at run time, and the library needs the headers that belong to it.
has_libclang() { has_clang_library && has_clang_headers; }

has_clang_library() {
    if [ -n "${LIBCLANG_PATH:-}" ]; then
        [ -f "$LIBCLANG_PATH" ] || any_file "$LIBCLANG_PATH"/libclang*.so* "$LIBCLANG_PATH"/libclang.dylib
        return
    fi
    any_file /usr/lib/llvm*/lib/libclang*.so* /usr/lib*/libclang*.so* /usr/lib/*/libclang*.so* \
        /usr/local/lib/libclang*.so* /usr/local/llvm*/lib/libclang*.so* /opt/homebrew/opt/llvm/lib/libclang.dylib \
        /usr/local/opt/llvm/lib/libclang.dylib /Library/Developer/CommandLineTools/usr/lib/libclang.dylib \
        /Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib/libclang.dylib
}

has_clang_headers() {
    # Beside a library of one's own choice, or on macOS, they come with it.
    [ -n "${LIBCLANG_PATH:-}" ] || [ "$(uname -s)" = Darwin ] ||
        any_file /usr/lib/llvm*/lib/clang/*/include/stddef.h /usr/lib*/clang/*/include/stddef.h \
            /usr/local/lib/clang/*/include/stddef.h /usr/local/llvm*/lib/clang/*/include/stddef.h
}

# Whether one of these exists; a pattern that matches nothing stands for itself and does not.
any_file() {
    local file
    for file in "$@"; do
        if [ -e "$file" ]; then return 0; fi
    done
    return 1
}

# The names of the packages that are missing, in the words of this system's package manager.
missing_packages() {
    local packages=()
    has_linker || packages+=("$1")
    has_cxx || packages+=("$2")
    has_cmake || packages+=(cmake)
    has_libclang || packages+=("$3")
    printf '%s' "${packages[*]-}"
}

install_missing() {
    local missing command as_root=""
    if command -v apt-get >/dev/null; then
        missing=$(missing_packages gcc g++ libclang-dev)
        command="apt-get update && apt-get install -y --no-install-recommends $missing"
    elif command -v dnf >/dev/null; then
        missing=$(missing_packages gcc gcc-c++ clang-devel)
        command="dnf install -y $missing"
    elif command -v pacman >/dev/null; then
        missing=$(missing_packages gcc gcc clang)
        command="pacman -S --needed $missing"
    elif command -v brew >/dev/null; then
        missing=$(missing_packages gcc gcc llvm)
        command="brew install $missing"
    else
        missing=$(missing_packages gcc g++ libclang)
        [ -z "$missing" ] || stop "Missing to build llama.cpp: $missing. Install them with your package manager, then try again."
        return 0
    fi
    [ -n "$missing" ] || return 0

    local typed="$command"
    if [ "$(id -u)" -ne 0 ] && ! command -v brew >/dev/null; then
        as_root="sudo -n"
        typed="su -c '$command'"
        if command -v sudo >/dev/null; then typed="sudo sh -c '$command'"; fi
    fi
    # Changes only Debian and its kin without asking, and only as root or with a sudo that needs no password.
    if ! command -v apt-get >/dev/null || { [ -n "$as_root" ] && ! sudo -n true 2>/dev/null; }; then
        say "Missing to build llama.cpp: $missing. Type this, then try again:"
        say "    $typed"
        exit 1
    fi
    say "Installing what llama.cpp is built with: $missing"
    if ! $as_root env DEBIAN_FRONTEND=noninteractive sh -c "$command" >&2; then
        say "The installation failed. Type this to see why, then try again:"
        say "    $typed"
        exit 1
    fi
    [ -z "$(missing_packages gcc g++ libclang-dev)" ] ||
        stop "Still missing after the installation: $(missing_packages gcc g++ libclang-dev)."
}

# Toolchains of rustup's minimal profile come without them. `make test` names the suites that it skips without one.
add_lints() {
    local component
    for component in fmt clippy; do
        if ! cargo "$component" --version >/dev/null 2>&1 && command -v rustup >/dev/null; then
            case $component in
            fmt) rustup component add rustfmt >&2 || true ;;
            clippy) rustup component add clippy >&2 || true ;;
            esac
        fi
    done
}

has_chromium() { command -v "${CHROMIUM:-chromium-headless-shell}" chromium chromium-browser google-chrome >/dev/null; }

# Types this for Debian and its kin, where no password is asked for: what for, and how.
try_apt() {
    local as_root=""
    if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi
    if command -v apt-get >/dev/null && { [ -z "$as_root" ] || sudo -n true 2>/dev/null; }; then
        say "Installing $1"
        $as_root env DEBIAN_FRONTEND=noninteractive sh -c "apt-get update && $2" >&2 || true
    fi
}

apt_install="apt-get install -y --no-install-recommends"

# What a person does to install these packages of Debian.
by_hand() {
    local typed="apt-get install $*"
    if ! command -v apt-get >/dev/null; then
        echo "install $* with your package manager"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null; then typed="sudo $typed"; else typed="su -c '$typed'"; fi
    fi
    echo "type \`$typed\`"
}

# `make test` skips the tests of the page where there is none.
add_browser() {
    if has_chromium; then return 0; fi
    try_apt "what the page is tried with: chromium-headless-shell" \
        "{ $apt_install chromium-headless-shell || $apt_install chromium; }"
    has_chromium || stop "The tests of the page need a Chromium, and there is none: $(by_hand chromium), then try again."
}

# The packages of Debian that the tests by the clients of others lack here.
missing_for_clients() {
    local name packages=()
    for name in npm python3 curl; do command -v $name >/dev/null || packages+=($name); done
    command -v node >/dev/null || packages+=(nodejs)
    python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
    printf '%s' "${packages[*]-}"
}

# `make test` skips the tests by the clients of others without them.
add_clients() {
    local missing
    missing=$(missing_for_clients)
    [ -n "$missing" ] || return 0
    try_apt "what the clients of others run in: $missing" "$apt_install $missing"
    missing=$(missing_for_clients)
    [ -z "$missing" ] || stop "The tests by the clients of others need $missing: $(by_hand "$missing"), then try again."
}

# The chat templates of others, out of the sources of llama-cpp-python, and jinja2 to render them. Nothing of it is built.
add_templates() {
    local here=llama/src/tests/templates folder part
    folder=$(scripts/templates-folder.sh)
    if [ -e "$folder/complete" ]; then return 0; fi
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        try_apt "what jinja2 runs in: python3-venv" "$apt_install python3 python3-venv"
        python3 -c 'import ensurepip, venv' 2>/dev/null ||
            stop "The tests of chat templates need Python with venv: $(by_hand python3 python3-venv), then try again."
    fi
    say "Bringing the chat templates of others, 73 MiB, into $folder"
    mkdir -p "$(dirname "$folder")"
    part=$(mktemp -d "$folder.XXXXXX")
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf '$part'" EXIT
    python3 -m venv "$part/venv"
    "$part/venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r $here/jinja2.txt >&2
    # pip reads what a package says of itself before it is content with it, and asks scikit-build-core; it compiles nothing.
    "$part/venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps --no-binary llama-cpp-python --require-hashes \
        -d "$part" -r $here/llama-cpp-python.txt >&2
    "$part/venv/bin/python" - "$part" <<'PYTHON'
import pathlib, sys, tarfile
part = pathlib.Path(sys.argv[1])
folder = part / "templates"
folder.mkdir()
[sources] = part.glob("llama_cpp_python-*.tar.gz")
with tarfile.open(sources) as files:
    for file in files:
        path = pathlib.PurePosixPath(file.name)
        if path.match("vendor/llama.cpp/models/templates/*.jinja") and file.isfile():
            (folder / path.name).write_bytes(files.extractfile(file).read())
sources.unlink()
PYTHON
    touch "$part/complete"
    rm -rf "$folder"
    mv "$part" "$folder"
}

# The packages of Debian that the tests of our packages lack here.
missing_for_packages() {
    local packages=()
    command -v npm >/dev/null || packages+=(npm)
    command -v node >/dev/null || packages+=(nodejs)
    command -v curl >/dev/null || packages+=(curl)
    command -v readelf >/dev/null || packages+=(binutils)
    command -v dpkg-shlibdeps >/dev/null || packages+=(dpkg-dev)
    command -v debootstrap >/dev/null || packages+=(debootstrap)
    command -v lintian >/dev/null || packages+=(lintian)
    command -v qemu-x86_64 >/dev/null || packages+=(qemu-user)
    python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3 python3-venv)
    printf '%s' "${packages[*]-}"
}

# A small Debian, in which the tests install our package, auditwheel and uv.
add_packages() {
    local folder part missing
    command -v apt-get >/dev/null || stop "The tests of packages install one of Debian's, so they need Debian or its kin."
    missing=$(missing_for_packages)
    if [ -n "$missing" ]; then
        try_apt "what packages are tried with: $missing" "$apt_install $missing"
        missing=$(missing_for_packages)
        [ -z "$missing" ] || stop "The tests of packages need $missing: $(by_hand "$missing"), then try again."
    fi
    folder=$(scripts/packages-folder.sh)
    if [ -e "$folder/complete" ]; then return 0; fi
    [ "$(id -u)" -eq 0 ] || stop "A small Debian, for the tests of packages, is made by root: type \`sudo -E scripts/setup.sh packages\`."
    say "Bringing a small Debian, 150 MiB, into $folder"
    mkdir -p "$(dirname "$folder")"
    part=$(mktemp -d "$folder.XXXXXX")
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf --one-file-system '$part'" EXIT
    python3 -m venv "$part/venv"
    "$part/venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes \
        -r packaging/tests/auditwheel.txt -r packaging/tests/uv.txt >&2
    # systemd for the tools that check a unit and open a socket; it does not run.
    debootstrap --variant=minbase --include=adduser,init-system-helpers,systemd \
        "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$part/root" >"$part/log" 2>&1 ||
        stop "debootstrap failed to bring a small Debian: $(tail -n 1 "$part/log")"
    rm -rf "$part"/root/var/cache/apt/archives/*.deb "$part"/root/var/lib/apt/lists/*
    tar -cf "$part/root.tar" -C "$part/root" .
    rm -rf "$part/root"
    touch "$part/complete"
    rm -rf "$folder"
    mv "$part" "$folder"
}

has_postgres() { any_file /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb || command -v initdb >/dev/null; }

# `scripts/postgres.sh` starts a server of these programs. Debian would also start one of its own, which nobody needs here.
add_postgres() {
    if has_postgres; then return 0; fi
    local alone="mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf"
    if [ -e /etc/postgresql-common/createcluster.conf ]; then alone=true; fi
    try_apt "what the store on PostgreSQL is tried with: postgresql" \
        "$alone && { $apt_install postgresql-15 || $apt_install postgresql; }"
    has_postgres || stop "The tests of the store on PostgreSQL need a server: $(by_hand postgresql), then try again."
}

check_rust
install_missing
for wanted in "$@"; do
    case $wanted in
    lints) add_lints ;;
    browser) add_browser ;;
    clients) add_clients ;;
    templates) add_templates ;;
    packages) add_packages ;;
    postgres) add_postgres ;;
    *) stop "scripts/setup.sh knows \`lints\`, \`browser\`, \`clients\`, \`templates\`, \`packages\` and \`postgres\`, not \`$wanted\`." ;;
    esac
done
