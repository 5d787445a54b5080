"""Who could get to act as the owner of an account, and who confirms the owner."""
