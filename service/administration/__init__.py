"""Users, roles, menus and resources: who may change whose rights, and the effects of changes at once."""
