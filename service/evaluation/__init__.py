"""Questions of other services: may this subject do this to that resource? Knows no HTTP."""
