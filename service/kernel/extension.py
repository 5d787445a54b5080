"""Extensions: Python packages that add endpoints of their own to the service, under a prefix of their own.

``service.extending`` is what their authors import.
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from service.kernel.codes import is_code
from service.kernel.operator_error import FaultsError
from service.kernel.permission_catalogue import CATALOGUE, Page, Permission
from service.kernel.services import PORTCULLIS

ATTRIBUTE: Final = "extension"
"""The attribute of the package that holds its ``Extension``."""
ENDPOINTS: Final = "endpoints.csv"
INVARIANTS: Final = "invariants.yaml"
CASES: Final = "cases"

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LONGEST: Final = 32
# The root of the service's own codes and pages, its schema, and those of PostgreSQL.
_RESERVED: Final = frozenset({"sys", "system", "public", "information-schema", "pg", PORTCULLIS})


class ExtensionError(FaultsError):
    """An extension can't be used; ``faults`` has a sentence for each reason."""


@dataclass(frozen=True, slots=True)
class SeedResource:
    """A route to register once, such as ``SeedResource("user.list", "List users", "GET", "/api/user/list")``.

    It is bound to the Buttons of the codes that open it; without codes it only requires a login.
    """

    code: str
    name: str
    method: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Extension:
    """Additions of a package.

    ``name`` is the prefix of its paths ``/api/{name}/…``, permission codes ``{name}:…`` and codes of
    resources ``{name}.…``. The schema of its tables is ``{name}`` with ``_`` in place of ``-``.
    ``permissions`` become Buttons on a page of their own. ``resources`` are registered once each.
    ``policies`` is the folder with ``endpoints.csv``, and optionally ``invariants.yaml`` and a folder
    ``cases``. ``migrations`` is a folder of Alembic revisions; None without tables.

    ``add_routes`` registers the endpoints. Its arguments are the routes, whose ``add`` takes a template and
    an endpoint, and the worker's ``Dependencies``.
    """

    name: str
    title: str
    add_routes: Callable[[Any, Any], None]
    policies: Path
    icon: str = "box"
    permissions: tuple[Permission, ...] = ()
    resources: tuple[SeedResource, ...] = ()
    migrations: Path | None = None

    @property
    def prefix(self) -> str:
        """The beginning of all its paths, such as ``/api/orders``."""
        return f"/api/{self.name}"

    @property
    def schema(self) -> str:
        """The database schema of its tables."""
        return self.name.replace("-", "_")

    @cached_property
    def page(self) -> Page:
        """Its page of the catalogue of permissions."""
        return Page(self.name, self.title, self.icon, self.permissions, own_root=True)

    def owns_path(self, path: str) -> bool:
        """True for ``/api/{name}`` and all below it."""
        return path == self.prefix or path.startswith(f"{self.prefix}/")

    def owns_code(self, code: str) -> bool:
        """True for permission codes that begin with its name."""
        return is_code(code) and code.startswith(f"{self.name}:")

    def faults(self) -> Iterator[str]:
        """Yield a sentence for each thing that is not under its own prefix."""
        if len(self.name) > _LONGEST or _NAME.fullmatch(self.name) is None:
            yield f"the name {self.name!r} is no lower-case words joined by '-', of {_LONGEST} at most"
            return
        if {self.name, self.name.partition("-")[0]} & _RESERVED or self.name in {
            page.name for page in CATALOGUE
        }:
            yield f"the name {self.name!r} is reserved for the service"
        for permission in self.permissions:
            if not self.owns_code(permission.code):
                yield f"the permission {permission.code!r} does not begin with '{self.name}:'"
            for endpoint in permission.opens:
                if not self.owns_path(endpoint.partition(" ")[2]):
                    yield f"{permission.code} opens {endpoint!r}, which is not below {self.prefix}"
        for resource in self.resources:
            if not resource.code.startswith(f"{self.name}."):
                yield f"the resource {resource.code!r} does not begin with '{self.name}.'"
            if not self.owns_path(resource.path):
                yield f"the resource {resource.code} is {resource.path!r}, which is not below {self.prefix}"


def pages_with(extensions: Iterable[Extension]) -> tuple[Page, ...]:
    """Return the pages of the catalogue of permissions, those of ``extensions`` last."""
    return (*CATALOGUE, *(extension.page for extension in extensions))


def load_extensions(packages: Iterable[str]) -> tuple[Extension, ...]:
    """Import ``packages`` and return the extension of each; raises ExtensionError with every fault.

    Each is the dotted name of an installed package, or the absolute path of its folder.
    """
    loaded: dict[str, Extension] = {}
    faults: list[str] = []
    for package in packages:
        try:
            extension = getattr(_imported(package), ATTRIBUTE, None)
        except ImportError as error:
            faults.append(f"the extension {package} can't be imported: {error}{_hidden(error)}")
            continue
        if not isinstance(extension, Extension):
            faults.append(f"the extension {package} has no Extension named {ATTRIBUTE!r}")
            continue
        faults += [f"the extension {package}: {fault}" for fault in extension.faults()]
        if extension.schema in loaded:
            faults.append(f"the extension {package}: another one is named {extension.name!r}, or nearly so")
        loaded[extension.schema] = extension
    if faults:
        raise ExtensionError(faults)
    return tuple(loaded.values())


def _imported(package: str) -> ModuleType:
    """Import a package by its name, or by the path of its folder; raises ImportError.

    The parent folder goes to the end of Python's path, so that it hides no installed module.
    """
    folder = Path(package)
    if not folder.is_absolute():
        return importlib.import_module(package)
    if not folder.is_dir():
        raise ImportError("there is no such folder")
    if str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))
    module = importlib.import_module(folder.name)
    place = Path(str(module.__file__)).parent if module.__file__ else None
    if place is None or not place.samefile(folder):
        raise ImportError(f"{folder.name} is {place or module}, another package of its name")
    return module


def _hidden(error: ImportError) -> str:
    """Return a hint where an extension has looked for a package of its own that is called ``service``."""
    if not str(error.name).startswith("service."):
        return ""
    return ". The package service is that of Portcullis: give one of your own another name"
