"""Links that owners of accounts are sent, and what each opens."""
