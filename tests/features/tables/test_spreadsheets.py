"""Tables as spreadsheets write them: what is skipped, and what is named by its separator, column and row."""

from tests.features.tables.tables import faults, send
from tests.support.cases import with_each
from tests.support.inside import Inside

IMPORT = "/api/role/import?dryRun=true"
COLUMNS = (
    "roleCode, roleName, description, enabled, maxDuration, reasonRequired, personalKeys, maxDelegation,"
    " permissions"
)
READ = ": separate the columns by `,`, `;` or a tab"
PLAIN = "roleCode,roleName,permissions\r\nclerk,Clerk,system:role:list\r\nguard,Guard,\r\n"


@with_each(
    "table",
    [
        "\ufeff" + PLAIN,
        PLAIN.replace(",", ";"),
        "\ufeff" + PLAIN.replace(",", "\t"),
        " roleCode ;\u00a0roleName\t; permissions\r\n clerk ;Clerk;\tsystem:role:list\r\nguard;Guard;\r\n",
        "sep=;\r\n" + PLAIN.replace(",", ";"),
        '"roleCode";"roleName";"permissions"\r\n"clerk";"Clerk";"system:role:list"\r\n"guard";"Guard";""\r\n',
        " roleCode , roleName\t,\u00a0permissions\r\n clerk , Clerk,  system:role:list \r\nguard,Guard ,\r\n",
        "ROLECODE,rolename,Permissions\r\nclerk,Clerk,system:role:list\r\nguard,Guard,\r\n",
        "roleCode,roleName,permissions,,\r\nclerk,Clerk,system:role:list,,\r\nguard,Guard,, ,\r\n",
        "roleCode,,roleName,permissions\r\nclerk,,Clerk,system:role:list\r\nguard, ,Guard,\r\n",
        "\r\n,,\r\nroleCode,roleName,permissions\r\n\r\nclerk,Clerk,system:role:list\r\n,,\r\nguard,Guard,\r\n",
    ],
)
async def test_what_a_spreadsheet_adds_is_skipped(shared: Inside, table: str) -> None:
    answer = await send(shared, IMPORT, table)
    assert answer.status == 200, answer.body
    assert [(row["name"], row["outcome"]) for row in answer.json["data"]["rows"]] == [
        ("clerk", "created"),
        ("guard", "created"),
    ]


@with_each(
    ("header", "field", "message"),
    [
        ('"roleCode"|"roleName"', "roles", f"The separator seems to be `|`{READ}"),
        ("sep=|", "roles", f"The separator seems to be `|`{READ}"),
        ("sep=\t\r\nroleCode;roleName", "roles", f"The separator seems to be `;`{READ}"),
        (
            "roleCode,roleName,Remark",
            "Remark",
            f"Column C is none of {COLUMNS}",
        ),
        (
            "roleCode,roleName,a remark!",
            "roles",
            f"Column C is none of {COLUMNS}",
        ),
        ("roleCode,roleName,rolecode", "roleCode", "The column is named twice: in C too"),
    ],
)
async def test_a_header_is_refused_by_its_separator_or_the_letter_of_a_column(
    shared: Inside, header: str, field: str, message: str
) -> None:
    answer = await send(shared, IMPORT, f"{header}\r\nclerk,Clerk,x\r\n")
    assert answer.status == 422
    assert {fault["field"]: fault["message"] for fault in answer.json["errors"]}[field] == message


async def test_a_row_is_named_as_the_sheet_counts_it(shared: Inside) -> None:
    table = "roleCode,roleName,permissions\r\n,,\r\nclerk\r\nguard,Guard,,x\r\n\r\nCook,Cook,\r\n"
    assert faults(await send(shared, IMPORT, table)) == [
        (2, "roleName", "The row has 1 cells, and the header 3"),
        (3, "row", "Column D has a value here, and no name in the header"),
        (5, "roleCode", "must have lower-case letters, digits, _ and - only"),
    ]


async def test_csv_that_is_not_well_formed_names_its_line(shared: Inside) -> None:
    answer = await send(shared, IMPORT, 'roleCode,roleName\r\nclerk,Clerk\r\nguard,"Gu"ard\r\n')
    assert (answer.status, answer.json["detail"]) == (400, "The body is not well-formed CSV: see line 3")


async def test_a_cell_of_blanks_alone_that_is_too_long_is_refused(shared: Inside) -> None:
    answer = await send(shared, IMPORT, " " * 200_000)
    assert (answer.status, answer.json["detail"]) == (400, "The body is not well-formed CSV: see line 1")


async def test_blanks_of_a_password_and_a_description_are_kept(house: Inside) -> None:
    table = 'userName,nickName,password\r\nheron, Heron ," four wary herons "\r\n'
    assert (await send(house, "/api/user/import", table)).status == 200
    await house.log_in("heron", " four wary herons ")
    roles = "roleCode,roleName,description\r\nclerk,Clerk, in two lines \r\n"
    assert (await send(house, "/api/role/import", roles)).status == 200
    stored = (await house.data("GET", "/api/role/list?roleCode=clerk"))["items"][0]
    assert stored["description"] == " in two lines "


async def test_faults_of_the_stored_table_are_named_by_the_same_numbers(shared: Inside) -> None:
    table = "roleCode,roleName,permissions\r\n,,\r\nclerk,Clerk,\r\n,,\r\nguard,Guard,no:such:code\r\n"
    assert [fault[:2] for fault in faults(await send(shared, IMPORT, table))] == [(4, "permissions[0]")]


async def test_a_row_with_another_separator_than_the_header_names_it(shared: Inside) -> None:
    table = "roleCode,roleName,permissions\r\nclerk;Clerk;system:role:list\r\n"
    assert faults(await send(shared, IMPORT, table)) == [
        (1, "roleName", "The row has 1 cells, and the header 3: the separator of this row seems to be `;`")
    ]


async def test_a_table_in_utf_16_is_refused_by_its_encoding(shared: Inside) -> None:
    answer = await send(shared, IMPORT, PLAIN.encode("utf-16"))
    assert (answer.status, answer.json["detail"]) == (
        400,
        "The body is UTF-16: save the table as CSV UTF-8",
    )
