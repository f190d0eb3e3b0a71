import hypothesis

# A property is not about time: on a busy machine Hypothesis' own deadline per example fails at random.
hypothesis.settings.register_profile("sidemirror", deadline=None)
hypothesis.settings.load_profile("sidemirror")

pytest_plugins = ["tests.postgres.fixtures", "tests.redis.fixtures"]
