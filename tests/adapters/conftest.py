import pytest


@pytest.fixture(autouse=True)
def patient(patient_postgres: None) -> None:
    """What the adapters keep and answer is tested here, not how soon."""
