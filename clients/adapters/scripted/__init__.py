"""What the tests of all adapters for Python share."""
