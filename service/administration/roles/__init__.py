"""Who may create, change and delete roles and their permissions, and what follows at once."""
