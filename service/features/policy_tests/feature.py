"""Declaration of the feature: policy tests for reviewers and pipelines."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="policy_tests",
    title="Tests, lint, proofs and replay of the policy, and a report for auditors",
    needs=("decision_log", "explain", "policy_checks", "policy_history"),
    commands=(
        FeatureCommands(
            "policy",
            (
                (
                    "check",
                    "check model, lines and routes against one another; start nothing",
                    "commands_check",
                ),
                ("export", "write the published policy for any Casbin", "commands_export"),
                (
                    "lint",
                    "find faults that a start does not refuse, in files and database",
                    "commands_lint",
                ),
                (
                    "prove",
                    "print the exact condition of a request, or whether two policies are equivalent",
                    "commands_prove",
                ),
                (
                    "replay",
                    "print logged decisions that would differ",
                    "commands_replay",
                ),
                (
                    "report",
                    "write one page about the whole policy, for an auditor: HTML or Markdown",
                    "commands_report",
                ),
            ),
            after="policy",
        ),
        FeatureCommands(
            "policy",
            (
                (
                    "test",
                    "run decision tables and invariants, and find gaps",
                    "commands_test",
                ),
            ),
            after="sync",
        ),
    ),
)
