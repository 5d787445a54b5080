"""Notices to users, and mails."""

from service.kernel.feature import Feature, FeatureCommands, FeaturePage

FEATURE = Feature(
    name="notices",
    title="Notices and mails to users",
    needs=("account_links", "second_factors"),
    tags={"mail": "Waiting mails, and those of the last days."},
    pages=(
        FeaturePage(
            "mail",
            "Mails",
            "mail",
            after="job",
            permissions=(("list", "List mails", ("GET /api/mail/list",)),),
        ),
    ),
    enumerations={"MailState": "waiting sent given_up"},
    commands=(
        FeatureCommands(
            "mail",
            (("test", "send a test mail now, and print the response of the mail server", "mail_test"),),
            help="mails to users",
            after="keys",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="api:add_routes",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    provides={
        "notify": "making:notices_of",
        "mail": "making:outbox_of",
        "restored": "store_mail:give_up_restored",
        "seal-links-anew": "outbox:reseal_links",
        "sealed-links": "store_mail:count_by_key",
    },
)
