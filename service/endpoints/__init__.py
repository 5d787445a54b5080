"""The endpoints: one file per URL family, one class per URI template.

An endpoint coordinates other layers and has no rules of its own. Endpoint files never import each other, SQL
or Casbin.
"""
