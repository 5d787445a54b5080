"""Declaration of the feature: backup, doctor and jobs."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="operations",
    title="Backup and restore, doctor, jobs, and activity of an installation",
    needs=("audit_proof", "embedded", "files", "policy_checks", "policy_history", "second_factors"),
    paths=("/api/jobs", "/api/system"),
    tags={
        "jobs": "Jobs of the service, and the results of their runs.",
        "system": "Findings about the installation: faults and warnings.",
    },
    enumerations={
        "FindingState": "ok warning fault unknown",
        "JobOutcome": "running done failed stopped abandoned",
    },
    commands=(
        FeatureCommands(
            "",
            (
                ("backup", "save all stored data in one file", "commands_backup"),
                ("restore", "restore a backup to an empty installation", "commands_restore"),
                ("doctor", "check the installation for operator errors", "commands_doctor"),
            ),
        ),
        FeatureCommands(
            "jobs",
            (
                ("list", "list jobs with due times and results of their last runs", "commands_jobs"),
                ("run", "run a job now in this process, even if paused", "commands_jobs"),
                ("pause", "pause a job until it is resumed", "commands_jobs"),
                ("resume", "resume a paused job", "commands_jobs"),
            ),
            help="background jobs",
            after="keys",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="api:add_routes",
    provides={"scheduler": "scheduler:scheduler_of", "environment": "environment:Environment"},
)
