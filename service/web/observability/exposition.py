"""The text format for Prometheus. Names and units of metrics follow its naming practices."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from service.kernel.metrics import Sample


class Family(NamedTuple):
    """The type of a metric, its help text, and its labels; those of workers have the label ``worker`` too.

    The type is ``counter``, ``gauge`` or ``histogram``.
    """

    kind: str
    help: str
    labels: tuple[str, ...] = ()


def families_in(table: Path, of: str) -> dict[str, Family]:
    """Return the families of the file ``table`` that are of ``workers``, ``all`` nodes, or ``followers``."""
    with table.open(encoding="utf-8") as rows:
        return {
            row["name"]: Family(row["kind"], row["help"], tuple(row["labels"].split()))
            for row in csv.DictReader(rows)
            if row["of"] == of
        }


MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_PARTS: Final = ("_bucket", "_sum", "_count")


def exposition(samples: Iterable[Sample], of: Mapping[str, Family]) -> bytes:
    """Return the samples of the families ``of`` as text, grouped by metric as the format requires."""
    families: dict[str, list[Sample]] = {name: [] for name in of}
    for sample in samples:
        families[_family(sample.name, of)].append(sample)
    lines = []
    for name, family in of.items():
        if families[name]:
            lines += [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
            lines += map(_line, families[name])
    return "".join(f"{line}\n" for line in lines).encode()


def _family(name: str, of: Mapping[str, Family]) -> str:
    if name in of:
        return name
    return next(name.removesuffix(part) for part in _PARTS if name.endswith(part))


def _line(sample: Sample) -> str:
    labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in sample.labels.items())
    return (
        f"{sample.name}{{{labels}}} {sample.value:.17g}" if labels else f"{sample.name} {sample.value:.17g}"
    )


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
