"""``portcullis agent …``: agents and their switches, under the rights of the operator."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Final

from service.audit.journal import enter
from service.authn.revocations import Revocations
from service.cli.lazy_commands import Parts, add_data, add_usual
from service.cli.output import aligned, say, show
from service.errors import NotFound
from service.features.agents import store
from service.features.agents.agents import ALL, AgentSwitches
from service.features.agents.api import Agent, AgentList
from service.features.agents.sentences import sentence
from service.features.agents.store import StoredAgent
from service.kernel.text import name_key, printable
from service.keyspace import SessionStore
from service.operator.database import with_connection, with_database
from service.operator.stores import reachable
from service.operator.who import operator_event, tell_security
from service.records.database.transactions import Connection, Database
from service.settings import load


def _list(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print all agents and the switch of all; raises ``SchemaError`` and ``Unavailable``."""

    async def read(connection: Connection) -> tuple[bool, list[StoredAgent]]:
        return await store.all_enabled(connection), await store.agents(connection)

    with reachable(load(environ)) as settings:
        enabled, agents = with_connection(settings, read)
    listed = AgentList(enabled=enabled, items=[Agent.of(agent) for agent in agents])
    show(options, listed, lambda: _lines(enabled, agents))


def _lines(enabled: bool, agents: list[StoredAgent]) -> Iterator[str]:
    yield f"The switch of all agents is {_word(enabled)}."
    rows = [("ID", "AGENT", "OWNER", "SWITCH", "STATE")]
    for agent in agents:
        facts = (printable(agent.user_name), printable(agent.owner_name or "none"), _word(agent.enabled))
        rows.append((str(agent.id), *facts, "suspended" if agent.suspended else ""))
    if agents:
        yield from aligned(rows)


def _word(enabled: bool) -> str:
    return "on" if enabled else "off"


def _add_switch(parser: ArgumentParser) -> None:
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("name", metavar="NAME", nargs="?", help="the agent, by user name")
    chosen.add_argument("--all", action="store_true", help="all agents; their own switches stay")
    parser.add_argument("state", metavar="on|off", choices=("on", "off"), help="the new state")
    add_data(parser)


def _switch(options: Namespace, environ: Mapping[str, str]) -> None:
    """Switch an agent or all agents, in force for each request that begins after the command.

    Raises ``NotFound``, ``SchemaError`` and ``Unavailable``; then repeat the command.
    """
    enabled, begun = options.state == "on", perf_counter()
    with reachable(load(environ)) as settings:

        async def switch(database: Database) -> str:
            async with SessionStore(settings.redis, settings.auth) as sessions:
                revocations = Revocations(database, sessions)
                switches = AgentSwitches(database, revocations)
                try:
                    if options.all:
                        await switches.switch_all(enabled)
                        return ALL
                    agent = await _named(switches, options.name)
                    await switches.switch(agent.id, enabled)
                    return f"agent:{agent.id}"
                finally:
                    await revocations.finish()

        target = with_database(settings, switch)
        tell_security(settings, "agents were switched by the operator", target=target, enabled=enabled)
        event = operator_event(
            "agent switch",
            begun,
            module="agent",
            action="switch all agents" if options.all else "switch an agent",
            params={"enabled": enabled},
            targets=(target,),
        )
        asyncio.run(enter(settings, event))
    which = "All agents are" if options.all else f"{options.name} is"
    say(f"{which} switched {options.state}.")


async def _named(switches: AgentSwitches, name: str) -> StoredAgent:
    _, agents = await switches.listed()
    for agent in agents:
        if name_key(agent.user_name) == name_key(name):
            return agent
    raise NotFound(sentence("no_such_agent"))


COMMANDS: Final[Parts] = {"list": (add_usual, _list), "switch": (_add_switch, _switch)}
