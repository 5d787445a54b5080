"""What breaks where one OpenAPI document takes the place of another, operation by operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.contract.schemas import Break, Comparison, Direction, Schema

Document = Mapping[str, Any]
Operation = Mapping[str, Any]

_FIRST_PROBLEM = 400
_OPEN_TO = {"@anyone", "@login"}


def breaks(released: Document, current: Document) -> dict[Break, set[str]]:
    """Return what breaks for clients of ``released``, with the operations in which it does.

    An operation is named twice: by its id, and as ``PUT /api/user/{id}``.
    """
    changes: dict[Break, set[str]] = {}
    for name, old in _operations(released):
        method, _, path = name.partition(" ")
        new = current["paths"].get(path, {}).get(method.lower())
        for change in _Pair(released, current, old, new).breaks() if new else [_removed(old)]:
            changes.setdefault(change, set()).update({name, old["operationId"]})
    return dict(sorted(changes.items()))


def _operations(document: Document) -> Iterator[tuple[str, Operation]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _removed(old: Operation) -> Break:
    return Break(old["operationId"], old["operationId"], "the operation is removed")


class _Pair:
    """An operation of the released document, and what it is now."""

    def __init__(self, released: Document, current: Document, old: Operation, new: Operation) -> None:
        both = released["components"]["schemas"], current["components"]["schemas"]
        self._request = Comparison(*both, Direction.REQUEST)
        self._answer = Comparison(*both, Direction.ANSWER)
        self._problem = Comparison(*both, Direction.ANSWER, is_open=True)
        self._old, self._new = old, new
        self._place = old["operationId"]

    def breaks(self) -> Iterator[Break]:
        """Yield all that breaks."""
        if (now := self._new["operationId"]) != self._place:
            yield self._break(self._place, f"the id is `{now}`")
        yield from self._access()
        yield from self._parameters()
        yield from self._body()
        for status, answer in self._old["responses"].items():
            yield from self._answers(status, answer, self._new["responses"].get(status))

    def _break(self, name: str, what: str) -> Break:
        return Break(self._place, name, what)

    def _access(self) -> Iterator[Break]:
        was, now = ([set(way) for way in each.get("security", [])] for each in (self._old, self._new))
        if now and any(not any(way <= before for way in now) for before in was or [set()]):
            yield self._break(self._place, f"the security is {self._new['security']}")
        codes = set(self._new.get("x-permissions", ()))
        for code in () if codes & _OPEN_TO else self._old.get("x-permissions", ()):
            if code not in codes:
                yield self._break(code, f"`{code}` does not open it any more")

    def _parameters(self) -> Iterator[Break]:
        olds, news = (
            {(parameter["in"], parameter["name"]): parameter for parameter in each.get("parameters", ())}
            for each in (self._old, self._new)
        )
        for key, old in olds.items():
            where, name = key
            if (new := news.get(key)) is None:
                yield self._break(name, f"the {where} parameter `{name}` is removed")
                continue
            if new.get("required") and not old.get("required"):
                yield self._break(name, f"the {where} parameter `{name}` is required now")
            yield from self._request.breaks(old["schema"], new["schema"], self._place, name)
        for where, name in (key for key in news.keys() - olds.keys() if news[key].get("required")):
            yield self._break(name, f"the {where} parameter `{name}` is new and required")

    def _body(self) -> Iterator[Break]:
        old, new = (each.get("requestBody") for each in (self._old, self._new))
        if old and not new:
            yield self._break("requestBody", "no body is taken any more")
        if new and new.get("required") and not (old and old.get("required")):
            yield self._break("requestBody", "the body is required now")
        if old and new:
            yield from self._content(self._request, old["content"], new["content"])

    def _answers(self, status: str, old: Schema, new: Schema | None) -> Iterator[Break]:
        is_problem = int(status) >= _FIRST_PROBLEM
        if new is None:
            if not is_problem:
                yield self._break(status, f"the status `{status}` is removed")
            return
        for header in old.get("headers", {}).keys() - new.get("headers", {}).keys():
            yield self._break(header, f"the header `{header}` of {status} is removed")
        compared = self._problem if is_problem else self._answer
        yield from self._content(compared, old.get("content", {}), new.get("content", {}))

    def _content(self, compared: Comparison, old: Schema, new: Schema) -> Iterator[Break]:
        for kind, content in old.items():
            if kind in new:
                yield from compared.breaks(content["schema"], new[kind]["schema"], self._place, kind)
            else:
                yield self._break(kind, f"the media type `{kind}` is removed")
