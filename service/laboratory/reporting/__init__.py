"""What reviewers and auditors read: findings of the lint, changes of rights, and the report about all of it.

Gathers answers of other rooms and gives them a form; decides and changes nothing.
"""
