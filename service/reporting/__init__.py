"""What reviewers read: findings of the lint, changes of rights, and the report about all of it."""
