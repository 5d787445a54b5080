"""Questions of other services: may this subject do this to that resource?

From what a question names to a caller with current rights and to what the enforcer is asked, and back to an
answer with its reason. Knows no HTTP; ``endpoints/access`` has the formats of the questions.
"""
