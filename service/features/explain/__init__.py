"""Questions to the policy: who may what, why, what if, and a report about all of it."""
