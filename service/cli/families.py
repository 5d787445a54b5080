"""The families of commands, such as ``portcullis policy …``; their modules are imported when they are run.

The module of a command is named by both, such as ``policy_lint``, and has ``add_arguments`` and ``run``. A
new command is a file and a line here. A module that several commands share is named in their lines.
"""

from __future__ import annotations

from typing import Final

from service.cli.lazy_commands import Command, Family

FAMILIES: Final = (
    Family(
        "policy",
        "the policy",
        (
            Command("check", "check model, lines and routes against one another; start nothing"),
            Command("export", "write the published policy for any Casbin"),
            Command("who", "print the roles, or the users, that pass a request"),
            Command("explain", "print how a request, or a grant, is decided, and why"),
            Command(
                "refusal",
                "print what a refusal was about, and why, by the id of its decision",
                "policy_explain",
            ),
            Command(
                "what", "print all that a role, a user or a set of codes passes and may grant", "policy_who"
            ),
            Command("what-if", "print who gains and loses what if codes or roles were others", "policy_diff"),
            Command("matrix", "print or write the table of all roles and requests", "policy_who"),
            Command("openings", "print the requests that need no role", "policy_who"),
            Command("lint", "find what a start does not refuse, in files and in a database"),
            Command(
                "prove", "print the exact condition of a request, or whether two policies are equivalent"
            ),
            Command("log", "print what each revision changed, when, by whom and why"),
            Command("diff", "compare two policies: lines, and who gains and loses what"),
            Command("replay", "print which logged decisions would come out differently"),
            Command("report", "write one page about the whole policy, for an auditor: HTML or Markdown"),
            Command(
                "republish", "publish what is stored anew, whatever the newest revision says", "policy_sync"
            ),
            Command("sync", "register the routes that are not registered"),
            Command("test", "run decision tables and invariants, and find what they would not notice"),
            Command(
                "unlock",
                "print the resources that lock everybody out, or open one to users who hold *",
                "policy_sync",
            ),
        ),
    ),
    Family(
        "state",
        "roles, menus, resources and bindings as a reviewed file",
        (
            Command("export", "write roles, menus, resources and bindings into a file"),
            Command(
                "plan", "show what applying a file would change, and who gains and loses what; change nothing"
            ),
            Command("apply", "make roles, menus, resources and bindings equal to a file"),
        ),
    ),
    Family(
        "keys",
        "the keys that sign tokens",
        (Command("rotate", "make a new signing key, and keep the present one as the previous one"),),
    ),
    Family(
        "export",
        "the logs sent to other systems",
        (
            Command("status", "all destinations: how far they have got, and what fails", "exports"),
            Command("retry", "ask a destination again at once, and send it its dead letters", "exports"),
            Command("dead-letters", "the entries that destinations have refused", "exports"),
            Command(
                "forget",
                "delete the state of a destination, or of a log of it, that is no longer in the settings",
                "exports",
            ),
        ),
    ),
    Family("mail", "mails to users", (Command("test", "send a mail now, and print what the server says"),)),
    Family(
        "jobs",
        "what the service does by itself",
        (
            Command("list", "all jobs: when they are due, and how their last runs ended", "jobs"),
            Command("run", "run a job now, in this process, also a paused one", "jobs"),
            Command("pause", "hold a job back until it is resumed", "jobs"),
            Command("resume", "let a paused job run by its schedule again", "jobs"),
        ),
    ),
    Family(
        "resource",
        "resources of other services",
        (Command("import", "register the operations of an OpenAPI document"),),
    ),
    Family(
        "db",
        "the database",
        (
            Command("migrate", "bring it to this version's schema; seed nothing", "database"),
            Command(
                "check", "say what a migration would do; exit status 3 if there is anything to do", "database"
            ),
        ),
    ),
    Family(
        "admin",
        "users, without the API",
        (
            Command("create", "create a user; the password is asked for"),
            Command(
                "reset-password", "set a password, which is asked for, and end all sessions", "admin_reset"
            ),
            Command(
                "reset-factors", "remove all second factors of a user, and end all sessions", "admin_reset"
            ),
            Command("list", "list users, and who may do everything"),
        ),
    ),
    Family(
        "audit",
        "the logs",
        (Command("verify", "look for entries that were changed, removed, inserted or moved"),),
    ),
)
