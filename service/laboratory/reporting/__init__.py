"""Reports for reviewers and auditors: lint findings, changes of rights, and documents as HTML or Markdown.

Formats answers of other packages; decides and changes nothing.
"""
