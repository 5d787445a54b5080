"""The stored attributes of SCIM users and groups (RFC 7643 §2, §4, §7).

Names are compared without case. Undeclared attributes in a request are ignored: clients send many.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from service.kernel.text import seen, unseen_fault
from service.kernel.value_rules import MAX_ID

ScimType = Literal[
    "invalidFilter",
    "tooMany",
    "uniqueness",
    "mutability",
    "invalidSyntax",
    "invalidPath",
    "noTarget",
    "invalidValue",
]
"""The reasons for refused requests (RFC 7644 §3.12, table 9) that this service uses."""

CORE: Final = "urn:ietf:params:scim:schemas:core:2.0:"
MESSAGES: Final = "urn:ietf:params:scim:api:messages:2.0:"
PATCH_OF: Final = f"{MESSAGES}PatchOp"


class ScimFault(ValueError):  # noqa: N818 - the word of RFC 7644 is error, which is its answer
    """A request is no valid SCIM: ``scim_type`` is the reason, and the text is safe to show."""

    def __init__(self, scim_type: ScimType, detail: str) -> None:
        super().__init__(detail)
        self.scim_type: ScimType = scim_type
        self.detail = detail


class Attribute(Struct, frozen=True):
    """An attribute (RFC 7643 §2.2): ``many`` values or one; ``exact``: case counts; ``parts`` if complex.

    ``shown``: a text only for display, stored with spaces instead of invisible characters.
    """

    name: str
    text: str
    kind: Literal["string", "boolean", "dateTime", "reference", "complex"] = "string"
    many: bool = False
    exact: bool = False
    fixed: Literal["readWrite", "readOnly", "immutable"] = "readWrite"
    required: bool = False
    unique: bool = False
    values: tuple[str, ...] = ()
    refers: tuple[str, ...] = ()
    parts: tuple["Attribute", ...] = ()
    shown: bool = False

    def part(self, name: str) -> "Attribute | None":
        """Return the sub-attribute of that name, in any case, or None."""
        return _named(self.parts, name)

    def described(self) -> dict[str, Any]:
        """Return the definition as a schema shows it (RFC 7643 §7)."""
        made: dict[str, Any] = {
            "name": self.name,
            "type": self.kind,
            "multiValued": self.many,
            "description": self.text,
            "required": self.required,
            "mutability": self.fixed,
            "returned": "default",
        }
        if self.kind in ("string", "reference"):
            made |= {"caseExact": self.exact, "uniqueness": "server" if self.unique else "none"}
        if self.values:
            made["canonicalValues"] = self.values
        if self.refers:
            made["referenceTypes"] = self.refers
        if self.parts:
            made["subAttributes"] = [part.described() for part in self.parts]
        return made


_META: Final = (
    Attribute("resourceType", "The name of the type.", exact=True, fixed="readOnly"),
    Attribute("created", "When it was made.", kind="dateTime", fixed="readOnly"),
    Attribute("lastModified", "When it was last changed.", kind="dateTime", fixed="readOnly"),
    Attribute("location", "Its address.", kind="reference", exact=True, fixed="readOnly", refers=("uri",)),
    Attribute("version", "Its entity tag.", exact=True, fixed="readOnly"),
)
COMMON: Final = (
    Attribute("id", "The id here.", exact=True, fixed="readOnly", unique=True),
    Attribute("externalId", "The id at the client.", exact=True),
    Attribute("meta", "Facts about the resource.", kind="complex", fixed="readOnly", parts=_META),
)
"""The common attributes of all resources, which no schema lists (RFC 7643 §3.1)."""


class Schema(Struct, frozen=True):
    """A schema of resources: ``name`` such as ``User``; its ``attributes``, without the common ones."""

    name: str
    text: str
    attributes: tuple[Attribute, ...]

    @property
    def uri(self) -> str:
        """The name of the schema, a URN."""
        return CORE + self.name

    def attribute(self, name: str) -> Attribute | None:
        """Return the attribute of that name, in any case, or None."""
        return _named((*COMMON, *self.attributes), name)

    def unqualified(self, path: str) -> str | None:
        """Return ``path`` without the URN of this schema before it; None for the URN of another schema."""
        if path[:4].lower() != "urn:":
            return path
        before, after = path[: len(self.uri)], path[len(self.uri) :]
        return after[1:] if before.lower() == self.uri.lower() and after[:1] == ":" else None


def _named(attributes: tuple[Attribute, ...], name: str) -> Attribute | None:
    key = name.lower()
    return next((attribute for attribute in attributes if attribute.name.lower() == key), None)


def _value(
    text: str, *, fixed: Literal["readOnly", "readWrite", "immutable"], refers: str
) -> tuple[Attribute, ...]:
    return (
        Attribute("value", f"The id of the {text}.", exact=True, fixed=fixed),
        Attribute("$ref", "Its address.", kind="reference", exact=True, fixed=fixed, refers=(refers,)),
        Attribute("display", "Its name.", fixed="readOnly"),
        Attribute("type", "What it is.", fixed=fixed, values=(refers if refers == "User" else "direct",)),
    )


USER: Final = Schema(
    "User",
    "An account",
    (
        Attribute("userName", "The name to log in with.", required=True, unique=True),
        Attribute(
            "name",
            "The name of the person.",
            kind="complex",
            parts=(
                Attribute("formatted", "The whole name, shown where there is no displayName.", shown=True),
            ),
        ),
        Attribute("displayName", "The name that is shown.", shown=True),
        Attribute("active", "Whether the account is enabled.", kind="boolean"),
        Attribute("preferredLanguage", "The language of the console and of mails, such as zh-CN."),
        Attribute("timezone", "The time zone of the IANA database, such as Asia/Shanghai."),
        Attribute(
            "emails",
            "The address. If there are several, the primary one is kept.",
            kind="complex",
            many=True,
            parts=(
                Attribute("value", "The address."),
                Attribute("type", "What the address is for.", values=("work", "home", "other")),
                Attribute("primary", "Whether it is the primary one.", kind="boolean"),
            ),
        ),
        Attribute(
            "groups",
            "The groups that the user is a member of.",
            kind="complex",
            many=True,
            fixed="readOnly",
            parts=_value("group", fixed="readOnly", refers="Group"),
        ),
    ),
)
GROUP: Final = Schema(
    "Group",
    "A group, which gives its members roles",
    (
        Attribute("displayName", "The name of the group.", required=True, unique=True),
        Attribute(
            "members",
            "The users of the group.",
            kind="complex",
            many=True,
            parts=_value("user", fixed="immutable", refers="User"),
        ),
    ),
)
SCHEMAS: Final[Mapping[str, Schema]] = {schema.uri: schema for schema in (USER, GROUP)}


_ID: Final = re.compile(r"[1-9][0-9]{0,18}")


def id_of(text: str) -> int | None:
    """Return the id in a text; None for a text that is no id."""
    number = int(text) if _ID.fullmatch(text) else 0
    return number if 0 < number <= MAX_ID else None


class Deviations:
    """The deviations from SCIM, or from usual SCIM, that were accepted in a request."""

    def __init__(self) -> None:
        self._noted: dict[str, None] = {}

    def note(self, what: str) -> None:
        """Note a deviation, one of a few fixed texts, once."""
        self._noted[what] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._noted)


def read(schema: Schema, sent: Mapping[str, Any], deviations: Deviations) -> dict[str, Any]:
    """Return the attributes of a sent resource, by their declared names.

    Read-only attributes, unknown ones and null are left out. Raises ScimFault.
    """
    made: dict[str, Any] = {}
    for name, value in sent.items():
        refuse_password(name)
        plain = schema.unqualified(name)
        if plain is None or (attribute := schema.attribute(plain)) is None:
            if name.lower() != "schemas":
                deviations.note("attribute that is not kept")
            continue
        if attribute.fixed != "readOnly" and value is not None and value != []:
            made[attribute.name] = value_of(attribute, value, deviations)
    return made


def refuse_password(name: str) -> None:
    """Raise ScimFault for the attribute ``password``: this service does not store directories' passwords."""
    if name.rpartition(":")[2].lower() == "password":
        raise ScimFault("invalidValue", "password is not taken: people of a directory log in there")


def value_of(attribute: Attribute, value: Any, deviations: Deviations) -> Any:
    """Return a value of ``attribute`` in stored form; raises ScimFault for another type.

    A single value of a multi-valued attribute becomes a list. A list of one item becomes the value of a
    single-valued attribute.
    """
    if attribute.many:
        items = value if isinstance(value, list) else [value]
        return [item_of(attribute, item, deviations) for item in items]
    if isinstance(value, list) and len(value) == 1:
        deviations.note("list of one value")
        (value,) = value
        if attribute.kind != "complex" and isinstance(value, Mapping) and "value" in value:
            value = value["value"]
    return item_of(attribute, value, deviations)


def item_of(attribute: Attribute, value: Any, deviations: Deviations) -> Any:
    """Return a single value of ``attribute``, or one item of a multi-valued one."""
    if attribute.kind == "complex":
        return _complex(attribute, value, deviations)
    if attribute.kind == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
        deviations.note("boolean as text")
        return value.lower() == "true"
    if attribute.kind != "boolean" and isinstance(value, str):
        return _seen(attribute, value, deviations)
    if isinstance(value, bool) and attribute.kind == "boolean":
        return value
    kind = "a boolean" if attribute.kind == "boolean" else "a text"
    raise ScimFault("invalidValue", f"{attribute.name} must be {kind}")


def _seen(attribute: Attribute, text: str, deviations: Deviations) -> str:
    """Return ``text`` without invisible characters; raise ``ScimFault`` for them in a name or an id."""
    if (fault := unseen_fault(text)) is None:
        return text
    if not attribute.shown:
        raise ScimFault("invalidValue", f"{attribute.name} {fault}")
    deviations.note("characters that can't be seen")
    return seen(text)


def _complex(attribute: Attribute, value: Any, deviations: Deviations) -> dict[str, Any]:
    if isinstance(value, str) and attribute.many:
        deviations.note("value in place of an object")
        value = {"value": value}
    if not isinstance(value, Mapping):
        raise ScimFault("invalidValue", f"{attribute.name} must be an object")
    parts = ((attribute.part(name), item) for name, item in value.items())
    return {
        part.name: value_of(part, item, deviations)
        for part, item in parts
        if part is not None and item is not None
    }
