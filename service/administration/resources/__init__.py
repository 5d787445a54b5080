"""Rules for registering resources and binding them to Buttons."""
