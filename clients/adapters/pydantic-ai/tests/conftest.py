pytest_plugins = ["scripted.fixtures"]
