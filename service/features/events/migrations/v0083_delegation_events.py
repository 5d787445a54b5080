"""Events when delegations to agents are made and end."""

from alembic import op

revision = "v0083"
down_revision = "v0082"
kind = "expand"
least_version = "0.2.0"

TRIGGERS = """
CREATE OR REPLACE TRIGGER note_event_made AFTER INSERT ON sys.delegation FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('delegation.made', 'user_id',
        'id=delegationId agent_id=agentId codes=codes services=services until=until');
CREATE OR REPLACE TRIGGER note_event_ended AFTER DELETE ON sys.delegation FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('delegation.ended', 'user_id',
        'id=delegationId agent_id=agentId until=until')
"""


def upgrade() -> None:
    op.execute(TRIGGERS)
