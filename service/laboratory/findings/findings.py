"""Findings of a lint, and the file in which a reviewer accepts them with a reason."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from service.authz.engine.rules import PolicyFileError
from service.kernel.feature import Feature, about_any
from service.laboratory.strict_yaml import Document, YamlError, read_yaml

FILE = "accepted.yaml"
"""The file of acceptances, in the folder of the policy."""

STALE = "acceptance-without-finding"
"""The code of an acceptance that accepts nothing."""


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """Something that a reviewer should look at.

    ``finding`` is its code, which stays the same over versions. ``place`` is a file and line, a request, a
    resource, a code or a role. ``accepted`` is the reason of the acceptance, None without one.
    """

    finding: str
    place: str
    reason: str
    accepted: str | None = None

    def __str__(self) -> str:
        text = f"{self.finding}: {self.place}: {self.reason}"
        return text if self.accepted is None else f"{text} (accepted: {self.accepted})"


class _Acceptance(msgspec.Struct, forbid_unknown_fields=True):
    finding: str
    place: str
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError("an acceptance needs a reason")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    accepted: list[_Acceptance]


class Accepted:
    """The acceptances of some files; the lint has no findings about routes of disabled features (``off``)."""

    def __init__(self, files: Iterable[Document[_File]] = (), off: Collection[Feature] = ()) -> None:
        self._off = off
        self._acceptances = [
            (acceptance, file.place("accepted", number))
            for file in files
            for number, acceptance in enumerate(file.value.accepted)
        ]

    def applied(self, findings: Iterable[Finding], looked_for: Collection[str]) -> list[Finding]:
        """Return ``findings`` with their acceptances, and one for each acceptance that accepts nothing.

        ``looked_for`` are the codes of findings that this lint could make: acceptances of others are not
        judged, as those of resources are not when no database is looked at.
        """
        judged: list[Finding] = []
        used: set[str] = set()
        for finding in findings:
            fitting = [
                (acceptance, place)
                for acceptance, place in self._acceptances
                if acceptance.finding == finding.finding and _fits(acceptance.place, finding.place)
            ]
            used.update(place for _, place in fitting)
            reason = fitting[0][0].reason.strip() if fitting else None
            judged.append(msgspec.structs.replace(finding, accepted=reason))
        stale = [
            Finding(STALE, place, f"there is no {acceptance.finding} at {acceptance.place}")
            for acceptance, place in self._acceptances
            if place not in used
            and acceptance.finding in looked_for
            and not about_any(self._off, acceptance.place)
        ]
        return [*judged, *stale]


def read_accepted(paths: Iterable[Path], codes: Collection[str], off: Collection[Feature] = ()) -> Accepted:
    """Read files of acceptances; ``codes`` are all that findings may have, ``off`` the features without any.

    Raises PolicyError with file, line and reason of every fault.
    """
    files: list[Document[_File]] = []
    faults: list[str] = []
    for path in paths:
        try:
            read = read_yaml(path, _File)
        except YamlError as error:
            faults += error.faults
            continue
        files.append(read)
        faults += [
            f"{read.place('accepted', number, 'finding')}: there is no finding {acceptance.finding!r}"
            for number, acceptance in enumerate(read.value.accepted)
            if acceptance.finding not in codes
        ]
    if faults:
        raise PolicyFileError(*faults)
    return Accepted(files, off)


def _fits(accepted: str, place: str) -> bool:
    """True if ``accepted`` is ``place``; a ``*`` in it stands for any text."""
    return re.fullmatch(re.escape(accepted).replace(r"\*", ".*"), place) is not None
