"""Questions of other services: may somebody do something there?"""
