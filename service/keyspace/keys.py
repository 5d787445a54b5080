"""The names of the keys that are read without a script; the scripts name theirs in ``scripts/common.lua``."""

BANNED = b"banned"
PROBE = "auth:probe"
POLICY_REVISION = "policy:revision"
ALL_RIGHTS = "auth:rights"
AHEAD = "auth:ahead"


def deny(login_id: str) -> str:
    """Name the deny marker of a user."""
    return f"auth:deny:{login_id}"


def device(login_id: str, device: str) -> str:
    """Name a device session."""
    return f"auth:device:{login_id}:{device}"


def rights(login_id: str) -> str:
    """Name the epoch of a user's rights; each change of them removes it."""
    return f"auth:rights:{login_id}"


def checkpoint(restore_epoch: str) -> str:
    """Name the newest policy revision that was in force in a restore epoch of the database."""
    return f"policy:witness:{restore_epoch}"


def undelivered(login_id: str, device: str, issued: int) -> str:
    """Name the key of tokens not known to be delivered; ``issued`` is their ``iat`` in milliseconds."""
    return f"auth:undelivered:{login_id}:{device}:{issued}"


def challenge(name: str) -> str:
    """Name a challenge that waits for an answer."""
    return f"auth:challenge:{name}"


def known_device(fingerprint: str) -> str:
    """Name the key that remembers a successful login from this device."""
    return f"rate:known:{fingerprint}"


def known_address(fingerprint: str) -> str:
    """Name the key that remembers a successful login from this address."""
    return f"rate:address:{fingerprint}"
