"""Who may register resources and bind them to Buttons."""
