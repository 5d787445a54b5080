"""Second factors of users: apps, passkeys, recovery codes, and the logins that ask for them."""
