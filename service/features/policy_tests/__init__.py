"""What reviewers and pipelines run on a policy: tests, lint, proofs, replay, and a report for auditors."""
