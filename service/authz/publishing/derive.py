"""Derives the shared lines of a policy from resources, bindings and permission codes.

They are the same for all nodes and are published. The lines of the node's own files are added by each worker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from service.authz.engine.errors import PolicyError
from service.authz.engine.lines import Lines
from service.authz.engine.rules import GRANT, LOGIN, NOBODY, RESOURCE, Rule, checked
from service.kernel.codes import is_code
from service.kernel.cooperative_yield import cooperatively


class Registered(NamedTuple):
    """An enabled resource: ``buttons`` are the ``(auth_mark, enabled)`` of the Buttons bound to it."""

    method: str
    path: str
    buttons: Sequence[tuple[str, bool]]


def derive(registered: Iterable[Registered], codes: Iterable[str] = ()) -> Lines:
    """Return the shared lines: one or more for each resource, and one for each permission code.

    ``codes`` are those of all Buttons, disabled ones too: each has a line of the grant layer. A resource
    opens to each code of an enabled Button bound to it. Bound to disabled Buttons only, it stays closed
    (``@nobody``), since it has a binding; with nothing bound, it opens to everybody logged in. The order does
    not depend on the order of ``registered`` and ``codes``. Raises PolicyError if a resource or a code can't
    be a line.
    """
    return Lines(cooperatively(checked(chain(_rows(registered), _grants(codes)))))


def _grants(codes: Iterable[str]) -> Iterable[tuple[str, Rule]]:
    for code in sorted(set(codes)):
        yield f"the Button of {code!r}", Rule(GRANT, code, code)


def _rows(registered: Iterable[Registered]) -> Iterable[tuple[str, Rule]]:
    for method, path, buttons in sorted(
        cooperatively(registered), key=lambda resource: f"{resource.path} {resource.method}"
    ):
        name = f"{method} {path}"
        where = f"the resource {name!r}"
        for code in _codes(where, buttons):
            yield where, Rule(RESOURCE, name, code)


def _codes(where: str, buttons: Sequence[tuple[str, bool]]) -> list[str]:
    if not buttons:
        return [LOGIN]
    codes = sorted({code for code, enabled in buttons if enabled})
    for code in codes:
        # A word such as @anyone is valid in a line, but administrators must not set it by a Button.
        if not is_code(code):
            raise PolicyError(f"{where}: {code!r} is no permission code")
    return codes or [NOBODY]


def digest_of(shared: Iterable[Rule], bits: Mapping[str, int]) -> str:
    """Return the SHA-256, in hexadecimal, of the content of a policy revision.

    That is the shared lines in order, an empty line, and the permission map as ``code=bit`` lines by bit.
    Nodes whose own files are equal decide equally by revisions of equal digests.
    """
    digest = hashlib.sha256()
    for rule in cooperatively(shared):
        digest.update(f"{rule}\n".encode())
    digest.update(b"\n")
    for code, bit in sorted(bits.items(), key=lambda item: item[1]):
        digest.update(f"{code}={bit}\n".encode())
    return digest.hexdigest()
