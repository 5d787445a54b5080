"""The Casbin adapter that reads the published lines, for programs with a plain Casbin.

The service reads them without it: the adapter needs SQLAlchemy's ORM, which takes 6 MiB.
"""

from typing import Any, Final, NoReturn

from casbin.model import Model
from casbin_sqlalchemy_adapter import Adapter

from service.authz.publishing.live import published
from service.records.database.transactions import SyncConnection
from service.records.published import policy_lines
from service.records.schema.casbin_class import CasbinRule

_WRITERS: Final = (
    "add_policies",
    "add_policy",
    "remove_filtered_policy",
    "remove_policies",
    "remove_policy",
    "save_policy",
    "update_filtered_policies",
    "update_policies",
    "update_policy",
)


class PolicyAdapter(Adapter):  # type: ignore[misc]  # the adapter ships no types
    """Casbin's SQLAlchemy adapter on this service's table, read-only.

    ``casbin.Enforcer(model, PolicyAdapter(connection))`` works with a plain Casbin too. Two things differ
    from the original adapter. Lines are not joined to text and split again, which breaks on commas and
    brackets. All writes are refused, since a policy is published whole, with its revision.
    """

    def __init__(self, connection: SyncConnection) -> None:
        """Read through ``connection``, in whatever transaction it is."""
        super().__init__(connection, db_class=CasbinRule, create_all_models=False)

    def load_policy(self, model: Model) -> None:
        """Append all published lines to ``model``, in order; raises PolicyError for an invalid row."""
        model["p"]["p"].policy.extend(published(policy_lines.stored(self._engine)))

    def load_filtered_policy(self, model: Model, filter: Any) -> NoReturn:  # noqa: A002 - Casbin's name
        """Refuse: part of a policy decides otherwise than the whole."""
        raise NotImplementedError("a policy can only be loaded as a whole")


def _refuse(name: str) -> None:
    def refuse(_self: PolicyAdapter, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError(
            f"{name}: policies are published as a whole and can't be edited through an adapter"
        )

    setattr(PolicyAdapter, name, refuse)


for _name in _WRITERS:
    _refuse(_name)
