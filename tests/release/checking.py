"""Checks what was built: metadata, contents, and an installation of each wheel into an empty environment."""

import os
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import dev

SERVICE: Final = "portcullis_admin-"
CLIENT: Final = "portcullis_admin_client-"
HELD: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    (SERVICE, ".whl"): (
        *("portcullis_admin.py", "service/__main__.py", "service/py.typed"),
        *("service/console/index.html", "service/console/client/portcullis.js"),
        *("service/shipped/model.conf", "service/shipped/policies/endpoints.csv"),
        *("service/shipped/policies/invariants.yaml", "service/shipped/guide/index.html"),
    ),
    (SERVICE, ".tar.gz"): (
        *("pyproject.toml", "uv.lock", "dev.py", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"),
        *("model.conf", "policies/endpoints.csv", "service/features/decisions/client/asgi.py"),
        "service/features/decisions/client/pyproject.toml",
        *("service/launch.py", "deploy/Dockerfile", "docs/README.md", "tests/conftest.py"),
        "service/shipped/guide/index.html",
    ),
    (CLIENT, ".whl"): (
        "portcullis_client/__init__.py",
        "portcullis_client/asgi.py",
        "portcullis_client/py.typed",
    ),
    (CLIENT, ".tar.gz"): ("pyproject.toml", "LICENSE", "README.md", "asgi.py"),
    ("portcullis-admin-browser-", ".tgz"): (
        *("package.json", "LICENSE", "README.md", "portcullis.js", "portcullis.d.ts", "types.d.ts"),
        *("events.js", "events.d.ts"),
    ),
}
"""What each archive must hold, by the beginning and the end of its name."""
_TOP: Final = {
    (SERVICE, ".whl"): {"service", "portcullis_admin.py"},
    (CLIENT, ".whl"): {"portcullis_client"},
}
_NEVER: Final = ("/__pycache__/", ".pyc/", "/.venv/", "/.tools/", "/.env/", ".pem/", ".key/")


def faults(files: list[Path]) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong with the metadata or the contents of ``files``."""
    twine = [str(dev.RELEASE_ENVIRONMENT / "bin" / "twine"), "check", "--strict"]
    ours = [str(path) for path in files if path.suffix != ".tgz"]
    checked = subprocess.run([*twine, *ours], capture_output=True, text=True, check=False)
    if checked.returncode:
        yield f"twine refuses the metadata: {checked.stdout}{checked.stderr}"
    for (begin, end), names in HELD.items():
        matching = [path for path in files if path.name.startswith(begin) and path.name.endswith(end)]
        if len(matching) != 1:
            yield f"there are {len(matching)} files {begin}…{end}"
            continue
        held = set(names_in(matching[0]))
        yield from (f"{matching[0].name} lacks {name}" for name in names if name not in held)
        for name in held:
            if any(part in f"/{name}/" for part in _NEVER):
                yield f"{matching[0].name} holds {name}"
        top = {name.partition("/")[0] for name in held if ".dist-info/" not in name}
        if (begin, end) in _TOP and top != _TOP[begin, end]:
            yield f"{matching[0].name} installs {', '.join(sorted(top))}"


def names_in(archive: Path) -> list[str]:
    """Return the names of the files in an archive; without the folder around them in those of sources."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            return packed.namelist()
    with tarfile.open(archive) as packed:
        return [name.partition("/")[2] for name in packed.getnames()]


def wheel_of(files: list[Path], begin: str) -> Path:
    """Return the wheel whose name begins so."""
    (wheel,) = (path for path in files if path.name.startswith(begin) and path.suffix == ".whl")
    return wheel


def installed(place: Path, *wheels: Path | str, python: str = "") -> Path:
    """Install ``wheels`` by pip into a new environment at ``place``; returns its folder of programs.

    pip, and not uv: it is what strangers have, and installs two packages of one module in a known order.
    """
    environment = dev.environment_of_uv()
    for name in ("UV_PROJECT_ENVIRONMENT", "UV_PYTHON"):
        environment.pop(name, None)
    command = [dev.installed_uv(), "venv", "--quiet", "--seed", "--python", python or str(dev.PYTHON)]
    subprocess.run([*command, str(place)], env=environment, check=True)
    programs = place / "bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*pip, *map(str, wheels)], env=outside, cwd=place, check=True)
    return programs


def versions(files: list[Path]) -> Iterator[tuple[str, str]]:
    """Install each wheel alone; yield the name of each and the version that it tells, or why it does not."""
    show = "import importlib.metadata as m, portcullis_client; print(m.version('portcullis-admin-client'))"
    for begin, command in ((SERVICE, ["portcullis", "--version"]), (CLIENT, ["python", "-c", show])):
        wheel = wheel_of(files, begin)
        with tempfile.TemporaryDirectory() as folder:
            programs = installed(Path(folder, "environment"), wheel)
            printed = subprocess.run(
                [str(programs / command[0]), *command[1:]],
                cwd=folder,
                env={"PATH": os.environ["PATH"]},
                capture_output=True,
                text=True,
                check=False,
            )
            yield wheel.name, (printed.stdout + printed.stderr).strip().removeprefix("portcullis ")
