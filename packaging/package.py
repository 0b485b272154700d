"""Makes a package from a finished binary: `package.py KIND BINARY OUT`.

`binary` reads for which system a binary was built, and `contents` collects what each package contains beside it. Each
kind has a module: `archive`, `wheel`, `npm` and `debian`. None of them compiles anything, and each gives the same bytes
for the same input.
"""

import argparse
import pathlib
import sys

import archive
import debian
import npm
import wheel
from binary import Binary
from contents import Contents
from refusal import RefusedError

KINDS = {"archive": archive.make, "wheel": wheel.make, "npm": npm.make, "deb": debian.make}


def main() -> int:
    """Makes the package and prints the paths of its files."""
    parser = argparse.ArgumentParser(prog="scripts/package.sh", description="Makes a package from a finished binary.")
    parser.add_argument("kind", choices=KINDS, help="the kind of package")
    parser.add_argument("binary", type=pathlib.Path, help="the program madang; its libraries lie beside it")
    parser.add_argument("out", type=pathlib.Path, help="the folder for the package; it is created if it does not exist")
    wanted = parser.parse_args()
    try:
        binary = Binary.read(wanted.binary)
        wanted.out.mkdir(parents=True, exist_ok=True)
        for made in KINDS[wanted.kind](binary, Contents.collect(binary), wanted.out):
            print(made)
    except RefusedError as refused:
        print(f"scripts/package.sh: {refused}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
