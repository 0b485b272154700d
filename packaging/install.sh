#!/bin/sh
# Installs the program `madang` for this system: chooses its archive, verifies the checksum, and puts the program into a folder.
#
# usage: install.sh [ADDRESS]
#   ADDRESS          where SHA256SUMS and the archives of one release are, instead of MADANG_RELEASE; https://, or a folder as file://
#   PREFIX           the program comes into PREFIX/bin, and its libraries, if it has any, into PREFIX/lib/madang; by default ~/.local
set -eu

release=${1:-${MADANG_RELEASE:-}}

stop() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

# The name of this system in the names of the archives.
target() {
    case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo x86_64-unknown-linux-gnu ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-gnu ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    *) return 1 ;;
    esac
}

# Whether an address is that of a server on this machine, to which nobody comes in between.
is_loopback() {
    case $1 in
    *@*) return 1 ;; # what is before it is a name and a password, not a host
    http://*) ;;
    *) return 1 ;;
    esac
    host=${1#http://}
    host=${host%%/*}
    port=${host##*[!0-9]}
    case ${host%:"$port"} in
    localhost | 127.0.0.1 | '[::1]') ;;
    *) return 1 ;;
    esac
}

# download ADDRESS FILE
download() {
    case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    *)
        # wget follows a redirection to plain http, too.
        command -v curl >/dev/null || stop "there is no curl: install it, then try again"
        curl --fail --silent --show-error --location --proto-redir =https --retry 3 --max-time 600 --output "$2" "$1"
        ;;
    esac
}

sum_of() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        stop "there is neither sha256sum nor shasum, and without a checksum nothing is installed: install one of them, then try again"
    fi
}

[ -n "$release" ] || stop "give the address of a release: install.sh https://HOST/FOLDER, with SHA256SUMS and the archives in that folder"
release=${release%/}
case $release in
https://* | file://*) ;;
*) is_loopback "$release" || stop "$release is not https:// or file://, so somebody between here and there could exchange the checksums" ;;
esac
prefix=${PREFIX:-${HOME:?install.sh: set HOME or PREFIX}/.local}
bin=$prefix/bin lib=$prefix/lib
target=$(target) ||
    stop "there is no archive for $(uname -s) on $(uname -m): \`cargo install madang-cli\` builds the program"

folder=$(mktemp -d)
trap 'rm -rf "$folder" "$bin/.madang.new"' EXIT
trap 'exit 1' HUP INT TERM

download "$release/SHA256SUMS" "$folder/SHA256SUMS" || stop "failed to download $release/SHA256SUMS: check the address"
# One archive for each system; two would be those of two releases.
line=$(grep -E "^[0-9a-f]{64}  madang-[0-9.]+-$target\.tar\.gz\$" "$folder/SHA256SUMS") ||
    stop "$release has no archive for $target: \`cargo install madang-cli\` builds the program"
[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || stop "$release has several archives for $target: give the address of one release"
wanted=${line%% *}
archive=${line##* }

printf 'downloading %s\n' "$archive"
download "$release/$archive" "$folder/$archive" || stop "failed to download $release/$archive"
found=$(sum_of "$folder/$archive")
[ "$found" = "$wanted" ] || stop "$archive has the checksum $found instead of $wanted, so nothing was installed: download it again"

tar -xzf "$folder/$archive" -C "$folder" || stop "failed to unpack $archive"
unpacked=$folder/${archive%.tar.gz}
version=$("$unpacked/bin/madang" --version 2>&1) ||
    stop "the program does not run here, so nothing was installed ($version): \`cargo install madang-cli\` builds one for this system"

mkdir -p "$bin" || stop "failed to create $bin: set PREFIX to a folder that you may write"
# Beside their places first: a program that runs cannot be written, and one that is half written must not run.
put_into_place() {
    if [ -d "$unpacked/lib" ]; then
        mkdir -p "$lib" && rm -rf "$lib/.madang.new" "$lib/.madang.old" && cp -R "$unpacked/lib/madang" "$lib/.madang.new" || return
        if [ -e "$lib/madang" ]; then mv "$lib/madang" "$lib/.madang.old" || return; fi
        mv "$lib/.madang.new" "$lib/madang" && rm -rf "$lib/.madang.old" || return
    fi
    cp "$unpacked/bin/madang" "$bin/.madang.new" && chmod 755 "$bin/.madang.new" && mv -f "$bin/.madang.new" "$bin/madang"
}
put_into_place ||
    stop "failed to write $bin/madang and $lib/madang: set PREFIX to a folder that you may write"

printf 'installed %s as %s\n' "$version" "$bin/madang"
case :$PATH: in
*":$bin:"*) printf 'type: madang chat\n' ;;
*) printf '%s is not in PATH. Type: %s/madang chat\n' "$bin" "$bin" ;;
esac
