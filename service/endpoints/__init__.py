"""The endpoints: one file per URL family, one class per URI template.

An endpoint orchestrates and holds no rule. Endpoint files never import each other, SQL or Casbin.
"""
