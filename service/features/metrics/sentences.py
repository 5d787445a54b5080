"""The sentences of findings of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences

sentence: Final = feature_sentences(
    {
        "metrics_off": "server.metrics_token is not set: there are no metrics, and readiness shows no "
        "details",
        "set_to_output": "set it to the output of: {command}",
        "metrics_on": "server.metrics_token is set",
        "metrics_off_locally": "server.metrics_token is not set; only this machine can reach the service",
    }
)
