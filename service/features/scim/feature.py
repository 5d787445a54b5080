"""SCIM: directories provision people and groups."""

from service.kernel.feature import Feature, FeaturePage

_V2 = "/scim/v2"
_FOUND = (
    f"GET {_V2}/ServiceProviderConfig",
    f"POST {_V2}/.search",
    f"GET {_V2}/Schemas",
    f"GET {_V2}/Schemas/{{uri}}",
    f"GET {_V2}/ResourceTypes",
    f"GET {_V2}/ResourceTypes/{{name}}",
)


def _read(noun: str) -> tuple[str, ...]:
    return (f"GET {_V2}/{noun}", f"GET {_V2}/{noun}/{{id}}", f"POST {_V2}/{noun}/.search")


def _edit(noun: str) -> tuple[str, ...]:
    path = f"{_V2}/{noun}/{{id}}"
    return (*_read(noun), f"POST {_V2}/{noun}", f"PUT {path}", f"PATCH {path}", f"DELETE {path}")


FEATURE = Feature(
    name="scim",
    title="Provisioning of users and groups by a directory (SCIM)",
    off=True,
    needs=("directories",),
    paths=("/scim", "/api/directory/{source}/accounts"),
    tags={"scim": "Provisioning of users and groups by a directory (RFC 7644)."},
    pages=(
        FeaturePage(
            "scim",
            "Provisioning",
            "contact",
            after="directory",
            permissions=(
                ("read", "Read what is provisioned by SCIM", (*_FOUND, *_read("Users"), *_read("Groups"))),
                ("users", "Provision users by SCIM", _edit("Users")),
                ("groups", "Provision groups by SCIM", _edit("Groups")),
            ),
        ),
    ),
    enumerations={"ScimSortOrder": "ascending descending"},
    sentences="sentences:sentence",
    tables="schema",
    dialect="messages:DIALECT",
    routes="api:add_routes",
    rows="store:in_need",
    provides={"directory-groups": "store:names_of_groups"},
)
