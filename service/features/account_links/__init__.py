"""Links mailed to account owners, and the operations that they allow."""
