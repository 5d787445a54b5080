"""Declaration of the feature: backup, doctor and jobs."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="operations",
    title="Backup and restore, doctor, jobs, and what happens in an installation",
    needs=("embedded", "files", "policy_history", "second_factors"),
    paths=("/api/jobs", "/api/system"),
    tags={
        "jobs": "Jobs of the service, and the results of their runs.",
        "system": "Findings about the installation: faults and warnings.",
    },
    enumerations={"FindingState": "ok warning fault unknown"},
    commands=(
        FeatureCommands(
            "",
            (
                ("backup", "everything that is stored, in one file", "commands_backup"),
                ("restore", "a backup into an empty place", "commands_restore"),
                ("doctor", "check the installation for operator errors", "commands_doctor"),
            ),
        ),
        FeatureCommands(
            "jobs",
            (
                ("list", "all jobs: when they are due, and how their last runs ended", "commands_jobs"),
                ("run", "run a job now, in this process, also a paused one", "commands_jobs"),
                ("pause", "hold a job back until it is resumed", "commands_jobs"),
                ("resume", "let a paused job run by its schedule again", "commands_jobs"),
            ),
            help="what the service does by itself",
            after="keys",
        ),
    ),
    tables="schema",
    routes="api:add_routes",
    provides={"environment": "environment:Environment"},
)
