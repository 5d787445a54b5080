"""From what is stored to the policy in force: derived, published as a revision, loaded by each worker."""
