"""Filters and patches compared with those of scim2-models, which others have written, on random ones."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from service.features.scim.attributes import USER, Deviations, ScimFault
from service.features.scim.filters import matches, parse_filter
from service.features.scim.patches import patched

pytestmark = pytest.mark.extended

TIMES: Final = 5000
TEXTS: Final = (
    "heron",
    "Heron",
    "HERON@example.org",
    "egret",
    "é",
    "e\u0301",
    'q"uote',
    "",
    "Grey Heron",
    "his",
)
ADDRESSES: Final = ("heron@example.org", "HERON@example.org", "egret@example.org", "h@home.example")
PATHS: Final = (
    *("userName", "USERNAME", "displayName", "name.formatted", "externalId", "active", "emails"),
    *("emails.value", "emails.type", "emails.primary", "urn:ietf:params:scim:schemas:core:2.0:User:userName"),
    *("shoeSize", "userName.first"),
)


def _text(chance: random.Random) -> str:
    escaped = chance.choice(TEXTS).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _comparison(chance: random.Random, path: str) -> str:
    if chance.random() < 0.15:
        return f"{path} {chance.choice(('pr', 'PR'))}"
    name = path.rpartition(".")[2].rpartition(":")[2].lower()
    operator = chance.choice(("eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le", "Eq"))
    if chance.random() < 0.05:
        return f"{path} {operator} null"
    if name in ("active", "primary"):
        return f"{path} {operator} {chance.choice(('true', 'false', 'True'))}"
    if name in ("emails", "value"):
        return f'{path} {operator} "{chance.choice(ADDRESSES)}"'
    if name == "type":
        return f'{path} {operator} "{chance.choice(("work", "home", "Work"))}"'
    return f"{path} {operator} {_text(chance)}"


def _filter(chance: random.Random, depth: int = 0, paths: tuple[str, ...] = PATHS) -> str:
    kind = chance.random()
    if depth < 3 and kind < 0.35:
        word = chance.choice((" and ", " or ", " AND "))
        return word.join(_filter(chance, depth + 1, paths) for _ in range(chance.randint(2, 3)))
    if depth < 3 and kind < 0.5:
        inner = _filter(chance, depth + 1, paths)
        return f"{chance.choice(('not ', 'not', ''))}({inner})"
    if paths is PATHS and kind < 0.65:
        chosen = _filter(chance, 2, ("value", "type", "primary"))
        after = f".{_comparison(chance, chance.choice(('value', 'type')))}" if chance.random() < 0.3 else ""
        return f"emails[{chosen}]{after}"
    made = _comparison(chance, chance.choice(paths))
    return made[: chance.randrange(len(made))] if chance.random() < 0.03 else made


def _user(chance: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"userName": chance.choice([text for text in TEXTS if text])}
    for name in ("displayName", "externalId"):
        if chance.random() < 0.6:
            made[name] = chance.choice(TEXTS)
    if chance.random() < 0.5:
        made["name"] = {"formatted": chance.choice(TEXTS)}
    if chance.random() < 0.8:
        made["active"] = chance.random() < 0.5
    if chance.random() < 0.8:
        kinds = chance.sample(("work", "home"), chance.randint(1, 2))
        made["emails"] = [{"value": chance.choice(ADDRESSES), "type": kind} for kind in kinds]
        if chance.random() < 0.5:
            made["emails"][0]["primary"] = True
    return made


def _answer(make: Callable[[], Any], *refusals: type[Exception]) -> Any:
    """Return what ``make`` returns, or that it was refused."""
    try:
        return make()
    except refusals:
        return "refused"


def test_filters_match_what_those_of_others_match() -> None:
    models = pytest.importorskip("scim2_models")
    theirs = models.ScimFilter[models.User]
    chance = random.Random(7)
    answers = set()
    for _ in range(TIMES):
        text, user = _filter(chance), _user(chance)
        resource = models.User.model_validate(user)
        expected = _answer(partial(_theirs, theirs, text, resource), models.InvalidFilterException)
        made = _answer(partial(_ours, text, user), ScimFault)
        assert made == expected, (text, user)
        answers.add(expected)
    assert answers == {True, False, "refused"}


def _theirs(kind: Any, text: str, resource: Any) -> bool:
    matched: bool = kind(text).match(resource, strict=True)
    # Theirs looks at unknown names only where it comes to them.
    kind(text)._validate_semantics(strict=True)
    return matched


def _ours(text: str, user: dict[str, Any]) -> bool:
    return matches(parse_filter(text, USER), user)


def _operation(chance: random.Random) -> dict[str, Any]:
    op = chance.choice(("add", "replace", "remove", "Replace", "Add"))
    path = chance.choice(
        (
            *("displayName", "externalId", "active", "name.formatted", "name", "emails", "userName"),
            *('emails[type eq "work"]', 'emails[type eq "home"].value', "emails[primary eq true].type"),
            *('emails[value co "egret"]', "urn:ietf:params:scim:schemas:core:2.0:User:displayName", "id"),
            *("shoeSize", 'emails[type eq "work"', "groups"),
        )
    )
    made: dict[str, Any] = {"op": op, "path": path}
    if op != "remove":
        made["value"] = _value(chance, path)
        if chance.random() < 0.2 and "[" not in path and path not in ("id", "groups"):
            made = {"op": op, "value": {path: made["value"]}}
    elif path == "emails" and chance.random() < 0.5:
        made["value"] = [{"value": chance.choice(ADDRESSES)}]
    return made


def _value(chance: random.Random, path: str) -> Any:
    address = {"value": chance.choice(ADDRESSES), "type": chance.choice(("work", "home"))}
    if path == "emails":
        return [address | ({"primary": True} if chance.random() < 0.3 else {})]
    if path.startswith("emails"):
        part = path.rpartition("]")[2]
        return {".value": address["value"], ".type": address["type"]}.get(part, {"value": address["value"]})
    if path == "name":
        return {"formatted": chance.choice(TEXTS[:5])}
    return chance.random() < 0.5 if path == "active" else chance.choice(TEXTS[:5])


def test_patches_make_what_those_of_others_make() -> None:
    models = pytest.importorskip("scim2_models")
    kept = models.ScimPolicy(unknown="ignore", remove_value_as_filter="apply", unmatched_path_filter="create")
    context = models.Context.RESOURCE_PATCH_REQUEST
    chance = random.Random(8)
    answers = set()
    for _ in range(TIMES):
        user = _user(chance)
        operations = [_operation(chance) for _ in range(chance.randint(1, 3))]

        def theirs(user: dict[str, Any] = user, operations: list[dict[str, Any]] = operations) -> Any:
            with kept:
                resource = models.User.model_validate(user)
                sent = {"schemas": [f"{models.PatchOp.__schema__}"], "Operations": operations}
                models.PatchOp[models.User].model_validate(sent, scim_ctx=context).patch(resource)
                return _plain(resource.model_dump(mode="json", by_alias=True, exclude_none=True))

        expected = _answer(theirs, models.SCIMException, ValueError)
        made = _answer(partial(_patched, user, operations), ScimFault)
        assert made == expected, (user, operations)
        answers.add(expected == "refused")
    assert answers == {True, False}


def _patched(user: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    return _plain(patched(USER, user, operations, Deviations()))


def _plain(resource: dict[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in resource.items() if name != "schemas" and value not in ([], {})}
    if "emails" in made:
        made["emails"] = [
            {part: value for part, value in item.items() if not (part == "primary" and value is False)}
            for item in made["emails"]
        ]
    return made
