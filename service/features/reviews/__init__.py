"""Reviews of who keeps a role, what is unused, evidence for auditors, and sign-offs of revisions."""
