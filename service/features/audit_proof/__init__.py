"""The proof that logs, policy revisions and the past of rights are as they were written."""
