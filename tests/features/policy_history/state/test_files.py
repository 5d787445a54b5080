"""The state file: what is written is read again, and faults are named by line and place."""

import json
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields

from service.endpoints.bindings import ButtonsEdit
from service.endpoints.roles import RoleMenusEdit
from service.features.policy_history.state import (
    TYPES,
    ButtonState,
    MenuState,
    ResourceState,
    RoleState,
    State,
    parsed_segment,
    require_whole,
    segment_of,
    state_of,
)
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_writing import as_yaml
from service.kernel.codes import MOST_LINKED
from service.kernel.sentences import metas_of
from service.kernel.value_rules import DESCRIPTION
from service.laboratory.strict_yaml import YamlError
from service.records.roles import RoleValues
from tests.support.cases import with_each
from tests.support.running import ROOT

WORDS = [
    "no",
    "Yes",
    "on",
    "y",
    "null",
    "~",
    "1e3",
    "0x1f",
    "012",
    "1:30",
    "2026-11-22",
    ".inf",
    "=",
    "<<",
    "*",
]
WORDS += [
    "- a",
    "a: b",
    "a #b",
    "'",
    '"',
    "{}",
    "[]",
    "&a",
    "!b",
    "%c",
    "@d",
    "`e`",
    "ä",
    "日本",
    "#",
    "/",
    "a%2Fb",
]


def read(tmp_path: Path, text: str) -> State:
    file = tmp_path / "state.yaml"
    file.write_text(text, "utf-8")
    return read_state(file)


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(YamlError) as refused:
        read(tmp_path, text)
    return [fault.removeprefix(f"{tmp_path}/state.yaml:") for fault in refused.value.faults]


def with_texts(texts: list[str]) -> State:
    """Return a state in which each text is used wherever a text can stand."""
    return state_of(
        {
            "menu": {
                segment_of(text): MenuState(
                    title=text,
                    name=None if text == "no" else text,
                    icon=text,
                    hidden=text == "y",
                    meta={"text": [text, 1.5, None]},
                )
                for text in texts
            },
            "button": {
                f"a:b{at}": ButtonState(title=text, menu=segment_of(text)) for at, text in enumerate(texts)
            },
            "resource": {
                f"GET /a/{at}": ResourceState(
                    resource_code=f"a{at}",
                    resource_name=text,
                    description=text,
                    buttons=(f"a:b{at}",),
                    enabled=bool(at % 2),
                )
                for at, text in enumerate(texts)
            },
            "role": {
                f"r{at}": RoleState(
                    role_name=f"{at} {text}", menus=(segment_of(text),), buttons=(f"a:b{at}",)
                )
                for at, text in enumerate(texts)
            },
        }
    )


def test_every_text_comes_back_as_the_text_that_it_was(tmp_path: Path) -> None:
    state = with_texts(WORDS)

    text = as_yaml(state)

    assert read(tmp_path, text) == state
    assert as_yaml(read(tmp_path, text)) == text


SEEN = st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]) | st.sampled_from("\t\n\r")


@given(st.text(SEEN, max_size=20).filter(lambda text: DESCRIPTION(text) is None))
def test_any_description_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    role = {"r": RoleState(role_name="R", description=text)}
    state = state_of({"menu": {}, "button": {}, "resource": {}, "role": role})

    assert read(tmp_path_factory.getbasetemp(), as_yaml(state)) == state


def test_words_that_some_parser_takes_for_something_else_are_quoted() -> None:
    written = as_yaml(with_texts(WORDS))

    titles = [line.removeprefix("    title: ") for line in written.splitlines() if "    title: " in line]
    assert len(titles) == 2 * len(WORDS)
    assert [title for title in titles if title[0] not in "'\""] == ["/", "/"]
    assert "title: plain words" in as_yaml(with_texts(["plain words"]))


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1), st.integers(1, 20))
def test_a_part_of_a_menus_key_is_read_as_the_name_that_it_was_made_of(name: str, number: int) -> None:
    segment = segment_of(name, number)

    assert parsed_segment(segment) == (name, number)
    assert "/" not in segment


def test_the_order_of_a_file_does_not_depend_on_the_order_of_the_objects() -> None:
    state = with_texts(["a", "b", "c"])
    backwards = {kind: dict(reversed(list(state.of(kind).items()))) for kind in TYPES}

    assert as_yaml(state_of(backwards)) == as_yaml(state)


# Without these a file keeps what is stored, so they are always written.
LATE = {
    "hidden": False,
    "keepAlive": False,
    "redirect": None,
    "link": None,
    "badge": None,
    "meta": None,
    "titles": None,
}


def test_a_file_says_what_it_is_and_leaves_out_what_goes_without_saying() -> None:
    written = as_yaml(
        state_of(
            {
                "menu": {"a": MenuState(title="A", name="a"), "a/b": MenuState(title="b")},
                "button": {},
                "resource": {"GET /a": ResourceState(resource_code="a", resource_name="A")},
                "role": {"r": RoleState(role_name="R")},
            }
        )
    )

    head, _, content = written.partition("\nformat: ")
    assert all(line.startswith("#") for line in head.splitlines())
    assert "without users and secrets" in head
    assert yaml.safe_load(f"format: {content}") == {
        "format": 1,
        "menus": {"a": {"title": "A"} | LATE, "a/b": {"title": "b", "name": None} | LATE},
        "buttons": {},
        "resources": {
            "GET /a": {"code": "a", "name": "A", "assurance": None, "services": False, "buttons": []}
        },
        "roles": {
            "r": {
                "name": "R",
                "maxDuration": None,
                "reasonRequired": False,
                "personalKeys": True,
                "maxDelegation": None,
                "requestRule": None,
            }
        },
    }


EMPTY = "format: 1\nmenus: {}\nbuttons: {}\nresources: {}\nroles: {}\n"

FAULTY = """\
format: 1
menus:
  a:
    title: A
    color: red
  b/c:
    title: C
  a/d#2:
    title: D
  a%2f:
    title: E
  f:
    title: 7
    name: null
buttons:
  "sys*":
    title: T
  a:b:
    title: T
    menu: nowhere
  a:c:
    enabled: maybe
resources:
  GET /a/{x}:
    code: one
    name: One
    buttons: [a:b, a:b, a:none]
  GET /a/{y}:
    code: two
    name: Two
    buttons: []
  FETCH /a:
    code: three
    name: Three
    buttons: []
  GET /b:
    code: two
    name: Four
roles:
  Big:
    name: Big
  small:
    name: " small"
    menus: [z]
  "1":
    name: Same
  "2":
    name: same
  3:
    name: Three
more: {}
"""


def test_all_faults_of_a_file_are_named_together_by_line_and_place(tmp_path: Path) -> None:
    messages = faults(tmp_path, FAULTY)

    assert messages == [
        "5: menus.a.color: there is no such field",
        "7: menus.b/c: the Menu b above it is missing",
        "9: menus.a/d#2: the entry a/d must come before it",
        "11: menus.a%2f: each part must be a name, with % / # written as %25 %2F %23, and maybe #2",
        "13: menus.f.title: must be a text of at most 128 characters such as Users",
        "17: buttons.sys*: is no permission code",
        "20: buttons.a:b.menu: there is no Menu nowhere in this file",
        "22: buttons.a:c.enabled: must be true or false",
        "22: buttons.a:c.title: is required",
        "27: resources.GET /a/{x}.buttons[1]: a:b is in the list already",
        "27: resources.GET /a/{x}.buttons[2]: there is no Button a:none in this file",
        "29: resources.GET /a/{y}: matches the same requests as GET /a/{x}",
        "33: resources.FETCH /a: must start with one of GET, POST, PUT, PATCH, DELETE",
        "37: resources.GET /b.buttons: is required",
        "41: roles.Big: must have lower-case letters, digits, _ and - only",
        "43: roles.small.name: must not begin or end with a space",
        "44: roles.small.menus[0]: there is no Menu z in this file",
        "48: roles.2: has the same name as 1",
        "50: roles.3: is not a text here: put the key in quotes",
        "51: more: there is no such section",
    ]


@with_each(
    ("text", "fault"),
    [
        ("", "the file is empty"),
        ("[]", "1: format must be 1"),
        (EMPTY.replace("1", "2"), "1: format must be 1"),
        (EMPTY.replace("roles: {}", "roles: []"), "5: roles: is required, and must be a mapping"),
        (EMPTY.replace("roles: {}\n", ""), "roles: is required, and must be a mapping"),
        (EMPTY + "roles: {}\n", "6: the key 'roles' is there already"),
        (EMPTY.replace("roles: {}", "roles: &a {x: *a}"), "aliases are not read"),
        ("format: 1\nmenus: {a", "3: "),
        (
            EMPTY.replace("buttons: {}", "buttons: {a: {title: T, title: U}}"),
            "the key 'title' is there already",
        ),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    (message, *_) = faults(tmp_path, text)

    assert fault in message


def test_a_tree_of_more_than_ten_levels_is_refused(tmp_path: Path) -> None:
    keys = ["a"]
    while len(keys) < 11:
        keys.append(f"{keys[-1]}/a")
    menus: dict[str, Any] = {key: {"title": "A"} for key in keys}
    content = {"format": 1, "menus": menus, "buttons": {}, "resources": {}, "roles": {}}

    assert "the tree has at most 10 levels" in faults(tmp_path, yaml.safe_dump(content))[0]
    menus.popitem()
    content["buttons"] = {"a:b": {"title": "B", "menu": keys[9]}}
    assert "the tree has at most 10 levels" in faults(tmp_path, yaml.safe_dump(content))[0]
    content["buttons"] = {"a:b": {"title": "B", "menu": keys[8]}}
    assert len(read(tmp_path, yaml.safe_dump(content)).menus) == 10


@pytest.mark.parametrize("kind", ["roles", "resources"])
def test_a_file_links_no_more_buttons_to_a_record_than_the_api_does(tmp_path: Path, kind: str) -> None:
    assert _most(RoleMenusEdit, "permissions") == _most(ButtonsEdit, "codes") == MOST_LINKED
    buttons = {f"a:b{number}": {"title": "B"} for number in range(MOST_LINKED + 1)}
    records = {"roles": {"r": {"name": "R"}}, "resources": {"GET /a": {"code": "a", "name": "A"}}}
    (record,) = records[kind].values()
    record["buttons"] = [*buttons]  # type: ignore[assignment]
    content = {"format": 1, "menus": {}, "buttons": buttons, "resources": {}, "roles": {}} | {
        kind: records[kind]
    }
    (fault,) = faults(tmp_path, json.dumps(content))
    assert fault.endswith(".buttons: must have at most 10000 entries")
    record["buttons"] = [*buttons][1:]  # type: ignore[assignment]
    read(tmp_path, json.dumps(content))


def _most(kind: type[Struct], name: str) -> int | None:
    """Return the most items of a list of a body."""
    (field,) = (field for field in fields(kind) if field.name == name)
    return next(meta.max_length for meta in metas_of(field.type) if meta.max_length is not None)


def test_the_example_of_the_page_is_a_state_file(tmp_path: Path) -> None:
    page = (ROOT / "docs/guides/state.md").read_text("utf-8")
    example = page.partition("## Format of the file\n")[2].partition("```yaml\n")[2].partition("```")[0]

    state = read(tmp_path, example)

    assert state.menus["system/user"].name == "user"
    assert state.roles["auditor"].buttons == state.resources["GET /api/user/list"].buttons
    assert as_yaml(state).partition("format: 1\n")[2] == example.partition("format: 1\n")[2]


def test_a_field_that_state_files_do_not_have_and_that_does_not_say_so_stops_every_start() -> None:
    forgetting = make_dataclass("Forgetting", ["role_name", "enabled", "menus"])

    with pytest.raises(TypeError, match=r"RoleValues\.description is missing in state files"):
        require_whole({"role": (forgetting, RoleValues)})
