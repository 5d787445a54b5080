"""The database's fold of texts is the one of names, so that a text is found by itself and in any case."""

import random
from functools import cache
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, select

from service.kernel.text import name_key
from service.records.database.filters import contains_folded
from service.records.schema.rights import user
from tests.support.inside import Inside
from tests.support.members import query


@cache
def changed() -> list[str]:
    """Return the assigned characters that folding changes."""
    # Unassigned here, a character may be known to the database; a surrogate is no character.
    assigned = (chr(code) for code in range(1, 0x110000) if category(chr(code)) not in ("Cn", "Cs", "Co"))
    return [character for character in assigned if name_key(character) != character]


def sequences() -> list[str]:
    """Return texts of several characters that folding changes, with others between them."""
    choose = random.Random(4).choice
    return [
        "".join(choose(choose((changed(), "aΣς1 -"))) + choose(("", "ß", "ﬁ")) for _ in range(5))
        for _ in range(2000)
    ]


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_ascii_names_fold_as_all_others(text: str) -> None:
    assert name_key(text) == name_key(f"{text}é").removesuffix("é")


async def test_the_database_folds_as_names_are_folded(shared: Inside) -> None:
    texts = [*changed(), *sequences(), "ΟΜΑΔΑΣ", "İzmir", "STRASSE", "e\u0301", "می\u200cخو", "plain", ""]
    folded = await query(shared, "SELECT sys.folded(each) FROM unnest(%s::text[]) each", texts)
    differing = [
        (text, row[0], name_key(text))
        for text, row in zip(texts, folded, strict=True)
        if row[0] != name_key(text)
    ]
    assert differing == []


async def test_the_pattern_is_computed_before_the_plan_so_that_an_index_can_serve_it(shared: Inside) -> None:
    (condition,) = contains_folded(user.c.nick_name_folded).of("Her%n")
    matching = select(user.c.id).where(condition)
    statement = str(
        matching.compile(create_engine("postgresql+psycopg://"), compile_kwargs={"literal_binds": True})
    )
    plan = await query(shared, f"EXPLAIN {statement}")
    assert any(r"~~ '%her\%n%'" in line for (line,) in plan), plan
