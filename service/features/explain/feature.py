"""Questions to the policy: access and its reasons."""

from typing import get_args

from service.kernel.assurance import Demand
from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="explain",
    title="Policy questions: access, reasons and simulations",
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
            (("who", "print the roles or users that can send a request", "commands_who"),),
            after="export",
        ),
        FeatureCommands(
            "policy",
            (
                ("explain", "explain the decision about a request or a grant", "commands_explain"),
                (
                    "refusal",
                    "explain a refusal, by its decision id",
                    "commands_explain",
                ),
                (
                    "what",
                    "print all that a role, a user or a set of codes can access and grant",
                    "commands_who",
                ),
                (
                    "what-if",
                    "simulate other codes or roles, and print gained and lost access",
                    "commands_what_if",
                ),
                ("matrix", "print or write a table of all roles and requests", "commands_who"),
                ("openings", "print requests that need no role", "commands_who"),
            ),
            after="ending",
        ),
    ),
    sentences="sentences:sentence",
    parts="parts:ExplainPart",
    routes="api:add_routes",
    provides={"menu-warnings": "menu_warnings:warning_of_menus"},
)
