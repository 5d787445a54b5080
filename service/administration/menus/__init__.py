"""Rules for changing the tree of menus and the Buttons that carry permission codes."""
