"""The site is made of the pages as they stand: every link leads somewhere, no word is misspelt."""

import sys
from pathlib import Path

import pytest

from tests.acceptance.product import environment, ran
from tests.architecture.repository import ROOT

pytestmark = [pytest.mark.slow("Sphinx reads every page"), pytest.mark.timeout(600)]


def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    """Seen to fail for a link to a heading that is not there, and for "teh"."""
    site = tmp_path / "site"
    done = ran([sys.executable, str(ROOT / "tools/site"), str(site)], environment(), ROOT, 580)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    for page in (
        "index",
        "README",
        "clients/go/README",
        "docs/contract/thinking",
        "docs/decisions/001-advice-on-record",
    ):
        assert (site / f"{page}.html").exists(), page
    shown = (site / "docs/contract/thinking.html").read_text("utf-8")
    assert "ThinkingService.StartTurn" in shown
    assert "sidemirror.v1.ThinkingService/StartTurn" in shown
    # Nothing is fetched from elsewhere.
    assert 'src="http' not in shown
