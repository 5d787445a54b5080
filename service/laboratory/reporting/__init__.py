"""What reviewers and auditors read: findings of the lint and changes of rights.

Gathers answers of other rooms and gives them a form; decides and changes nothing.
"""
