pytest_plugins = ["service.policy_testing"]
