"""What refuses a policy or a change: the lint of the model, invariants, and lockout protection."""
