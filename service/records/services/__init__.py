"""``sys.service``: the other services whose routes resources guard."""
