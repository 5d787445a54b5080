"""Who may create, change, ban and delete users, and what follows at once from a change."""
