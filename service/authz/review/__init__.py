"""Questions about the policy: explanations, what would open a denial, exports."""
