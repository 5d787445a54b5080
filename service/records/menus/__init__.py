"""``sys.menu``: the tree of menus and Buttons."""
