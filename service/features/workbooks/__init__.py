"""Tables as XLSX workbooks."""
