import casbin
import pytest

from service.authz.engine.rules import PolicyError
from service.laboratory.lint.model import lint_model
from tests.policies.stock import MODEL
from tests.support.cases import with_each

SHIPPED = MODEL.read_text("utf-8")
LINE_OF = {line.strip(): number for number, line in enumerate(SHIPPED.split("\n"), start=1)}
MATCHER_START = next(number for line, number in LINE_OF.items() if line.startswith("m ="))
HOLDS_EXACTLY = LINE_OF["|| holdsExactly(r.caller, p.code) \\"]
SATISFIES = LINE_OF["|| satisfies(r.caller, p.code) \\"]
HOLDS_PATTERN = LINE_OF["|| holdsPattern(r.caller, p.code) \\"]

REQUEST, LINE, EFFECT = (
    "r = layer, object, caller",
    "p = layer, object, code",
    "e = some(where (p.eft == allow))",
)
EXACTLY = "holdsExactly(r.caller, p.code)"

BROKEN = {
    "a misspelt section": ("[matchers]", "[matcher]", LINE_OF["[matchers]"], "is not a section"),
    "a section in capitals": ("[matchers]", "[Matchers]", LINE_OF["[matchers]"], "is not a section"),
    "a section with a space": ("[matchers]", "[ matchers]", LINE_OF["[matchers]"], "is not a section"),
    "an unfinished section": ("[matchers]", "[matchers", LINE_OF["[matchers]"], "is not a section"),
    "a section of roles": (
        "[policy_effect]",
        "[role_definition]\ng = _, _\n[policy_effect]",
        LINE_OF["[policy_effect]"],
        "is not a section",
    ),
    "a section twice": (
        "[matchers]",
        f"[policy_effect]\n{EFFECT}\n[matchers]",
        LINE_OF["[matchers]"],
        "appears twice",
    ),
    "a missing section": (f"[policy_effect]\n{EFFECT}", "", SHIPPED.count("\n"), "is missing"),
    "a missing key": (EFFECT, "", LINE_OF["[policy_effect]"], "has no 'e"),
    "a second matcher": (
        "[matchers]\n",
        "[matchers]\nm = r.layer == p.layer\n",
        MATCHER_START + 1,
        "would replace",
    ),
    "a second request": (REQUEST, f"{REQUEST}\nr2 = caller", LINE_OF[REQUEST] + 1, "not 'r2'"),
    "a second definition": (LINE, f"{LINE}\np2 = code", LINE_OF[LINE] + 1, "not 'p2'"),
    "a second effect": (EFFECT, f"{EFFECT}\ne2 = {EFFECT[4:]}", LINE_OF[EFFECT] + 1, "not 'e2'"),
    "a numbered matcher": ("m = r", "m2 = r", MATCHER_START, "not 'm2'"),
    "a key in capitals": ("m = r", "M = r", MATCHER_START, "not 'M'"),
    "a key before the sections": (
        "[request_definition]",
        f"{REQUEST}\n[request_definition]",
        LINE_OF[REQUEST] - 1,
        "is outside any section",
    ),
    "no key": (REQUEST, "layer, object, caller", LINE_OF[REQUEST], "neither a section nor"),
    "a comment behind the request": (REQUEST, f"{REQUEST} # who", LINE_OF[REQUEST], "a comment after"),
    "a comment behind the matcher": ("    )\n", "    ) # done\n", SATISFIES + 1, "a comment after"),
    "a semicolon comment": (LINE, f"{LINE} ; what", LINE_OF[LINE], "a comment after"),
    "a line of semicolons": (LINE, f"; what\n{LINE}", LINE_OF[LINE], "a comment after"),
    "a comment inside the matcher": (
        f"    || {EXACTLY}",
        f"# exact\n    || {EXACTLY}",
        HOLDS_EXACTLY,
        "a comment follows a backslash",
    ),
    "an empty line inside the matcher": (
        f"    || {EXACTLY}",
        f"\n    || {EXACTLY}",
        HOLDS_EXACTLY,
        "follows a backslash",
    ),
    "a matcher that goes on behind the end": (
        "    )\n",
        "    ) \\",
        SATISFIES + 1,
        "the end of the file follows",
    ),
    "a backslash inside a line": (EXACTLY, "\\" + EXACTLY, HOLDS_EXACTLY, "a backslash at the end"),
    "a letter that is not ASCII": (
        "r.caller, p.code) \\",
        "r.c\u0430ller, p.code) \\",
        HOLDS_EXACTLY,
        "ASCII",
    ),
    "a byte order mark": ("# The authorization", "\ufeff# The authorization", 1, "ASCII"),
    "a control character": (LINE, f"{LINE}\x0b", LINE_OF[LINE], "ASCII"),
    "an order of the request": (
        REQUEST,
        "r = object, layer, caller",
        LINE_OF[REQUEST],
        "the 'r' of this model",
    ),
    "a longer request": (REQUEST, f"{REQUEST}, time", LINE_OF[REQUEST], "the 'r' of this model"),
    "an effect column": (LINE, f"{LINE}, eft", LINE_OF[LINE], "the 'p' of this model"),
    "a priority column": (LINE, f"{LINE}, priority", LINE_OF[LINE], "the 'p' of this model"),
    "deny-override": (EFFECT, "e = !some(where (p.eft == deny))", LINE_OF[EFFECT], "the 'e' of this model"),
    "a capital Deny": (EFFECT, "e = some(where (p.eft == Deny))", LINE_OF[EFFECT], "the 'e' of this model"),
    "an effect with other spaces": (
        EFFECT,
        "e = some(where(p.eft==allow))",
        LINE_OF[EFFECT],
        "the 'e' of this model",
    ),
    "a matcher that can't be parsed": (EXACTLY, f"({EXACTLY}", MATCHER_START, "can't be parsed"),
    "a stray operator": (EXACTLY, f"|| {EXACTLY}", HOLDS_EXACTLY, "can't be parsed"),
    "two expressions": (EXACTLY, f"{EXACTLY}, {EXACTLY}", MATCHER_START, "must be a boolean"),
    "an empty matcher": (SHIPPED[SHIPPED.index("m = ") :], "m =\n", MATCHER_START, "can't be parsed"),
    "an unknown function": (
        EXACTLY,
        "holdsExactli(r.caller)",
        HOLDS_EXACTLY,
        "function 'holdsExactli' is unknown",
    ),
    "a function of Casbin": (
        EXACTLY,
        "keyMatch(r.object, p.object)",
        HOLDS_EXACTLY,
        "'keyMatch' is unknown",
    ),
    "an eval": (EXACTLY, "eval(p.code)", HOLDS_EXACTLY, "function 'eval' is unknown"),
    "a method": (
        EXACTLY,
        'p.code.startswith("@")',
        HOLDS_EXACTLY,
        "function 'p_code.startswith' is unknown",
    ),
    "an unknown name": (
        'p.code == "@anyone"',
        "p.code == anyone",
        MATCHER_START + 1,
        "'p.code == anyone' is not allowed",
    ),
    "an unknown column": ('p.code == "@anyone"', 'p.sub == "@anyone"', MATCHER_START + 1, "is not allowed"),
    "a numbered line": (EXACTLY, "holdsExactly(r2.caller, p.code)", MATCHER_START, "without numbers"),
    "too few arguments": (EXACTLY, "holdsExactly(r.caller)", HOLDS_EXACTLY, "must be called as"),
    "swapped arguments": (EXACTLY, "holdsExactly(p.code, r.caller)", HOLDS_EXACTLY, "must be called as"),
    "a keyword argument": (
        EXACTLY,
        "holdsExactly(r.caller, code=p.code)",
        HOLDS_EXACTLY,
        "must be called as",
    ),
    "a comparison of the caller": (EXACTLY, "r.caller == p.code", HOLDS_EXACTLY, "is not allowed"),
    "a text for a boolean": (EXACTLY, "p.code", HOLDS_EXACTLY, "'p.code' is neither a comparison"),
    "a number for a boolean": (EXACTLY, "1", HOLDS_EXACTLY, "'1' is neither a comparison"),
    "a literal for a boolean": (EXACTLY, "True", HOLDS_EXACTLY, "'True' is neither a comparison"),
    "a number to compare": ('"@anyone"', "7", MATCHER_START + 1, "'p.code == 7' is not allowed"),
    "an order of texts": ('== "@anyone"', '>= "@anyone"', MATCHER_START + 1, "only be compared with =="),
    "a part of a text": (
        'p.code == "@anyone"',
        '"@anyone" in p.code',
        MATCHER_START + 1,
        "only be compared with ==",
    ),
    "a chain of comparisons": (
        '== "@anyone"',
        '== "@anyone" == p.code',
        MATCHER_START + 1,
        "can't be chained",
    ),
    "arithmetic": (EXACTLY, f"{EXACTLY} + 1", HOLDS_EXACTLY, "must be a boolean"),
    "a choice": (EXACTLY, f'({EXACTLY} if p.code == "a" else "a")', HOLDS_EXACTLY, "must be a boolean"),
    "a lambda": (EXACTLY, "(lambda: 1)()", HOLDS_EXACTLY, "is unknown"),
    "a walrus": (EXACTLY, "(x := 1)", HOLDS_EXACTLY, "must be a boolean"),
    "no equality of layers": (
        "r.layer == p.layer && ",
        "",
        MATCHER_START,
        "'r.layer == p.layer' must apply to every line",
    ),
    "no equality of objects": (
        "r.object == p.object && ",
        "",
        MATCHER_START,
        "'r.object == p.object' must apply",
    ),
    "an equality that is an alternative": (
        "r.object == p.object && (",
        '(r.object == p.object || r.object == "x") && (',
        MATCHER_START,
        "'r.object == p.object' must apply",
    ),
    "an equality that is demanded twice": (
        "r.object == p.object && (",
        "r.object == p.object && r.object == p.object && (",
        MATCHER_START,
        "is not allowed",
    ),
    "an inequality": (
        "r.object == p.object",
        "r.object != p.object",
        MATCHER_START,
        "must apply to every line",
    ),
    "a back door for one object": (
        EXACTLY,
        f'{EXACTLY} || p.object == "POST /api/user/import"',
        HOLDS_EXACTLY,
        "is not allowed",
    ),
    "a back door for one code": (
        EXACTLY,
        f'{EXACTLY} || (isLoggedIn(r.caller) && p.code == "system:user:create")',
        HOLDS_EXACTLY,
        "is not allowed",
    ),
    "a back door by the order of a comparison": (
        EXACTLY,
        f'{EXACTLY} || "system:user:create" == p.code',
        HOLDS_EXACTLY,
        "is not allowed",
    ),
    "a row for one layer": (
        'p.code == "@anyone"',
        '(p.code == "@anyone" && r.layer == "endpoint")',
        MATCHER_START + 1,
        "is not allowed",
    ),
    "an exception for one layer": (
        'p.code == "@anyone"',
        '(p.code == "@anyone" && r.layer != "endpoint")',
        MATCHER_START + 1,
        "negation is not allowed",
    ),
    "an exception for one code": (
        "holdsSubtree(r.caller, p.code)",
        'holdsSubtree(r.caller, p.code) && p.code != "system:user:delete"',
        HOLDS_EXACTLY + 2,
        "negation is not allowed",
    ),
    "an exception for some callers": (
        "&& isLoggedIn(r.caller)",
        "&& isLoggedIn(r.caller) && !holdsEverything(r.caller, p.code)",
        HOLDS_EXACTLY - 1,
        "negation is not allowed",
    ),
    "a misspelt literal": ('"@anyone"', '"@anyon"', MATCHER_START + 1, "is not allowed"),
    "a row that demands more": (
        EXACTLY,
        f"({EXACTLY} && isLoggedIn(r.caller) && holdsEverything(r.caller, p.code))",
        MATCHER_START,
        "the row holdsExactly is missing",
    ),
    "a matcher that is too long": (
        EXACTLY,
        " || ".join([EXACTLY] * 200),
        MATCHER_START,
        "more than 4096 characters",
    ),
    "a matcher that opens @nobody": ('"@anyone"', '"@nobody"', MATCHER_START + 1, "is not allowed"),
    "a matcher that opens @login to all": (
        "&& isLoggedIn(r.caller)",
        "",
        MATCHER_START,
        "callers without a session",
    ),
    "a matcher that opens all to logins": (
        "&& isLoggedIn",
        "|| isLoggedIn",
        MATCHER_START,
        "callers without permissions",
    ),
    "a word of Python for &&": (
        "&& isLoggedIn",
        "and isLoggedIn",
        MATCHER_START + 2,
        "'and' is Python syntax",
    ),
    "a word of Python for ||": (
        "|| holdsExactly",
        "or holdsExactly",
        HOLDS_EXACTLY,
        "'or' is Python syntax",
    ),
    "a comma before the end of a call": (
        "isLoggedIn(r.caller)",
        "isLoggedIn(r.caller,)",
        MATCHER_START + 2,
        "',' is Python syntax",
    ),
    "a text with a prefix": ('"@anyone"', 'u"@anyone"', MATCHER_START + 1, "'u' is Python syntax"),
    "a negated predicate": (EXACTLY, f"!{EXACTLY}", HOLDS_EXACTLY, "negation is not allowed"),
}


def refusals(text: str) -> tuple[str, ...]:
    with pytest.raises(PolicyError) as caught:
        lint_model(text)
    return caught.value.faults


def test_the_shipped_model_passes() -> None:
    lint_model(SHIPPED)


@with_each("what", BROKEN)
def test_a_broken_model_is_refused_with_its_line_and_the_reason(what: str) -> None:
    old, new, line, reason = BROKEN[what]
    assert old in SHIPPED

    faults = refusals(SHIPPED.replace(old, new, 1))

    assert any(fault.startswith(f"model.conf:{line}: ") and reason in fault for fault in faults), faults


@with_each(
    ("old", "new"),
    [
        (EXACTLY, f"({EXACTLY} || holdsEverything(r.caller, p.code))"),
        ("r.layer == p.layer && r.object == p.object", "p.object == r.object && p.layer == r.layer"),
        ('p.code == "@anyone"', '"@anyone" == p.code'),
        (REQUEST, "r=layer,object , caller"),
        ("m = ", "\t# a tab is a space\nm\t=\t"),
    ],
)
def test_a_model_that_differs_and_is_sound_passes(old: str, new: str) -> None:
    assert old in SHIPPED

    lint_model(SHIPPED.replace(old, new))


def test_all_faults_are_told_in_the_order_of_their_lines_and_by_the_given_file_name() -> None:
    text = SHIPPED.replace(EFFECT, "e = none").replace(REQUEST, "r = x").replace("holdsPattern", "holdsIt")

    with pytest.raises(PolicyError) as caught:
        lint_model(text, "/etc/portcullis/model.conf")

    assert [
        f"/etc/portcullis/model.conf:{LINE_OF[REQUEST]}",
        f"/etc/portcullis/model.conf:{LINE_OF[EFFECT]}",
        f"/etc/portcullis/model.conf:{HOLDS_PATTERN}",
    ] == [fault.rpartition(": ")[0].split(": ")[0] for fault in caught.value.faults]


ROWS = [line for line in SHIPPED.splitlines() if line.startswith("    ") and line.strip() != ")"]


@with_each("row", ROWS)
def test_a_model_without_one_of_its_rows_is_refused(row: str) -> None:
    others = " \\\n    || ".join(other.strip(" |\\") for other in ROWS if other != row)
    matcher = f"m = r.layer == p.layer && r.object == p.object && ( \\\n    {others} \\\n    )\n"
    text = SHIPPED[: SHIPPED.index("m = ")] + matcher

    named = {fault.partition(" is missing or too narrow")[0].rpartition(" ")[2] for fault in refusals(text)}

    assert len(named) == 1
    assert named.pop() in row


def test_a_model_that_is_too_long_is_refused() -> None:
    lint_model(SHIPPED + "# a page\n" * 1000)

    assert "more than 65536 bytes" in refusals(SHIPPED + "# a page\n" * 10_000)[0]


def test_an_empty_file_misses_every_section() -> None:
    assert len([fault for fault in refusals("") if "is missing" in fault]) == 4


@pytest.mark.parametrize("what", ["a second matcher", "a misspelt section", "a comment behind the request"])
def test_casbin_itself_accepts_what_is_refused_here(what: str) -> None:
    old, new, _line, _reason = BROKEN[what]

    casbin.Enforcer.new_model(text=SHIPPED.replace(old, new, 1))
