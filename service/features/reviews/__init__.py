"""Access reviews, unused rights, evidence for auditors, and sign-offs of revisions."""
