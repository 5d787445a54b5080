"""The sentences of findings of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "lists_them": "{command} lists them",
        "logs_verified": "last at {time}, no fault",
        "history_matches": "matches the seal, up to {until}",
        "history_matches_open_seal": "matches the seal, up to {until}; but anyone with database access can "
        "seal it again, because oplog.chain_key is not set",
        "logs_changed": "days or restores were changed after they were written: {days}",
        "logs_never_verified": "the logs were never verified",
        "job_does_not_run": "portcullis jobs list shows why {job} does not run",
        "history_differs": "differs from the seal: {faults}",
        "find_history_faults": "portcullis audit verify lists all faults; find out who changes the database",
        "history_unsealed": "not sealed yet: the job history-seals runs every five minutes",
        "logs_unverified_yet": "none yet; the first run follows within a day of the start",
        "sealing_skipped": "skipped: only nodes with the key of the newest seal continue",
        "newest_seal": "seal {seal} is the newest",
        "log_days_changed": "{count} days of the logs were changed after they were written: {days}; run "
        "'portcullis audit verify' for details",
        "restores_changed": "restore records were changed: {fault}",
        "revisions_changed": "policy revisions were changed after publishing: {fault}",
        "past_rights_changed": "past rights were changed after sealing: {fault}",
        "logs_unchanged": "{days} days of the logs and {revisions} policy revisions are unchanged"
        "{skipped, plural, =0 {} other {; # days of the logs were skipped, because their key is not set}}",
    }
)
