"""SCIM patches (RFC 7644 §3.5.2) with common deviations of clients, applied to a resource.

The result is the complete resource, which is then edited as by a ``PUT``. A patch is applied completely or
not at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from service.features.scim.attributes import (
    Attribute,
    Deviations,
    Schema,
    ScimFault,
    item_of,
    refuse_password,
    value_of,
)
from service.features.scim.filters import Both, Comparison, Filter, Parser, matches, place_in, text_key

Op = Literal["add", "replace", "remove"]
Resource: TypeAlias = dict[str, Any]
Keys: TypeAlias = frozenset[tuple[str, Any]]

MAX_OPERATIONS: Final = 1000
"""The maximum number of operations in a patch."""
MAX_VISITS: Final = 500_000
"""The maximum number of values that the operations of a patch may visit together: half a second."""
_OPS: Final[tuple[Op, ...]] = ("add", "replace", "remove")


class PathTarget(Struct, frozen=True):
    """The target of an operation: an attribute, its values that match ``chosen``, or a part of these."""

    attribute: Attribute
    chosen: Filter | None = None
    part: Attribute | None = None


class _Patched(Resource):
    """A resource that is being patched.

    A patch of a large group reads all members once, not once per operation.
    """

    def __init__(self, resource: Mapping[str, Any]) -> None:
        super().__init__((name, _copied(value)) for name, value in resource.items())
        self._visits = 0
        self._known: dict[str, dict[Keys, Resource]] = {}
        self._gone: dict[str, set[str]] = {}

    def visit(self, name: str) -> None:
        """Count a visit to all values of an attribute; raises ScimFault beyond the limit."""
        self._visits += len(self.get(name) or ())
        if self._visits > MAX_VISITS:
            raise ScimFault("tooMany", f"The operations look at more than {MAX_VISITS} values")

    def forget(self, name: str, value: str) -> None:
        """Mark the values of an attribute with this part ``value`` for removal at the next access."""
        self._gone.setdefault(name, set()).add(value)

    def settle(self, name: str) -> None:
        """Remove the values marked for removal."""
        if gone := self._gone.pop(name, None):
            self.visit(name)
            self.store(name, [item for item in self.get(name, ()) if item.get("value") not in gone])

    def settled(self) -> Resource:
        for name in [*self._gone]:
            self.settle(name)
        return dict(self)

    def known(self, attribute: Attribute) -> dict[Keys, Resource]:
        """Return the values of an attribute, by their form for comparison."""
        if attribute.name not in self._known:
            self.visit(attribute.name)
            held, names = self.get(attribute.name, ()), _identity(attribute)
            self._known[attribute.name] = {_keys(attribute, item, names or item): item for item in held}
        return self._known[attribute.name]

    def store(self, name: str, items: list[Resource], known: dict[Keys, Resource] | None = None) -> None:
        """Store the values of an attribute; ``known`` has them by their form for comparison."""
        if known is None:
            self._known.pop(name, None)
        if items:
            self[name] = items
        else:
            self.pop(name, None)


def parse_path(path: str, schema: Schema) -> PathTarget | None:
    """Return the target of ``path``; None for an undeclared attribute. Raises ScimFault."""
    parser = Parser(path, schema, "invalidPath")
    name = parser.path()
    place = place_in(schema, name)
    if place is None:
        return None
    if not parser.at("["):
        parser.end()
        return PathTarget(place.attribute, None, place.part)
    if place.part is not None:
        raise parser.refused(f"{place.name} has no values to choose from")
    chosen, part = parser.within(place.attribute), None
    if parser.at("."):
        parser.take(".")
        part = place.attribute.part(parser.path())
        if part is None:
            return None
    parser.end()
    return PathTarget(place.attribute, chosen, part)


def patched(
    schema: Schema,
    resource: Mapping[str, Any],
    operations: Sequence[Mapping[str, Any]],
    deviations: Deviations,
) -> Resource:
    """Return ``resource`` after ``operations`` with ``op``, ``path`` and ``value``; raises ScimFault."""
    if len(operations) > MAX_OPERATIONS:
        raise ScimFault("invalidValue", f"A patch has at most {MAX_OPERATIONS} operations")
    patching = _Patched(resource)
    for operation in operations:
        _apply(schema, patching, operation, deviations)
    made = patching.settled()
    for attribute in schema.attributes:
        if attribute.required and not made.get(attribute.name):
            raise ScimFault("invalidValue", f"{attribute.name} is required")
    return made


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [dict(item) if isinstance(item, dict) else item for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def _apply(schema: Schema, made: _Patched, operation: Mapping[str, Any], deviations: Deviations) -> None:
    given = {name.lower(): value for name, value in operation.items()}
    op = _op(given.get("op"), deviations)
    path, value = given.get("path"), given.get("value")
    if path is not None and not isinstance(path, str):
        raise ScimFault("invalidPath", "A path must be a text")
    if not path:
        if op == "remove":
            raise ScimFault("noTarget", "A remove must say what, by its path")
        if not isinstance(value, Mapping):
            raise ScimFault("invalidValue", "Without a path the value must be an object")
        deviations.note(f"{op} without a path")
        for name, item in value.items():
            if _is_fixed(schema, name):
                deviations.note("read-only attribute")
            else:
                _change(schema, made, op, name, item, deviations=deviations)
        return
    if op != "remove" and "value" not in given:
        raise ScimFault("invalidValue", f"{op} needs a value")
    if op == "remove" and "value" in given and value is None:
        deviations.note("remove with null, which removes all that the path chooses")
    _change(schema, made, op, path, value, deviations=deviations)


def _is_fixed(schema: Schema, name: str) -> bool:
    """Return whether an attribute is read-only; clients that send a whole resource repeat such attributes."""
    place = place_in(schema, name)
    return place is not None and place.attribute.fixed == "readOnly"


def _op(sent: object, deviations: Deviations) -> Op:
    op = next((op for op in _OPS if isinstance(sent, str) and sent.lower() == op), None)
    if op is None:
        raise ScimFault("invalidSyntax", "op must be add, replace or remove")
    if op != sent:
        deviations.note("op in capital letters")
    return op


def _change(schema: Schema, made: _Patched, op: Op, path: str, value: Any, *, deviations: Deviations) -> None:
    refuse_password(path)
    if path.lower() == "schemas":
        return
    if path[:4].lower() == "urn:":
        deviations.note("path with a URN")
    target = parse_path(path, schema)
    if target is None:
        deviations.note("attribute that is not kept")
        return
    attribute = target.attribute
    if "readOnly" in (attribute.fixed, target.part and target.part.fixed):
        raise ScimFault("mutability", f"{attribute.name} is read-only")
    if op == "remove" and value is None and (plain := _plain_value(target)) is not None:
        made.forget(attribute.name, plain)
        return
    made.settle(attribute.name)
    _edit(made, op, target, value, deviations)


def _edit(made: _Patched, op: Op, target: PathTarget, value: Any, deviations: Deviations) -> None:
    attribute = target.attribute
    if op == "add" and value is None:
        return  # null is no value (RFC 7643 §2.5): nothing is added
    if op == "remove" or value is None or (value == [] and op == "replace"):
        if op == "remove" and value is not None:
            deviations.note("remove with a value")
            _remove_values(made, target, value, deviations)
        else:
            _remove(made, target)
    elif attribute.many:
        _write_many(made, op, target, value, deviations)
    elif target.part is not None:
        made.setdefault(attribute.name, {})[target.part.name] = value_of(target.part, value, deviations)
    elif attribute.kind == "complex":
        made.setdefault(attribute.name, {}).update(value_of(attribute, value, deviations))
    else:
        made[attribute.name] = value_of(attribute, value, deviations)


def _plain_value(target: PathTarget) -> str | None:
    """Return the id of the only value that a path selects, such as ``members[value eq "7"]``, or None.

    Only texts of digits are accepted: no other text is equal to them under any comparison.
    """
    chosen = target.chosen
    if not isinstance(chosen, Comparison) or chosen.operator != "eq" or target.part is not None:
        return None
    value = chosen.value if chosen.place.attribute.name == "value" else None
    return value if isinstance(value, str) and value.isascii() and value.isdigit() else None


def _remove(made: _Patched, target: PathTarget) -> None:
    name = target.attribute.name
    if target.attribute.required:
        raise ScimFault("mutability", f"{name} is required")
    if target.part is None and target.chosen is None:
        made.pop(name, None)
        return
    if not target.attribute.many:
        if (held := made.get(name)) is not None and target.part is not None:
            held.pop(target.part.name, None)
            if not held:
                del made[name]
        return
    kept = []
    made.visit(name)
    part = target.part and target.part.name
    whole = part is None or part in _identity(target.attribute)  # a member without its id is empty
    for item in made.get(name, ()):
        if target.chosen is not None and not matches(target.chosen, item):
            kept.append(item)
        elif not whole and (rest := {key: item[key] for key in item if key != part}):
            kept.append(rest)
    made.store(name, kept)


def _remove_values(made: _Patched, target: PathTarget, value: Any, deviations: Deviations) -> None:
    """Remove the listed values, as Entra requests it.

    Values are matched by their ``value`` alone; without it, by all given parts.
    """
    if not target.attribute.many or target.chosen is not None or target.part is not None:
        raise ScimFault("invalidValue", "A remove has a value only where it chooses from several")
    listed = value_of(target.attribute, value, deviations)
    name = target.attribute.name
    if not all(listed):
        raise ScimFault("invalidValue", f"The values of {name} to remove must not be empty")
    described = [{"value": item["value"]} if "value" in item else item for item in listed]
    gone = _matcher(target.attribute, described)
    made.visit(name)
    made.store(name, [item for item in made.get(name, ()) if not gone(item)])


def _identity(attribute: Attribute) -> tuple[str, ...]:
    """Return the part that identifies a value, such as the id of a member; empty if all parts do."""
    value = attribute.part("value")
    return ("value",) if value is not None and value.fixed == "immutable" else ()


def _keys(attribute: Attribute, item: Mapping[str, Any], names: Iterable[str]) -> Keys:
    """Return some parts of a value in the form for comparison."""
    exact = {part.name: part.exact for part in attribute.parts}
    return frozenset(
        (name, text_key(part, exact=exact[name]) if isinstance(part := item.get(name), str) else part)
        for name in names
    )


def _matcher(
    attribute: Attribute, listed: Sequence[Mapping[str, Any]]
) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function that checks whether a value has all parts of one of the ``listed`` values."""
    by_names: dict[frozenset[str], set[Keys]] = {}
    for each in listed:
        by_names.setdefault(frozenset(each), set()).add(_keys(attribute, each, each))
    return lambda item: any(_keys(attribute, item, names) in known for names, known in by_names.items())


def _write_many(made: _Patched, op: Op, target: PathTarget, value: Any, deviations: Deviations) -> None:
    name, attribute = target.attribute.name, target.attribute
    held: list[Resource] = made.get(name, [])
    known: dict[Keys, Resource] | None = None
    if target.chosen is not None or target.part is not None:
        made.visit(name)
    if target.chosen is not None:
        written = _part_or_item(target, value, deviations)
        chosen = [item for item in held if matches(target.chosen, item)]
        if not chosen:
            chosen = [_described(target, written, deviations)]
            held = [*held, *chosen]
        for item in chosen:
            item.update(written)
        _settle_primary(held, chosen)
    elif target.part is not None:
        written = _part_or_item(target, value, deviations)
        if not held:
            held = [{}]
        for item in held:
            item.update(written)
    elif op == "replace":
        held = value_of(attribute, value, deviations)
        _settle_primary(held, held)
    else:
        known = made.known(attribute)
        added = _unknown(attribute, value_of(attribute, value, deviations), known)
        held = [*held, *added]
        if _settle_primary(held, added):
            known = None
    made.store(name, held, known)


def _unknown(attribute: Attribute, sent: Sequence[Resource], known: dict[Keys, Resource]) -> list[Resource]:
    """Return the sent values that an attribute does not have, and add them to ``known``."""
    names = _identity(attribute)
    new = []
    for item in sent:
        same = known.setdefault(_keys(attribute, item, names or item), item)
        if same is item:
            new.append(item)
        elif names:
            same.update(item)  # sent values are not ignored: a group is no member
    return new


def _part_or_item(target: PathTarget, value: Any, deviations: Deviations) -> Resource:
    if target.part is not None:
        return {target.part.name: value_of(target.part, value, deviations)}
    if isinstance(value, list) and len(value) == 1:
        deviations.note("list of one value")
        (value,) = value
    item: Resource = item_of(target.attribute, value, deviations)
    return item


def _described(target: PathTarget, written: Resource, deviations: Deviations) -> Resource:
    """Return a new value as described by the filter of ``target``; noTarget if it describes none."""
    terms = target.chosen.terms if isinstance(target.chosen, Both) else (target.chosen,)
    made: Resource = {}
    for term in terms:
        if not isinstance(term, Comparison) or term.operator != "eq":
            raise ScimFault("noTarget", f"No value of {target.attribute.name} is chosen by the path")
        made[term.place.last.name] = term.value
    assert target.chosen is not None  # noqa: S101 - asked by the caller
    if not matches(target.chosen, made | written):
        raise ScimFault("noTarget", f"The value contradicts the path of {target.attribute.name}")
    deviations.note("value that the path chooses and is not there")
    return made


def _settle_primary(held: Sequence[Resource], written: Sequence[Resource]) -> bool:
    """Keep at most one primary value, the one written; raises ScimFault for several.

    Returns whether one was written.
    """
    primary = [item for item in written if item.get("primary")]
    if len(primary) > 1:
        raise ScimFault("invalidValue", "Only one value can be the primary one")
    for item in held if primary else ():
        if item is not primary[0] and item.get("primary"):
            item["primary"] = False
    return bool(primary)
