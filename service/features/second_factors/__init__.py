"""Second factors of users: authenticator apps, passkeys, recovery codes, and logins that ask for them."""
