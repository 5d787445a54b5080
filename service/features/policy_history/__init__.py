"""The past of the policy, and the way back to it; and the state as a reviewed file."""
