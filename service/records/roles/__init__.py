"""``sys.role``, and the menus, Buttons and permission codes that roles give."""
