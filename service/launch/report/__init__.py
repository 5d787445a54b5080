"""The report for auditors: gathered from the code behind the other commands, written as HTML or Markdown."""
