"""The commands ``portcullis policy …``: a module for each, with ``add_arguments`` and ``run``.

A new command is a file here and a line in ``COMMANDS``. ``reviewing`` opens the policies that a command is
asked about.
"""

from __future__ import annotations

from typing import Final

from service.cli.lazy_commands import Command

COMMANDS: Final = (
    Command("check", "check model, lines and routes against one another; start nothing"),
    Command("export", "write the published policy for any Casbin"),
    Command("who", "print the roles, or the users, that pass a request"),
    Command("explain", "print how a request, or a grant, is decided, and why"),
    Command("refusal", "print what a refusal was about, and why, by the id of its decision"),
    Command("what", "print all that a role, a user or a set of codes passes and may grant"),
    Command("what-if", "print who gains and loses what if a role gave other codes"),
    Command("matrix", "print or write the table of all roles and requests"),
    Command("openings", "print the requests that need no role"),
    Command("lint", "find what a start does not refuse, in files and in a database"),
    Command("prove", "print the exact condition of a request, or whether two policies are equivalent"),
    Command("log", "print what each revision changed, when, by whom and why"),
    Command("diff", "compare two policies: lines, and who gains and loses what"),
    Command("replay", "print which logged decisions would come out differently"),
    Command("report", "write one page about the whole policy, for an auditor: HTML or Markdown"),
    Command("republish", "publish what is stored anew, whatever the newest revision says"),
    Command("sync", "register the routes that are not registered"),
    Command("test", "run decision tables and invariants, and find what they would not notice"),
    Command("unlock", "print the resources that lock everybody out, or open one to users who hold *"),
)
