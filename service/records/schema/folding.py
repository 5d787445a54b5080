"""The fold of texts that lists search and sort by: a function of the database, which generates columns.

It never changes, since the columns store what it has returned. Another fold needs a function with another
name, and columns of its own.
"""

from unicodedata import normalize

# As `service.kernel.text.name_key` folds: compatibility caseless matching, without joiners and selectors.
# Of all letters that NFKD leaves, only two fold to more than one.
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
_LAST_CASED = 0x1E943
_CASED = [
    letter
    for letter in map(chr, range(0x80, _LAST_CASED + 1))
    if not "\ud800" <= letter <= "\udfff"
    and normalize("NFKD", letter) == letter
    and letter.casefold() != letter
    and letter not in "\u00df\u1e9e"
]
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "".join(_CASED)

FOLD = f"""
CREATE FUNCTION sys.folded(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN
    CASE WHEN octet_length($1) = char_length($1) THEN lower($1 COLLATE "C")
    ELSE normalize(
        translate(
            replace(
                replace(normalize(translate($1, '{_JOINERS}', ''), NFKD), '\u00df', 'ss'), '\u1e9e', 'ss'
            ),
            '{_UPPER}',
            '{_UPPER.casefold()}'
        ),
        NFKC
    ) END;
"""
