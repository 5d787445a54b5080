"""The file of a follower is made in small pieces, and reads as one."""

import msgspec
import pytest

from service.features.follower.kept import Kept, opened, pieces, sealed
from tests.benchmarks.pdp_followed import followed
from tests.support.cases import with_each


@with_each("size", [1, 499, 500, 501, 1_300])
def test_pieces_are_what_would_be_encoded_at_once(size: int) -> None:
    kept = followed(size).state.kept()
    together = b"".join(pieces(kept))
    assert msgspec.msgpack.decode(together) == msgspec.msgpack.decode(msgspec.msgpack.encode(kept))
    assert msgspec.msgpack.decode(together, type=Kept) == kept


def test_no_piece_has_more_than_a_portion_of_users_or_lines() -> None:
    content = list(pieces(followed(20_000).state.kept()))
    assert len(content) > 20_000 * 2 / 500
    assert max(map(len, content)) < sum(map(len, content)) / 20


def test_a_file_of_another_key_is_refused() -> None:
    content = sealed(pieces(followed(3).state.kept()), b"one")
    with pytest.raises(ValueError, match="sealed by another API key"):
        opened(content, b"other")
