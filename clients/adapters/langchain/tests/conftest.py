import os

pytest_plugins = ["scripted.fixtures"]

# Nobody listens there: no trace of a test leaves the machine.
os.environ["LANGSMITH_ENDPOINT"] = "http://127.0.0.1:1"
