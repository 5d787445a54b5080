"""Cluster: the session store on several servers, each of which has a part of the keys."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="cluster",
    title="A cluster of Redis or Valkey as the session store",
    commands=(
        FeatureCommands(
            "sessions",
            (("copy", "copy a session store from a single server to an empty cluster", "commands"),),
            help="the session store",
        ),
    ),
    sentences="sentences:sentence",
    provides={"session-store-cluster": "client:Cluster"},
)
