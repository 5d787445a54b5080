"""Strict checks of ``model.conf``, and of the policy lines against the routes."""
