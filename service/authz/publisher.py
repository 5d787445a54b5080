"""Publishes the policy: derives it, builds it aside, and writes lines and revision as one change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from service.authz.derive import Registered, derive, digest_of
from service.authz.policy import Policy
from service.authz.rules import Rule
from service.authz.shipped import Shipped
from service.records import casbin_rule, menus, policy_revisions, resources
from service.records.casbin_rule import Line


async def publish_if_changed(connection: AsyncConnection, shipped: Shipped, cause: str) -> Policy:
    """Derive the policy from what ``connection`` sees, and publish it if it is not the newest; return it.

    All in the caller's transaction: the change that made it necessary, the lines and the revision become
    visible together. Publishers follow one another from here to the end of the transaction. A policy that
    can't be built raises PolicyFault, which undoes the change. Unchanged, the newest revision stays; lines
    that somebody else has tampered with are written anew. After the commit, hand the policy to
    ``LivePolicy.offer``.
    """
    await policy_revisions.lock(connection)
    registered = [
        Registered(
            resource.method,
            resource.path,
            [(button.auth_mark, button.enabled) for button in resource.buttons],
        )
        for resource in await resources.bound(connection)
    ]
    bits = await menus.permission_bits(connection)
    latest = await policy_revisions.latest(connection)
    rules = await asyncio.to_thread(derive, shipped.base, shipped.endpoints, registered)
    digest = await asyncio.to_thread(digest_of, shipped.model_text, rules, bits)
    newest = 0 if latest is None else latest.revision
    unchanged = latest is not None and latest.digest == digest and await _stored(connection, rules)
    revision = newest if unchanged else newest + 1
    policy = await asyncio.to_thread(Policy, shipped.model_text, rules, bits, revision)
    if not unchanged:
        await casbin_rule.publish(connection, _lines(rules), digest=policy.digest, cause=cause)
    return policy


async def _stored(connection: AsyncConnection, rules: Sequence[Rule]) -> bool:
    def same(sync: Connection) -> bool:
        return list(casbin_rule.each_line(sync)) == _lines(rules)

    return await connection.run_sync(same)


def _lines(rules: Sequence[Rule]) -> list[Line]:
    return [("p", *rule) for rule in rules]
