"""Makes the archive that `packaging/install.sh` and people download, and lists the checksums of all beside it.

`archive.py FOLDER` lists those of the archives in a folder, as the release needs them of every system.
"""

import hashlib
import pathlib
import sys

from binary import Binary
from contents import Contents, tar_gz, zipped

SUMS = "SHA256SUMS"


def make(binary: Binary, contents: Contents, out: pathlib.Path) -> list[pathlib.Path]:
    """Writes `madang-VERSION-TARGET.tar.gz`, or `.zip` for Windows, and its line in SHA256SUMS."""
    name = f"madang-{contents.version}-{binary.platform.rust}"
    files = {f"{name}/{path}": file for path, file in binary.files().items()}
    files[f"{name}/README.md"] = (contents.readme, 0o644)
    files |= {f"{name}/{licence}": (text, 0o644) for licence, text in contents.licences.items()}
    is_zip = binary.platform.npm_os == "win32"
    archive = out / (f"{name}.zip" if is_zip else f"{name}.tar.gz")
    archive.write_bytes(zipped(files) if is_zip else tar_gz(files))
    return [archive, write_sums(out)]


def write_sums(out: pathlib.Path) -> pathlib.Path:
    """Writes the checksums of all archives in the folder, in the form of sha256sum."""
    archives = sorted([*out.glob("madang-*.tar.gz"), *out.glob("madang-*.zip")])
    lines = [f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n" for archive in archives]
    sums = out / SUMS
    sums.write_text("".join(lines))
    return sums


if __name__ == "__main__":
    write_sums(pathlib.Path(sys.argv[1]))
