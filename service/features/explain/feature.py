"""Questions to the policy: access and its reasons."""

from typing import get_args

from service.kernel.assurance import Demand
from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="explain",
    title="Questions to the policy: who may what, why, what if",
    needs=("decision_log", "log_reading"),
    paths=(
        "/api/policy/coverage",
        "/api/policy/explain",
        "/api/policy/matrix",
        "/api/policy/openings",
        "/api/policy/what",
        "/api/policy/what-if",
        "/api/policy/who",
    ),
    enumerations={
        "AccessKind": "request grant",
        "AccessNeeds": "code login nothing",
        "AssumedDemand": " ".join(("none", *get_args(Demand))),
        "DecisionReason": "opened not_held not_logged_in closed no_line",
        "ObjectLayer": "grant permission service account assurance request approve review",
        "OpeningNeeds": "nothing login",
        "RefusalLog": "operation-log decision-log",
        "RouteProtection": "public login permission outside",
    },
    commands=(
        FeatureCommands(
            "policy",
            (("who", "print the roles, or the users, that pass a request", "commands_who"),),
            after="export",
        ),
        FeatureCommands(
            "policy",
            (
                ("explain", "print how a request, or a grant, is decided, and why", "commands_explain"),
                (
                    "refusal",
                    "print what a refusal was about, and why, by the id of its decision",
                    "commands_explain",
                ),
                (
                    "what",
                    "print all that a role, a user or a set of codes passes and may grant",
                    "commands_who",
                ),
                (
                    "what-if",
                    "print who gains and loses what if codes or roles were others",
                    "commands_what_if",
                ),
                ("matrix", "print or write the table of all roles and requests", "commands_who"),
                ("openings", "print the requests that need no role", "commands_who"),
            ),
            after="ending",
        ),
    ),
    parts="parts:ExplainPart",
    routes="api:add_routes",
    provides={"menu-warnings": "menu_warnings:warning_of_menus"},
)
