"""Rules for creating, changing and deleting roles and their permissions, with immediate effects."""
