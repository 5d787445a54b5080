"""Policy tests for reviewers and pipelines: tests, lint, proofs, replay, and a report for auditors."""
