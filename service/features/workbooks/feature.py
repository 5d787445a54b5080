"""Workbooks as a feature."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="workbooks",
    title="Tables as XLSX workbooks",
    provides={"workbook": "workbooks:Workbook"},
)
