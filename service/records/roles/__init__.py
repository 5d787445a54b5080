"""``sys.role`` and what roles give: menus, Buttons and so permission codes."""
