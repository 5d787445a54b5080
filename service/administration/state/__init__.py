"""The state: roles, menus, Buttons, resources and bindings as one value, and the edits that lead to it."""
