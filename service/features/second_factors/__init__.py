"""Second factors of users: apps, passkeys, recovery codes, and logins with them."""
