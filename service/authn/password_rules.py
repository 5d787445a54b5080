"""Rules for new passwords: long enough, and hard to guess (NIST SP 800-63B §3.1.1.2).

There are no rules about kinds of characters, which make passwords worse. Passwords are never truncated.
"""

import asyncio
import re
import secrets
import struct
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import accumulate
from typing import Final

from service.errors import InitialPasswordExpired, ValidationFailed
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.fields import password_context
from service.records.accounts import GIVEN, LEAKED, Credentials, Entitled, Initial
from service.records.user_list import UserValues
from service.settings import SHORTEST_WORD, Password

FILE: Final = "leaked_passwords.filter"
SIZE: Final = 5  # bytes of a digest
_STARTS: Final = struct.Struct("<257I")
_PAIRS: Final = 65_536
_DIGESTS: Final = _STARTS.size + _PAIRS
_REST: Final = 3  # bytes of a digest behind its pair
_MOST: Final = 255  # digests that can begin with one pair


class TextFilter:
    """The texts of the filter ``content``; a lookup reads some ten bytes, and takes two microseconds."""

    def __init__(self, content: bytes) -> None:
        """Raises ValueError for bytes that are no filter."""
        if len(content) < _DIGESTS:
            raise ValueError("a filter is longer")
        self._content = content
        self._starts = _STARTS.unpack_from(content)
        if len(content) != _DIGESTS + _REST * len(self):
            raise ValueError("a filter of so many digests has another length")

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __contains__(self, text: str) -> bool:
        digest = _digest(text)
        row = _STARTS.size + digest[0] * 256
        pair = row + digest[1]
        place = _DIGESTS + _REST * (self._starts[digest[0]] + sum(self._content[row:pair]))
        end = place + _REST * self._content[pair]
        rest = digest[2:]
        return any(self._content[start : start + _REST] == rest for start in range(place, end, _REST))


def packed(texts: Iterable[str]) -> bytes:
    """Return the filter of ``texts``; the same ones make the same bytes, in whatever order.

    Raises ValueError for more texts than a filter can hold, about ten million.
    """
    digests = sorted({_digest(text) for text in texts})
    firsts = Counter(digest[0] for digest in digests)
    pairs = Counter(digest[0] * 256 + digest[1] for digest in digests)
    if max(pairs.values(), default=0) > _MOST:
        raise ValueError("the filter has too many texts")
    starts = accumulate((firsts[first] for first in range(256)), initial=0)
    counts = bytes(pairs[pair] for pair in range(_PAIRS))
    return _STARTS.pack(*starts) + counts + b"".join(digest[2:] for digest in digests)


@cache
def leaked_passwords() -> TextFilter:
    """Return the filter of leaked passwords, read once in a process: 1.3 MB, which forks of it share."""
    return TextFilter((files("service.authn") / FILE).read_bytes())


def _digest(text: str) -> bytes:
    # Half of a surrogate pair is no text, but may be sent as a password.
    return sha256(text.encode(errors="surrogatepass")).digest()[:SIZE]


class InitialPasswords:
    """Passwords that owners have to change first: those set by other users, and those known from leaks.

    The policy alone limits a session with an initial password (the word ``@initial``). This class finds these
    sessions, and refuses a login with a password that another user set too long ago. With
    ``password.initial`` off no stored password is initial. The marks are stored nevertheless, so that they
    exist when the setting is turned on.
    """

    def __init__(self, settings: Password) -> None:
        self._judged = settings.initial
        self._timeout = settings.initial_timeout

    def is_initial(self, user: Credentials | Entitled) -> bool:
        """True if ``user`` has to change the password first."""
        return self._judged and user.password_initial is not None

    def require_in_time(self, stored: Credentials) -> None:
        """Raise ``InitialPasswordExpired`` if another user set the password longer ago than is allowed.

        A password that is initial because of a leak does not expire: its owner was not warned, and would be
        locked out.
        """
        if self._judged and stored.password_initial == GIVEN and stored.password_age > self._timeout:
            raise InitialPasswordExpired

    def mark(self, stored: Credentials, password: str) -> Initial | None:
        """Return the mark for the right ``password`` of an account: the stored one, or that of a leak."""
        if not self._judged or stored.password_initial is not None:
            return stored.password_initial
        return LEAKED if is_leaked(password) else None


NO_PASSWORD: Final = sentence("no_password")
GUESSES: Final = 10**8
"""The estimated guesses that a password must withstand: as many as for eight random characters."""
JUDGED: Final = 32
"""Characters of a password that are judged: the estimate's time grows faster than their number."""

_SERVICE_NAME: Final = "portcullis"
_MADE_OF_NAMES: Final = sentence("password_made_of_names")
_SIGNS: Final = 4
"""Distinct characters that may stand for letters: every reading is tried, and ten take seconds."""
_STANDS_FOR_LETTER: Final = frozenset("@({[<!|$+%")
_GENERATED_BYTES: Final = 18  # 24 characters, 144 bits
_WORD: Final = re.compile(r"\w+")
_ESTIMATOR: Final = threading.Lock()
"""The estimator keeps the context of a call in state shared by all threads."""


class PasswordRules:
    """Checks passwords when they are set; stored passwords are never checked again."""

    def __init__(self, settings: Password) -> None:
        self._least = settings.min_length
        self._least_with_factor = settings.min_length_with_factor or settings.min_length
        self._most = settings.max_length
        self._own_words = tuple(settings.own_words)

    async def require(
        self, field: str, password: str, owner: UserValues, *, has_factor: bool = False
    ) -> None:
        """Call ``check`` in a thread: it may take 80 ms, and the first call loads word lists."""
        await asyncio.to_thread(self.check, field, password, owner, has_factor=has_factor)

    def check(self, field: str, password: str, owner: UserValues, *, has_factor: bool = False) -> None:
        """Raise ``ValidationFailed`` for ``field`` unless the rules allow ``password`` to ``owner``."""
        if complaint := self.complaint(password, owner, has_factor=has_factor):
            raise ValidationFailed((field, complaint))

    def complaint(self, password: str, owner: UserValues, *, has_factor: bool = False) -> Sentence | None:
        """Return why ``password`` is refused, without repeating it; None if it is allowed.

        The rules are the same for every setter and place. The declarations of the values of ``owner``
        determine which of them the password must not contain. ``has_factor``: the owner has a second factor.
        """
        least = self._least_with_factor if has_factor else self._least
        if not least <= len(password) <= self._most:
            code = "too_short" if len(password) < least else "wrong_length"
            return sentence(code, least=least, most=self._most)
        if any("\ud800" <= letter <= "\udfff" for letter in password):
            return sentence("password_not_text")
        names = list(
            dict.fromkeys([_SERVICE_NAME, *_words((*self._own_words, *password_context(UserValues, owner)))])
        )
        # As typed and as it looks: "password" with a Cyrillic letter is just as easy to guess.
        for text in dict.fromkeys((password[:JUDGED], skeleton(password)[:JUDGED])):
            if _guesses(_readable(text), names) < GUESSES:
                if any(name in text.lower() for name in names):
                    return _MADE_OF_NAMES
                return sentence("password_too_easy")
        return sentence("password_leaked") if is_leaked(password) else None

    def generate(self, owner: UserValues) -> str:
        """Return a random password that fulfils these rules."""
        size = max(_GENERATED_BYTES, -(-self._least * 3 // 4))  # bytes; four characters for three of them
        while True:
            password = secrets.token_urlsafe(size)
            if self.complaint(password, owner) is None:
                return password


def is_leaked(password: str) -> bool:
    """True if ``password`` is known from a leak, also in other case and with letters that look alike.

    Takes microseconds after ``prepare``; by chance true for one password in 2.5 million.
    """
    return skeleton(password) in leaked_passwords()


def prepare() -> None:
    """Read what ``is_leaked`` needs: takes ten milliseconds and 1.5 MB."""
    is_leaked("")


def skeleton(text: str) -> str:
    """Return what ``text`` looks like, with look-alike characters replaced by lower-case ASCII letters."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    unmarked = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return unmarked.translate(_confusables())


@cache
def _confusables() -> dict[int, str]:
    lines = (files("service.authn") / "confusables.txt").read_text("utf-8").splitlines()
    return {ord(letter): line[0] for line in lines if line[0] != "#" for letter in line[2:]}


def _guesses(text: str, names: list[str]) -> float:
    """Return the estimated guesses needed for ``text`` by an attacker who knows ``names``."""
    # Loaded on first use: the word lists take 15 MB, and most workers never see a new password.
    from zxcvbn import zxcvbn  # noqa: PLC0415

    with _ESTIMATOR:
        return float(zxcvbn(text, user_inputs=names)["guesses"])


def _readable(text: str) -> str:
    """Return ``text`` with at most ``_SIGNS`` distinct letter-like signs, the others replaced by ``~``."""
    kinds = dict.fromkeys(letter for letter in text if letter in _STANDS_FOR_LETTER)
    return text.translate(dict.fromkeys(map(ord, list(kinds)[_SIGNS:]), "~"))


def _words(context: Iterable[str]) -> Iterator[str]:
    """Yield each text, its words, and these without separators, as in a phone number."""
    for text in context:
        for form in (text.lower(), skeleton(text)):
            words = _WORD.findall(form)
            yield from (word for word in (form, "".join(words), *words) if len(word) >= SHORTEST_WORD)
