"""Who may do what by the rules of docs/explanation/policy.md, with nothing of the service in it."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ENDPOINTS = Path(__file__).resolve().parents[2] / "policies" / "endpoints.csv"

ANYONE, LOGIN = "@anyone", "@login"


@dataclass
class Button:
    """A permission code that roles give and resources are bound to."""

    code: str
    enabled: bool


@dataclass
class Resource:
    """A registered method and path, and the ids of the Buttons bound to it."""

    method: str
    path: str
    enabled: bool = True
    buttons: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Verdict:
    """Whether a request passes; else the layer that refuses it and the codes any one of which would do."""

    layer: str | None
    required: frozenset[str] = frozenset()


PASSES = Verdict(None)


@dataclass
class World:
    """Everything that has been saved so far, by id; roles give Buttons, users have roles."""

    buttons: dict[int, Button] = field(default_factory=dict)
    resources: dict[int, Resource] = field(default_factory=dict)
    roles: dict[int, set[int]] = field(default_factory=dict)
    users: dict[int, set[int]] = field(default_factory=dict)
    endpoints: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with ENDPOINTS.open() as lines:
            for line in csv.reader(line for line in lines if line.strip() and not line.startswith("#")):
                _, _, name, code = (value.strip() for value in line)
                self.endpoints.setdefault(name, set()).add(code)

    def verdict(self, user: int, method: str, path: str, template: str) -> Verdict:
        """Say what becomes of a request of a user who is logged in, to a route with this template."""
        held = {
            self.buttons[button].code
            for role in self.users[user]
            for button in self.roles[role]
            if self.buttons[button].enabled
        }
        resource = self.resource_for(method, path)
        if resource is not None and resource.buttons:
            codes = {self.buttons[button].code for button in resource.buttons if self.buttons[button].enabled}
            if not opens(codes, held):
                return Verdict("resource", frozenset(codes))
        codes = self.endpoints[f"{method} {template}"]
        if opens(codes, held):
            return PASSES
        return Verdict("endpoint", frozenset(codes))

    def resource_for(self, method: str, path: str) -> Resource | None:
        """Return the most specific enabled resource: literal before parameter, from left to right."""
        fitting = [
            resource
            for resource in self.resources.values()
            if resource.enabled and resource.method == method and fits(resource.path, path)
        ]
        return min(
            fitting,
            key=lambda resource: [is_parameter(part) for part in resource.path.split("/")],
            default=None,
        )


def is_parameter(segment: str) -> bool:
    """Tell whether a segment of a registered path stands for any one segment."""
    return segment.startswith("{")


def fits(registered: str, path: str) -> bool:
    """Tell whether a registered path stands for a path."""
    pattern, parts = registered.split("/"), path.split("/")
    return len(pattern) == len(parts) and all(
        is_parameter(segment) or segment == other for segment, other in zip(pattern, parts, strict=True)
    )


def opens(codes: set[str], held: set[str]) -> bool:
    """Tell whether somebody logged in who holds ``held`` may pass where any one of ``codes`` will do."""
    return bool(codes & {ANYONE, LOGIN}) or any(covers(held, code) for code in codes)


def covers(held: Iterable[str], code: str) -> bool:
    """Tell whether any of ``held`` covers ``code``; a ``*`` in ``code`` is an ordinary segment."""
    return any(_covers(held_code, code) for held_code in held)


def _covers(held: str, code: str) -> bool:
    """Tell whether a held code opens a required one.

    A ``*`` at the end is one segment or more, another exactly one.
    """
    mine, required = held.split(":"), code.split(":")
    if mine[-1] == "*":
        mine = mine[:-1]
        if len(required) <= len(mine):
            return False
        required = required[: len(mine)]
    return len(mine) == len(required) and all(
        segment in ("*", other) for segment, other in zip(mine, required, strict=True)
    )
