"""Rules for creating, changing, banning and deleting users, with immediate effects."""
