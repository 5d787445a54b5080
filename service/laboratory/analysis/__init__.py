"""What a policy answers: explanations, conditions compared, gains and losses, sources of policies."""
