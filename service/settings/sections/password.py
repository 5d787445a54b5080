"""The settings of passwords and their hashing."""

from dataclasses import dataclass

from service.settings.checks import between
from service.settings.table import setting
from service.settings.values import OptionalWhole, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Password:
    """Passwords and their hashing (Argon2id, RFC 9106)."""

    argon2_memory: int = setting(
        19_456,
        unit="KiB",
        check=between(19_456, 1_048_576),
        help="Memory of one hash. After a raise, each user's hash is renewed at the next login.",
    )
    argon2_time: int = setting(2, unit="passes", check=between(2, 16), help="Passes over the memory.")
    argon2_parallelism: int = setting(1, unit="lanes", check=between(1, 16), help="Lanes of one hash.")
    max_waiting: int = setting(
        64,
        check=between(1, 10_000),
        help="Logins of one worker that may wait for their hash; further ones are answered 503 at once. A "
        "quarter of these places is kept for client addresses from which a login succeeded within a day.",
    )
    min_length: int = setting(
        8,
        unit="characters",
        check=between(8, 128),
        help="Shortest new password. NIST SP 800-63B-4 asks for 15 where the password is the only factor.",
    )
    min_length_with_factor: OptionalWhole = setting(
        None,
        unit="characters",
        check=between(8, 128),
        shown="`password.min_length`",
        help="Shortest new password of users who have a second factor: 8 by NIST SP 800-63B-4. At most "
        "`password.min_length`.",
    )
    max_length: int = setting(
        128,
        unit="characters",
        check=between(64, 1024),
        help="Longest password; none is ever truncated.",
    )
    initial: bool = setting(
        default=True,
        help="Whether a password that somebody else has set, or that is known from a leak, must be changed "
        "first: until then its sessions satisfy only `@initial` and `@anyone` in the layer `assurance`.",
    )
    initial_timeout: int = setting(
        604_800,
        unit="s",
        check=between(3_600, 31_536_000),
        help="How long a login works with a password that somebody else has set (7 days), while "
        "`password.initial` is on. One that is known from a leak has no such end.",
    )
    own_words: Words = setting(
        Words(),
        help="Words of your organization that new passwords must not be made of, such as its name, products "
        "and places, each of 3 to 64 characters: comma-separated in the environment, a list in the file. "
        "Case and letters that look alike make no difference.",
    )
