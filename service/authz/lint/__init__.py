"""The strict reading of ``model.conf`` and of the lines against the routes."""
