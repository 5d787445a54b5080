"""Answers of a policy: explanations, compared conditions, gains and losses, sources of policies."""
