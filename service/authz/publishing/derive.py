"""Derives the shared lines of a policy from resources, bindings and permission codes.

They are the same for all nodes and are published. The lines of the node's own files are added by each worker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from service.authz.engine.errors import PolicyError
from service.authz.engine.lines import Lines, Objects, changes
from service.authz.engine.rules import GRANT, LOGIN, NOBODY, PERMISSION, RESOURCE
from service.kernel.bound_resource import BoundResource
from service.kernel.codes import is_code
from service.kernel.cooperative_yield import cooperatively, in_parts

_NOTHING: Final = Lines()


def derive(
    registered: Iterable[BoundResource],
    codes: Iterable[str] = (),
    known: Lines = _NOTHING,
    *,
    disabled: Collection[str] = (),
) -> Lines:
    """Return the shared lines: one or more for each resource, and one or two for each permission code.

    ``codes`` are those of all Buttons: each has a line of the layer ``grant``, and one of the layer
    ``permission`` unless it is in ``disabled``, the codes of disabled Buttons. A resource opens to each code
    of an enabled Button bound to it. Bound to disabled Buttons only, it stays closed (``@nobody``), since it
    has a binding; with nothing bound, it opens to everybody logged in. The order does not depend on the order
    of ``registered`` and ``codes``. Raises PolicyError if a resource or a code can't be a line. ``known`` are
    shared lines that were derived before: they save work and change nothing.
    """
    cached: dict[Sequence[tuple[str, bool]], tuple[str, ...]] = {}
    opened: dict[str, tuple[str, ...]] = {}
    for method, path, buttons in cooperatively(registered):
        name, bound = f"{method} {path}", tuple(buttons)
        if (found := cached.get(bound)) is None:
            found = cached[bound] = _codes(name, bound)
        opened[name] = found
    granted = {code: (code,) for code in codes}
    permitted = {code: line for code, line in granted.items() if code not in disabled}
    derived: Objects = {RESOURCE: opened, GRANT: granted, PERMISSION: permitted}
    return known.changed(changes(known.by_object, derived))


def _codes(name: str, buttons: Sequence[tuple[str, bool]]) -> tuple[str, ...]:
    if not buttons:
        return (LOGIN,)
    codes = sorted({code for code, enabled in buttons if enabled})
    for code in codes:
        # A word such as @anyone is valid in a line, but administrators must not set it by a Button.
        if not is_code(code):
            raise PolicyError(f"the resource {name!r}: {code!r} is no permission code")
    return tuple(codes) or (NOBODY,)


def digest_of(shared: Lines, bits: Mapping[str, int]) -> str:
    """Return the SHA-256, in hexadecimal, of the content of a policy revision.

    That is the shared lines in order, an empty line, and the permission map as ``code=bit`` lines by bit.
    Nodes whose own files are equal decide equally by revisions of equal digests.
    """
    digest = hashlib.sha256()
    for layer, objects in shared.by_object.items():
        for part in in_parts(objects.items()):
            text = "".join([f"p, {layer}, {name}, {code}\n" for name, codes in part for code in codes])
            digest.update(text.encode())
    digest.update(b"\n")
    for code, bit in sorted(bits.items(), key=lambda item: item[1]):
        digest.update(f"{code}={bit}\n".encode())
    return digest.hexdigest()
