"""Rules for restoring past revisions of the policy."""
