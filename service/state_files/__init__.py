"""State files: the YAML of roles, menus, resources and bindings, read and written.

What a state means, and how it is applied, is in ``service.administration.state``.
"""
