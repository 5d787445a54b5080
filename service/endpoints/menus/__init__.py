"""Menus and Buttons: ``/api/menu``."""
