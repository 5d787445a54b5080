"""All lines of a policy, derived from the shipped ones and from what administrators registered and bound."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from service.authz.faults import PolicyFault
from service.authz.lines import Lines
from service.authz.rules import LOGIN, NOBODY, RESOURCE, Rule, checked
from service.authz.unhurried import unhurried
from service.kernel.codes import is_code


class Registered(NamedTuple):
    """An enabled resource: ``buttons`` are the ``(auth_mark, enabled)`` of the Buttons bound to it."""

    method: str
    path: str
    buttons: Sequence[tuple[str, bool]]


def derive(base: Iterable[Rule], endpoints: Iterable[Rule], registered: Iterable[Registered]) -> Lines:
    """Return the lines of the policy: base lines, one or more for each resource, endpoint lines.

    A resource opens to each code of an enabled Button bound to it. Bound to disabled Buttons only, it stays
    closed (``@nobody``), since it has a binding; with nothing bound, it opens to everybody logged in. The
    order does not depend on the order of ``registered``. PolicyFault when a resource can't be a line.
    """
    return Lines(chain(base, unhurried(checked(_rows(registered))), endpoints))


def _rows(registered: Iterable[Registered]) -> Iterable[tuple[str, Rule]]:
    for method, path, buttons in sorted(
        unhurried(registered), key=lambda resource: f"{resource.path} {resource.method}"
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
        # A word such as @anyone is a good code of a line, but no administrator may write it by a Button.
        if not is_code(code):
            raise PolicyFault(f"{where}: {code!r} is no permission code")
    return codes or [NOBODY]


def digest_of(model_text: str, rules: Iterable[Rule], bits: Mapping[str, int]) -> str:
    """Return the SHA-256, in hexadecimal, of all that a revision of the policy consists of.

    That is, separated by an empty line: the text of the model, the lines in order, and the permission map
    as ``code=bit`` lines by bit. Equal digests, equal decisions.
    """
    digest = hashlib.sha256(f"{model_text}\n".encode())
    for rule in unhurried(rules):
        digest.update(f"{rule}\n".encode())
    digest.update(b"\n")
    for code, bit in sorted(bits.items(), key=lambda item: item[1]):
        digest.update(f"{code}={bit}\n".encode())
    return digest.hexdigest()
