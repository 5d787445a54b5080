"""The feature of log exports."""

from service.kernel.feature import Feature, FeatureCommands

_COMMANDS = "commands"

FEATURE = Feature(
    name="export",
    title="Export of the logs to other systems, and the decision log",
    off=True,
    needs=("decision_log",),
    settings=("policy.decision_log", "export.destinations"),
    commands=(
        FeatureCommands(
            "export",
            (
                ("status", "all destinations: how far they have got, and what fails", _COMMANDS),
                ("retry", "ask a destination again at once, and send it its dead letters", _COMMANDS),
                ("dead-letters", "the entries that destinations have refused", _COMMANDS),
                (
                    "forget",
                    "delete the state of a destination, or of a log of it, that is no longer in the settings",
                    _COMMANDS,
                ),
            ),
            help="the logs sent to other systems",
        ),
    ),
    tables="schema",
    parts="parts:Sending",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    rows="store_destinations:kept",
    provides={"log-holders": "store_destinations:lagging"},
)
