"""History and restore of the policy, and the state as a reviewed file."""
