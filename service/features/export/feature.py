"""The feature of log exports."""

from service.kernel.feature import Feature, FeatureCommands

_COMMANDS = "commands"

FEATURE = Feature(
    name="export",
    title="Export of the logs to other systems, and the decision log",
    off=True,
    needs=("decision_log", "webhooks"),
    settings=("policy.decision_log", "export.destinations"),
    commands=(
        FeatureCommands(
            "export",
            (
                ("status", "list destinations with their progress and failures", _COMMANDS),
                ("retry", "retry a destination at once, and send its dead letters", _COMMANDS),
                ("dead-letters", "list entries that destinations have rejected", _COMMANDS),
                (
                    "forget",
                    (
                        "delete the state of a destination, or of one of its logs, that is no longer in the "
                        "settings"
                    ),
                    _COMMANDS,
                ),
            ),
            help="the logs sent to other systems",
        ),
    ),
    tables="schema",
    parts="parts:Sending",
    sentences="sentences:sentence",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    rows="store_destinations:kept",
    provides={"log-holders": "store_destinations:lagging"},
)
