"""The sentences of refusals and faults of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "too_many_rows": "There must be at most {most} rows",
        "columns_missing": "The first line must name the columns",
        "cells_differ": "The row has {cells} cells, and the header {columns}",
        "table_not_utf8": "The body is not UTF-8: save the table as CSV UTF-8",
        "not_csv": "The body is not well-formed CSV: see line {line}",
        "role_with_rule": "The role has a request rule: enable or disable it individually",
        "line_not_object": "The line is no JSON object",
        "table_type": "The body must be {types}, in UTF-8, or {workbook}",
        "line_not_json": "Line {line} is not well-formed JSON",
        "csv_form": "CSV must be in UTF-8, with a header, and not compressed",
        "users_deleted_meanwhile": "Users of the table have been deleted meanwhile",
        "column_twice": "The column is named twice: in {column} too",
        "unknown_column": "Column {column} is none of {columns}",
        "column_required": "The column is required",
        "other_separator": "The separator seems to be {separator}: separate the columns by `,`, `;` or a tab",
        "column_without_name": "Column {column} has a value here, and no name in the header",
        "nick_name_of_new_user": "A new user needs one",
        "password_of_service_row": "A service account has API keys in place of a password",
        "password_of_existing_user": "The user already exists, and an import does not set passwords of "
        "existing users",
        "table_utf16": "The body is UTF-16: save the table as CSV UTF-8",
        "other_separator_of_row": "The row has {cells} cells, and the header {columns}: the separator of "
        "this row seems to be {separator}",
        "workbook_locked": "The workbook has a password or is an XLS file: save it as XLSX without a "
        "password",
        "not_a_workbook": "The body is no XLSX workbook",
        "workbook_archive_damaged": "The workbook is damaged: its archive can't be read",
        "workbook_xml_damaged": "The workbook is damaged: a part is not well-formed XML",
        "workbook_part_twice": "The workbook is damaged: a part is there twice",
        "workbook_with_macros": "The workbook has macros: save it as XLSX without macros",
        "workbook_part_missing": "The workbook is damaged: a part is missing",
        "workbook_too_large": "The workbook is too large",
        "workbook_with_document_type": "The workbook has a document type, which no spreadsheet writes",
        "workbook_lines_disordered": "The workbook is damaged: its lines are not in order",
        "workbook_cell_outside": "The workbook is damaged: a cell is in no line",
        "workbook_cells_disordered": "The workbook is damaged: its cells are not in order",
        "sheet_too_many_cells": "The sheet has too many cells: delete what is beside the table",
        "workbook_text_missing": "The workbook is damaged: a text is missing",
        "workbook_too_many_parts": "The workbook has more than {most} parts",
        "workbook_too_many_sheets": "The workbook has more than {most} sheets",
        "workbook_several_sheets": "{count} sheets of the workbook have cells: keep the one to import",
        "workbook_too_large_unpacked": "The workbook has more than {most} MiB unpacked",
        "sheet_too_long": "The sheet goes beyond line {most}: delete what is below the table",
        "sheet_too_wide": "The sheet has more than {most} columns",
        "cell_with_date": "Column {column} has a date or a time: format the cell as text",
        "cell_with_error": "Column {column} has an error in place of a value",
        "cell_with_formula": "Column {column} has a formula: replace it by its value",
        "cell_rounded": "Column {column} has a number that a spreadsheet may have rounded: format the cell "
        "as text and enter it again",
        "cause_operations_imported": "operations of {service} imported",
        "created_without_password": "created without a password: invite the user, or set a first password",
    }
)
