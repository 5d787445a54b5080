"""Reports for reviewers and auditors: lint findings and changes of rights.

Formats answers of other packages; decides and changes nothing.
"""
