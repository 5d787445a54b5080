"""The scripts of the console, read: what they may not do, whom they import, and the types of the API."""

import re
import shutil
from pathlib import Path

import pytest

from service.kernel.permission_catalogue import CATALOGUE
from service.web.requests.problems import refusals
from tests.console.declarations import CLIENT
from tests.service.test_structure import tied
from tests.support.cases import with_each

CONSOLE = Path(__file__).parents[2] / "service" / "console"
SCRIPTS = sorted(CONSOLE.rglob("*.js"))
FORBIDDEN = {
    "inserts markup": r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc)\b"
    r"|\bsetHTML|\bdocument\.write|\bDOMParser\b",
    "runs text": r"\beval\s*\(|\bnew Function\b|\bset(?:Timeout|Interval)\s*\(\s*[\"'`]|javascript:",
    "makes a policy of trusted types": r"\btrustedTypes\b",
    "imports what no literal names": r"\bimport\s*\(\s*(?![\"'\s])",
    "loads from elsewhere": r"\bfetch\s*\(\s*[\"'`]https?:"
    r"|(?:\bfrom\s+|\bimport\s*\(\s*|^import\s+)[\"'](?![./])",
    "sets a handler or a style as text": r"setAttribute\(\s*[\"'](?:on\w+|style)[\"']|\.cssText\b",
}
"""What a script may not contain, and why."""

FIRST_LOAD = 200_000
"""Bytes, uncompressed."""

_STATIC_IMPORT = re.compile(r"""^(?:import|export)\s(?:[^"';]*\sfrom\s+)?["']([^"']+)["']""", re.MULTILINE)
_IMPORT = re.compile(r"""(?:\bfrom\s+|\bimport\s*\(\s*|^import\s+)["']([^"']+)["']""", re.MULTILINE)

_ANY_IMPORT = re.compile(r"""(?:\bfrom\s*|\bimport\s*\(?\s*)["'](\.[^"']+(?<!\.json))["']""")
"""Static, dynamic, and of types alone: in comments too. Texts import nothing."""


def code_of(script: Path) -> str:
    """Return a script without its comments."""
    text = script.read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/", "", re.sub(r"(?m)(?<![:\"'`])//.*$", "", text), flags=re.DOTALL)


@with_each("script", SCRIPTS)
def test_a_script_is_checked_and_does_nothing_that_the_policy_forbids(script: Path) -> None:
    assert script.read_text(encoding="utf-8").startswith("// @ts-check\n")
    for why, pattern in FORBIDDEN.items():
        match = re.search(pattern, code_of(script))
        assert match is None, f"{why}: {match and match[0]}"


def test_each_forbidden_thing_is_noticed() -> None:
    for text in (
        "one.innerHTML = x", "document.write(x)", "new DOMParser()", "eval(x)", "setTimeout('x', 1)",
        "trustedTypes.createPolicy", 'import x from "https://elsewhere"', "import('elsewhere')",
        "import(view)", "fetch(`https://elsewhere`)", 'one.setAttribute("onclick", x)',
    ):  # fmt: skip
        assert any(re.search(pattern, text) for pattern in FORBIDDEN.values()), text


def reached_from(*starts: str, imports: re.Pattern[str] = _IMPORT) -> set[Path]:
    """Return the scripts that ``starts`` load, themselves included; each must exist."""
    reached: set[Path] = set()
    open_ends = [CONSOLE / start for start in starts]
    while open_ends:
        script = open_ends.pop()
        if script in reached:
            continue
        assert script.is_file(), script
        reached.add(script)
        open_ends += [(script.parent / path).resolve() for path in imports.findall(code_of(script))]
    return reached


def test_imports_lead_to_files_and_every_view_is_reached() -> None:
    assert {script for script in SCRIPTS if script.parent.name != "parts"} <= reached_from("main.js")


def circles(folder: Path) -> list[list[Path]]:
    """Return the groups of scripts and declarations in ``folder`` that import one another."""
    arrows: dict[Path, set[Path]] = {}
    for script in (*folder.rglob("*.js"), *folder.rglob("*.d.ts")):
        named = [(script.parent / name).resolve() for name in _ANY_IMPORT.findall(script.read_text("utf-8"))]
        paths = {path if path.is_file() else path.with_suffix(".d.ts") for path in named} - {script}
        # Types that are made import no script.
        arrows[script] = paths - {folder / "types" / "api.d.ts", folder / "types" / "texts.d.ts"}
    return tied(arrows)


def test_no_scripts_import_one_another_in_a_circle() -> None:
    assert circles(CONSOLE) == []


@pytest.mark.parametrize(
    "added",
    [
        'import { show } from "../views/home.js";',
        'import {\n  show,\n} from "../views/home.js";',
        'export * from "../views/home.js";',
        'const load = () => import("../views/home.js");',
        '/** @typedef {import("../views/home.js")} Home */',
        '/** @import { show } from "../views/home.js" */',
    ],
)
def test_a_circle_is_noticed_however_the_import_is_written(tmp_path: Path, added: str) -> None:
    console = shutil.copytree(CONSOLE, tmp_path / "console")
    lower = console / "core" / "page.js"
    lower.write_text(f"{lower.read_text(encoding='utf-8')}\n{added}\n", encoding="utf-8")
    [circle] = circles(console)
    assert {lower, console / "views" / "home.js"} <= set(circle)


@pytest.mark.parametrize(
    ("starts", "most"),
    [(("main.js", "views/sign-in.js"), 23), (("main.js", "core/frame.js", "views/home.js"), 32)],
    ids=["sign-in", "home"],
)
def test_what_is_shown_first_is_small(starts: tuple[str, ...], most: int) -> None:
    page = [CONSOLE / "index.html", CONSOLE / "icon.svg", *(CONSOLE / "style").iterdir()]
    files = [*page, *reached_from(*starts, imports=_STATIC_IMPORT)]
    assert len(files) <= most, sorted(files)
    assert sum(file.stat().st_size for file in files) <= FIRST_LOAD


def test_pages_and_styles_hold_no_script_no_handler_and_nothing_from_elsewhere() -> None:
    page = (CONSOLE / "index.html").read_text(encoding="utf-8")
    assert not re.search(
        r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|(?:src|href)=\"(?:https?:|//)", page
    )
    for style in CONSOLE.rglob("*.css"):
        assert not re.search(
            r"@import|url\(\s*[\"']?(?:https?:|//|data:)", style.read_text(encoding="utf-8")
        ), style


def test_the_client_knows_the_code_of_every_refusal() -> None:
    text = CLIENT.with_name("types.d.ts").read_text(encoding="utf-8")
    union = text.partition("export type Code =")[2].partition(";")[0]
    own = {"unreachable", "elsewhere"}
    assert set(re.findall(r'"(\w+)"', union)) - own == {refusal.code for refusal in refusals()}


def test_the_client_is_one_module_that_imports_nothing() -> None:
    assert _IMPORT.findall(code_of(CLIENT.with_name("portcullis.js"))) == []


def test_each_page_of_the_catalogue_has_an_icon_that_the_console_draws() -> None:
    source = (CONSOLE / "core" / "dom.js").read_text(encoding="utf-8")
    drawn = re.findall(r'^ {2}"?([a-z-]+)"?:\s', source.partition("const PATHS = {")[2], re.MULTILINE)
    assert {page.icon for page in CATALOGUE} - {*drawn} == set()
