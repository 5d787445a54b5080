"""Exports that LibreOffice opens and saves again, and that are imported without a change."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.features.tables.tables import KINDS, send
from tests.support.inside import Inside
from tests.support.members import query

OFFICE = shutil.which("soffice")
TABLES, ROWS = 10, 1_000
# Separator, quote, UTF-8, first line, columns, language, quoted cells are text: the filter options of CSV.
AS_TEXT = "CSV:44,34,76,1,,0,true,true"
PEOPLE = """
INSERT INTO sys.user (user_name, user_name_key, nick_name, phone, password_hash)
SELECT 'p' || t || '-' || n, 'p' || t || '-' || n,
    (ARRAY['白鹭', 'بلشون أبيض', '🪶 heron', '=1+1', '00', '12345678901234567890'])[1 + n %% 6] || ' ' || n,
    '00' || 4930123456000000 + n, '-'
FROM generate_series(0, :tables - 1) t, generate_series(1, :rows) n
"""


async def convert(folder: Path, form: str, files: list[Path]) -> None:
    """Let LibreOffice open the files and save them in ``folder``."""
    assert OFFICE is not None
    options = ["--infilter=" + AS_TEXT] if files[0].suffix == ".csv" else []
    kept = f"{form}:Text - txt - csv (StarCalc):44,34,76,1" if form == "csv" else form
    profile = f"-env:UserInstallation={(folder.parent / 'profile').as_uri()}"
    command = [
        OFFICE,
        profile,
        "--headless",
        *options,
        "--convert-to",
        kept,
        "--outdir",
        str(folder),
        *map(str, files),
    ]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await asyncio.wait_for(process.communicate(), 900)
    assert process.returncode == 0, output


@pytest.mark.extended
@pytest.mark.timeout(3_600)
@pytest.mark.skipif(OFFICE is None, reason="LibreOffice (Debian's libreoffice-calc) is missing")
@pytest.mark.parametrize(
    ("opened", "saved"), [("xlsx", "xlsx"), ("csv", "xlsx"), ("xlsx", "csv"), ("csv", "csv")]
)
async def test_what_libreoffice_saves_is_imported_without_a_change(
    house: Inside, tmp_path: Path, opened: str, saved: str
) -> None:
    await query(house, PEOPLE.replace(":tables", str(TABLES)).replace(":rows", str(ROWS)))
    files = []
    for number in range(TABLES):
        answer = await house.ask("GET", f"/api/user/export?format={opened}&bom=true&userName=p{number}-")
        assert answer.status == 200, answer.body
        files.append(tmp_path / f"users-{number}.{opened}")
        files[-1].write_bytes(answer.body)
    target = tmp_path / "saved"
    await convert(target, saved, files)
    for file in files:
        table = (target / file.name).with_suffix(f".{saved}").read_bytes()
        answer = await send(house, "/api/user/import?dryRun=true", table, kind=KINDS[saved])
        assert answer.status == 200, answer.body[:2000]
        assert answer.json["data"] == {
            "dryRun": True,
            "created": 0,
            "updated": 0,
            "unchanged": ROWS,
            "rows": [],
        }
