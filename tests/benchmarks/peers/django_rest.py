"""A guarded GET in Django REST framework with simplejwt, as a WSGI application.

simplejwt reads the user of the token from the database, which is where Django looks up who is locked out; the
permission is one of the user's group, as ``has_perm`` finds it. Run as a script, it fills the database.
"""

from __future__ import annotations

import os
from typing import Any

import django
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

_DATABASE = conninfo_to_dict(os.environ["DATABASE_URL"])
settings.configure(
    SECRET_KEY=os.environ["PEER_SECRET"],
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework"],
    MIDDLEWARE=["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _DATABASE["dbname"],
            "USER": _DATABASE["user"],
            "HOST": _DATABASE["host"],
            "PASSWORD": _DATABASE.get("password", ""),
            "PORT": _DATABASE.get("port", ""),
            "CONN_MAX_AGE": None,  # connections stay open
        }
    },
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework_simplejwt.authentication.JWTAuthentication"],
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    },
    SIMPLE_JWT={"ALGORITHM": "HS256", "SIGNING_KEY": os.environ["PEER_SECRET"]},
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import Group, Permission, User  # noqa: E402 - needs the settings
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework.permissions import BasePermission  # noqa: E402
from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


class MayListRoles(BasePermission):  # type: ignore[misc]
    """The user's groups must have the permission."""

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002 - the signature
        """Return whether they have."""
        return bool(request.user.has_perm("auth.view_group"))


class Roles(APIView):  # type: ignore[misc]
    """``/api/role/list``."""

    permission_classes = (MayListRoles,)

    def get(self, _request: Request) -> Response:
        """Answer."""
        return Response({"data": {"status": "open"}})


urlpatterns = [path("api/role/list", Roles.as_view())]
application: Any = get_wsgi_application()


def fill() -> None:
    """Make the tables, and a user with the id 1 in a group that has every permission."""
    call_command("migrate", verbosity=0)
    group = Group.objects.create(name="administrators")
    group.permissions.set(Permission.objects.all())
    user = User.objects.create_user("admin", id=1)
    user.groups.add(group)


if __name__ == "__main__":
    fill()
