"""Run, test, measure and check Portcullis from a checkout, with nothing but Python and pip.

    python3 dev.py run [--host H] [--port N] [--workers N] [--data DIR]
    python3 dev.py test [--fast | --extended] [--caches off | one] [--off FEATURES] [pytest arguments]
    python3 dev.py bench [name …] [--quick] [--json FILE]
    python3 dev.py bench compare OLD.json NEW.json
    python3 dev.py check
    python3 dev.py docs
    python3 dev.py release
    python3 dev.py sbom [FILE]
    python3 dev.py portcullis [arguments of the command line]

test runs all tests but the extended ones. --fast also leaves out the tests that need a store. --extended runs
only the extended tests: those that take minutes, and property tests with forty times the examples. --caches
runs them with the caches of a guarded request off, or of one entry: every answer must be the same. --off
leaves features out, by names or `all`, with the tests about them.

bench measures; without a name everything, and then it writes docs/reference/performance.md.

docs builds the site of the documentation, which `run` then serves at /docs/guide; a warning is an error.

release builds and checks all packages into dist, and lists them; it publishes nothing.

sbom lists the packages that the service is run with, and what they carry of others, as CycloneDX, in FILE or
on standard output.

The packages that uv.lock names go to .venv, uv itself to .tools, downloads to the cache of uv.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python gets a sentence, not a traceback
    sys.exit("dev.py: Portcullis needs Python 3.11 or newer; this is " + sys.version.split()[0])

ROOT = Path(__file__).resolve().parent
TOOLS = ROOT / ".tools"
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
DOCS_ENVIRONMENT = TOOLS / "docs"
PEERS_ENVIRONMENT = TOOLS / "peers"
RELEASE_ENVIRONMENT = TOOLS / "release"
SBOM_ENVIRONMENT = TOOLS / "sbom"
LISTED_ENVIRONMENT = TOOLS / "listed"
STAMP = ENVIRONMENT / ".synced"
UV = "0.13.8"
LONG = 400  # lines of a file: above this, `check` asks about it
# How much is installed: the service alone, what tests and checks need too, what extended tests need too.
EXTENTS = PLAIN, FULL, EXTENDED = "plain", "full", "extended"
GROUPS = {PLAIN: ["--no-dev"], FULL: [], EXTENDED: ["--group", "extended"]}

PROGRAMS = {
    "run": (PLAIN, ["service", "serve"]),
    "portcullis": (PLAIN, ["service"]),
    "bench": (FULL, ["tests.benchmarks"]),
    "release": (PLAIN, ["tests.release"]),
    "test": (FULL, ["pytest"]),
}
# A file of tests stays in one process: its fixtures are started once.
IN_PARALLEL = ("--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile", "--durations=20")
SELECTIONS = {
    "--fast": ("-m", "not stores and not extended"),
    "--extended": (
        *("-m", "extended or (hypothesis and not stores)"),
        *("--hypothesis-profile=extended", "--timeout=900"),
    ),
}
# What of benchmarks needs no other frameworks.
NOT_MEASURED = {"compare", "page", "faults", "soak", "console", "-h", "--help"}
CACHES = {"off": 0, "one": 1}  # entries
WITHOUT_VARIABLE = "TESTED_WITHOUT_FEATURES"
CACHES_VARIABLE = "PORTCULLIS_TEST_CACHES"
MANIFESTS = {
    "base": "account autoscaler backup configuration deployment disruption migration network service",
    "overlays/example": "configuration ingress namespace stores",
    "components/destinations": "network",
}
CHECKS = (
    (
        "python",
        "-m",
        "service",
        "policy",
        "test",
        "--coverage",
        "--mutate",
    ),  # takes longest, so it starts first
    ("mypy",),
    ("ruff", "check"),
    ("ruff", "format", "--check"),
    ("lint-imports", "--no-logo"),
    ("python", "-m", "service", "policy", "lint", "--files"),
    ("python", "-m", "tests.contract"),
    ("python", "-m", "tests.console.declarations", "--check"),
    ("python", "-m", "tests.docs.plain_english"),
    ("hadolint", "deploy/Dockerfile"),
    (
        *("check-jsonschema", "--builtin-schema", "vendor.compose-spec"),
        *("deploy/compose.yaml", "deploy/pdp/compose.yaml"),
    ),
    (
        *("kubernetes-validate", "--strict", "--quiet"),
        *(
            f"deploy/kubernetes/{folder}/{name}.yaml"
            for folder, names in MANIFESTS.items()
            for name in names.split()
        ),
        *("deploy/pdp/sidecar.yaml", "deploy/pdp/daemonset.yaml"),
    ),
)

# What checks the alert rules, where Prometheus's own program is to be had.
RULE_CHECKS = (
    ("promtool", "check", "rules", "deploy/prometheus/alerts.yaml"),
    ("promtool", "check", "config", "--syntax-only", "deploy/prometheus/prometheus.yaml"),
    ("promtool", "test", "rules", "tests/deploy/alerts.yaml", "tests/deploy/alerts_of_days.yaml"),
)

# What checks the scripts of the console, where Node is installed.
CONSOLE_TOOLS = ROOT / "tests" / "console" / "node"
CONSOLE_CHECKS = (
    ("tsc", "-p", "service/console/jsconfig.json"),
    ("eslint", "-c", "tests/console/node/eslint.config.js", "service/console"),
    (
        "prettier",
        "--check",
        "service/console/**/*.js",
        "service/console/types/call.d.ts",
        "service/console/types/said.d.ts",
        "service/console/types/view.d.ts",
        "service/console/client/types.d.ts",
    ),
)


def main(arguments: list[str]) -> int:
    """Run the command that the first argument names; returns the exit status, or is replaced by it."""
    command, *rest = arguments or ["--help"]
    if command == "check":
        return check()
    if command == "docs":
        return docs()
    if command == "sbom":
        return sbom(*rest)
    extent, words = PROGRAMS.get(command, (PLAIN, []))
    if command == "test":
        os.chdir(ROOT)
        extent = EXTENDED if "--extended" in rest else extent
        rest = pytest_arguments(without_features(with_caches(rest)))
        # pytest keeps rewritten modules beside the bytecode: making them again takes seconds each time.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if command == "bench" and not NOT_MEASURED & {*rest}:
        prepare_peers()
    if command == "release":
        with only_one():
            run("the packages can't be installed", *installation_of("release", RELEASE_ENVIRONMENT))
    if words:
        become(extent, *words, *rest)
    print(__doc__)
    return 0 if command in {"-h", "--help", "help"} else 2


def with_caches(arguments: list[str]) -> list[str]:
    """Set the sizes of caches that ``--caches`` asks for; returns the arguments without it."""
    if "--caches" not in arguments:
        return arguments
    place = arguments.index("--caches")
    size = CACHES.get("".join(arguments[place + 1 : place + 2]))
    if size is None:
        sys.exit(f"dev.py: --caches is followed by one of {', '.join(CACHES)}")
    os.environ[CACHES_VARIABLE] = f"tokens={size},decisions={size},resources={size}"
    return [*arguments[:place], *arguments[place + 2 :]]


def without_features(arguments: list[str]) -> list[str]:
    """Set the features that ``--off`` leaves out; returns the arguments without it."""
    if "--off" not in arguments:
        return arguments
    place = arguments.index("--off")
    if place + 1 == len(arguments):
        sys.exit("dev.py: --off is followed by names of features, or by all")
    os.environ[WITHOUT_VARIABLE] = arguments[place + 1]
    return [*arguments[:place], *arguments[place + 2 :]]


def pytest_arguments(arguments: list[str]) -> list[str]:
    """Return pytest's arguments for those of ``test``: in parallel, unless they name a single file.

    A single file finishes before more processes have started. Options of the caller come last and win.
    """
    chosen = [word for name, words in SELECTIONS.items() if name in arguments for word in words]
    others = [argument for argument in arguments if argument not in SELECTIONS]
    places = [Path(argument.partition("::")[0]) for argument in others if not argument.startswith("-")]
    named = [place for place in places if place.exists()]
    alone = len(named) == 1 and named[0].is_file()
    return [*(() if alone else IN_PARALLEL), *chosen, *others]


def become(extent: str, *arguments: str) -> None:
    """Replace this process by the environment's Python, in the same working directory."""
    prepare(extent)
    sys.stdout.flush()
    # -P: modules come from this checkout, never from the current folder.
    os.execve(PYTHON, [str(PYTHON), "-P", "-m", *arguments], os.environ | {"PYTHONPATH": str(ROOT)})  # noqa: S606 - no shell is wanted


def check() -> int:
    """Run every check, even after one has failed; returns 1 if any failed, else 0."""
    prepare(FULL)
    checks = [(PYTHON.parent, each) for each in CHECKS]
    program = promtool()
    if program is None:
        print("dev.py: the alert rules are not checked: promtool is missing", file=sys.stderr)
    else:
        checks += [(program.parent, each) for each in RULE_CHECKS]
    modules = node_packages(CONSOLE_TOOLS)
    if modules is None:
        print("dev.py: the scripts of the console are not checked: Node or npm is missing", file=sys.stderr)
    else:
        checks += [(modules / ".bin", each) for each in CONSOLE_CHECKS]
    failed = failures(checks)
    for path in long_files():
        print(f"dev.py: {path} has more than {LONG} lines: is it still one job?", file=sys.stderr)
    for line in failed:
        print(f"dev.py: failed: {line}", file=sys.stderr)
    return 1 if failed else 0


def failures(checks: Sequence[tuple[Path, tuple[str, ...]]]) -> list[str]:
    """Run programs, as many at once as there are processors; returns the command lines that failed.

    Each check is a folder, and a program in it with its arguments. Their output is printed in the same order.
    """

    def ran(check: tuple[Path, tuple[str, ...]]) -> tuple[int, str]:
        folder, (name, *arguments) = check
        done = subprocess.run(
            [str(folder / name), *arguments],
            cwd=ROOT,
            check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    failed = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (_, command), (status, output) in zip(checks, pool.map(ran, checks), strict=True):
            line = " ".join(command)
            print(f"$ {line}\n{output}", end="", flush=True)
            if status:
                failed.append(line)
    return failed


def node_packages(sources: Path) -> Path | None:
    """Return the folder of the packages that ``package-lock.json`` in ``sources`` names.

    They are installed if they are not yet. None where Node or npm is missing.
    """
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None
    digest = hashlib.sha256((sources / "package-lock.json").read_bytes()).hexdigest()[:16]
    place = TOOLS / f"node-{digest}"
    with only_one():
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=TOOLS.resolve()) as folder:  # npm gets lost behind links
                for name in ("package.json", "package-lock.json"):
                    shutil.copy2(sources / name, folder)
                options = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-timeout=60000"]
                command = ["npm", "--prefix", folder, "ci", *options]
                run("npm can't install the packages", command, environment_of_npm())
                whole = Path(folder, "whole")
                whole.mkdir()
                Path(folder, "node_modules").rename(whole / "node_modules")
                whole.rename(place)
    return place / "node_modules"


def docs() -> int:
    """Build the documentation in an environment of its own; returns the exit status."""
    with only_one():
        run("the packages can't be installed", *installation_of("docs", DOCS_ENVIRONMENT))
    prepare(PLAIN)
    python = DOCS_ENVIRONMENT / "bin" / "python"
    with tempfile.TemporaryDirectory() as made:
        for program, module in ((PYTHON, "docs.site.made"), (python, "docs.site.build")):
            status = subprocess.run([str(program), "-m", module, made], cwd=ROOT, check=False).returncode
            if status:
                return status
    return 0


def sbom(output: str = "-") -> int:
    """Write the bill of materials to the file ``output``, or to standard output; returns the exit status."""
    with only_one():
        run("the packages can't be installed", *installation_of("sbom", SBOM_ENVIRONMENT))
        here = {"UV_PROJECT_ENVIRONMENT": str(LISTED_ENVIRONMENT), "UV_COMPILE_BYTECODE": "0"}
        words = [installed_uv(), "sync", "--locked", "--no-dev", "--no-install-project", "--quiet"]
        run("the packages can't be installed", words, environment_of_uv() | here)
    words = [str(SBOM_ENVIRONMENT / "bin" / "cyclonedx-py"), "environment", str(LISTED_ENVIRONMENT)]
    options = ["--pyproject", "pyproject.toml", "--mc-type", "application", "--output-reproducible"]
    with tempfile.TemporaryDirectory() as folder:
        bill = str(Path(folder, "bill.json"))
        carried = [sys.executable, str(ROOT / "deploy" / "bill.py"), bill]
        place = output if output == "-" else str(Path(output).absolute())
        for command in ([*words, *options, "--output-file", bill], [*carried, place]):
            status = subprocess.run(command, cwd=ROOT, check=False).returncode
            if status:
                return status
    return 0


def prepare_peers() -> None:
    """Install what benchmarks compare the service with; they leave out what can't be installed."""
    with only_one():
        command, environment = installation_of("peers", PEERS_ENVIRONMENT)
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
            shutil.rmtree(PEERS_ENVIRONMENT, ignore_errors=True)
            print("dev.py: other frameworks can't be installed; the reason stands above", file=sys.stderr)


def installation_of(group: str, place: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command, and its variables, that installs a group of packages alone to ``place``."""
    options = ["--locked", "--only-group", group, "--no-install-project", "--quiet"]
    return [installed_uv(), "sync", *options], environment_of_uv() | {"UV_PROJECT_ENVIRONMENT": str(place)}


@cache
def promtool() -> Path | None:
    """Return Prometheus's checker of rules: of the machine, or of Debian's package, unpacked into .tools.

    Nothing is installed, so no server runs. None where neither is to be had.
    """
    unpacked = TOOLS / "prometheus" / "usr" / "bin" / "promtool"
    program = shutil.which("promtool")
    if program is not None:
        return Path(program)
    if not unpacked.exists() and shutil.which("apt-get") and shutil.which("dpkg"):
        with only_one(), tempfile.TemporaryDirectory(dir=TOOLS) as folder:

            def does(*command: str) -> bool:
                return not subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode

            apt = ("apt-get", "-qq", "-o", "Acquire::http::Timeout=30", "-o", "Acquire::Retries=1")
            download = (*apt, "download", "prometheus")
            if does(*download) or (does(*apt, "update") and does(*download)):
                (package,) = Path(folder).glob("*.deb")
                does("dpkg", "-x", package.name, str(TOOLS / "prometheus"))
    return unpacked if unpacked.exists() else None


def long_files() -> list[str]:
    """Return the files of the service with more than ``LONG`` lines."""
    paths = sorted((ROOT / "service").rglob("*.py"))
    return [str(path.relative_to(ROOT)) for path in paths if path.read_text().count("\n") > LONG]


def prepare(extent: str) -> None:
    """Make .venv match uv.lock; does nothing if it does already."""
    if is_ready(extent):
        return
    with only_one():
        if is_ready(extent):
            return  # another process has just done it
        # Packages for tests stay once installed, so that alternating run and test installs nothing.
        installed = STAMP.read_text().split()[0] if STAMP.exists() else PLAIN
        extent = max(extent, installed, key=EXTENTS.index)
        STAMP.unlink(missing_ok=True)
        command = [installed_uv(), "sync", "--locked", "--no-install-project", *GROUPS[extent]]
        run("the packages can't be installed", command, environment_of_uv())
        whole = STAMP.with_suffix(".new")
        whole.write_text(f"{extent} {fingerprint()}")
        whole.replace(STAMP)  # half of one would stop every later run


def is_ready(extent: str) -> bool:
    """True if .venv holds the packages of ``extent`` from this uv.lock, for this version of Python."""
    if not (STAMP.exists() and PYTHON.exists()):
        return False
    installed, written_for = STAMP.read_text().split()
    return EXTENTS.index(installed) >= EXTENTS.index(extent) and written_for == fingerprint()


def fingerprint() -> str:
    """Return a digest of everything that decides what .venv must hold."""
    parts = [(ROOT / name).read_bytes() for name in ("pyproject.toml", "uv.lock")]
    return hashlib.sha256(b"\0".join([*parts, str(sys.implementation.cache_tag).encode()])).hexdigest()


def installed_uv() -> str:
    """Return the path of uv; pip installs it into .tools if it is missing."""
    place = TOOLS / f"uv-{UV}"
    if not place.exists():
        if importlib.util.find_spec("pip") is None:
            sys.exit(f"dev.py: this Python has no pip ({sys.executable}): install pip, or use another Python")
        with tempfile.TemporaryDirectory(dir=TOOLS) as folder:
            target = Path(folder, "uv")
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            # A user's settings for ordinary installs would contradict --target.
            environment = os.environ | {
                "PIP_USER": "0",
                "PIP_REQUIRE_VIRTUALENV": "0",
                "PIP_ROOT_USER_ACTION": "ignore",
            }
            run("pip can't install uv", [*pip, "--target", str(target), f"uv=={UV}"], environment)
            target.rename(place)
    return str(place / "bin" / "uv")


def environment_of_uv() -> dict[str, str]:
    """Return the variables for uv: this Python, this checkout's .venv, a writable cache."""
    environment = {
        name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}
    }
    environment.setdefault("UV_SYSTEM_CERTS", "1")
    if not can_write(lambda: Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "uv")):
        environment.setdefault("UV_CACHE_DIR", str(TOOLS / "cache"))
    return environment | {
        "UV_COMPILE_BYTECODE": "1",  # once, now: without write access each start would compile again
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_PROJECT_ENVIRONMENT": str(ENVIRONMENT),
    }


def environment_of_npm() -> dict[str, str]:
    """Return the variables for npm: a writable cache, as npm waits for minutes without one."""
    if "npm_config_cache" in os.environ or can_write(lambda: Path.home() / ".npm"):
        return dict(os.environ)
    return os.environ | {"npm_config_cache": str(TOOLS / "npm")}


def can_write(cache: Callable[[], Path]) -> bool:
    """True if the folder that ``cache`` returns exists and is writable, or can be made."""
    try:
        folder = cache()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the latter: a user without a home
        return False
    return os.access(folder, os.W_OK)


@contextmanager
def only_one() -> Iterator[None]:
    """Hold the checkout's lock, so that two processes do not build .venv at the same time."""
    try:
        TOOLS.mkdir(exist_ok=True)
        lock = (TOOLS / "lock").open("w")
    except OSError as error:
        sys.exit(f"dev.py: the checkout can't be written: {error}")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(failure: str, command: list[str], environment: dict[str, str]) -> None:
    """Run a program; if it fails, exit with the sentence ``failure``."""
    print(f"dev.py: {Path(command[0]).name} {' '.join(command[1:4])} …", file=sys.stderr)
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
        sys.exit(f"dev.py: {failure}; the reason stands above")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
