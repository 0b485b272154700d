"""Makes the wheel that carries the program: `pip install madang`, `uvx madang chat`."""

import base64
import hashlib
import pathlib

from binary import Binary
from contents import SUMMARY, Contents, zipped


def make(binary: Binary, contents: Contents, out: pathlib.Path) -> list[pathlib.Path]:
    """Writes `madang-VERSION-py3-none-PLATFORM.whl`. pip puts its folders below that of the environment."""
    tag = f"py3-none-{tag_of(binary)}"
    info = f"madang-{contents.version}.dist-info"
    data = f"madang-{contents.version}.data"
    files = {f"{data}/{place_of(path)}": file for path, file in binary.files().items()}
    files |= {f"{info}/licenses/{licence}": (text, 0o644) for licence, text in contents.licences.items()}
    files[f"{info}/METADATA"] = (metadata(contents), 0o644)
    head = f"Wheel-Version: 1.0\nGenerator: madang\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = (head.encode(), 0o644)
    lines = [f"{name},sha256={digest(content)},{len(content)}\n" for name, (content, _) in files.items()]
    files[f"{info}/RECORD"] = ("".join([*lines, f"{info}/RECORD,,\n"]).encode(), 0o644)
    wheel = out / f"madang-{contents.version}-{tag}.whl"
    wheel.write_bytes(zipped(files))
    return [wheel]


def place_of(path: str) -> str:
    """Returns where a wheel has a file. pip knows the folder of programs, which has another name on Windows."""
    folder, rest = path.split("/", 1)
    return f"scripts/{rest}" if folder == "bin" else f"data/{path}"


def tag_of(binary: Binary) -> str:
    """Returns the tag of the oldest system that the binary runs on."""
    if binary.glibc is None:
        return binary.platform.wheel
    return f"manylinux_2_{binary.glibc}_{binary.platform.rust.split('-')[0]}"


def digest(content: bytes) -> str:
    """Returns a checksum as RECORD writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def metadata(contents: Contents) -> bytes:
    """Returns what PyPI shows."""
    head = [
        "Metadata-Version: 2.4",
        "Name: madang",
        f"Version: {contents.version}",
        f"Summary: {SUMMARY}",
        "License-Expression: MIT OR Apache-2.0",
        *[f"License-File: {licence}" for licence in contents.licences],
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    return ("\n".join(head) + "\n\n").encode() + contents.readme
