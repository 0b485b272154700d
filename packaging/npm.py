"""Makes the npm packages: the launcher `madang`, and the program for a platform.

The launcher has one package for each platform as an optional dependency. npm installs the one that says it runs here.
Their names are in our scope: if one of them was not published, nobody else can publish it.
"""

import json
import pathlib

from binary import PLATFORMS, Binary, Platform
from contents import HERE, SUMMARY, Contents, tar_gz


def make(binary: Binary, contents: Contents, out: pathlib.Path) -> list[pathlib.Path]:
    """Writes the packages `madang` and `@madang/PLATFORM`, in the form and by the names of files of `npm pack`."""
    platform = binary.platform
    for_platform = {
        **common(package_for(platform), contents),
        "description": f"The program of the package madang, for {platform.rust}",
        "os": [platform.npm_os],
        "cpu": [platform.npm_cpu],
        # Without this, npm would choose the package on systems with musl, too.
        **({"libc": ["glibc"]} if platform.is_linux else {}),
        "preferUnplugged": True,
        # Without this, npm would publish a name with a scope for its owner alone.
        "publishConfig": {"access": "public"},
    }
    launcher = {
        **common("madang", contents),
        "description": SUMMARY,
        "bin": {"madang": "bin/madang.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {package_for(other): contents.version for other in PLATFORMS.values()},
    }
    script = (HERE / "npm" / "madang.js").read_bytes()
    return [
        pack(launcher, {"bin/madang.js": (script, 0o755), "README.md": (contents.readme, 0o644)}, contents, out),
        pack(for_platform, binary.files(), contents, out),
    ]


def package_for(platform: Platform) -> str:
    """Returns the name of the package with the program for a platform."""
    return f"@madang/{platform.npm}"


def common(name: str, contents: Contents) -> dict:
    """Returns the fields that all packages have."""
    return {"name": name, "version": contents.version, "license": "MIT OR Apache-2.0"}


def pack(manifest: dict, files: dict[str, tuple[bytes, int]], contents: Contents, out: pathlib.Path) -> pathlib.Path:
    """Writes one package. Its files lie in a folder `package`, as npm reads it."""
    files = {"package.json": ((json.dumps(manifest, indent=2) + "\n").encode(), 0o644), **files}
    # The licences of the libraries inside lie beside the program: the launcher is the same from every system.
    licences = contents.licences if "os" in manifest else contents.own_licences
    files |= {licence: (text, 0o644) for licence, text in licences.items()}
    name = manifest["name"].removeprefix("@").replace("/", "-")
    package = out / f"{name}-{manifest['version']}.tgz"
    package.write_bytes(tar_gz({f"package/{name}": file for name, file in files.items()}))
    return package
