"""The text format of metrics for Prometheus and compatible systems (exposition format 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from service.kernel.metrics import Sample
from service.web.observability.families import FAMILIES

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_PARTS: Final = ("_bucket", "_sum", "_count")


def exposition(samples: Iterable[Sample]) -> bytes:
    """Return the samples as text, grouped by metric as the format requires."""
    families: dict[str, list[Sample]] = {name: [] for name in FAMILIES}
    for sample in samples:
        families[_family(sample.name)].append(sample)
    lines = []
    for name, family in FAMILIES.items():
        if families[name]:
            lines += [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
            lines += map(_line, families[name])
    return "".join(f"{line}\n" for line in lines).encode()


def _family(name: str) -> str:
    if name in FAMILIES:
        return name
    return next(name.removesuffix(part) for part in _PARTS if name.endswith(part))


def _line(sample: Sample) -> str:
    labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in sample.labels.items())
    return (
        f"{sample.name}{{{labels}}} {sample.value:.17g}" if labels else f"{sample.name} {sample.value:.17g}"
    )


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
