"""How Sphinx makes the site of the pages that `tools/site` puts together."""

project = "Sidemirror"
author = "The maintainers of Sidemirror"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["linkify"]
# Links to headings are written as the forge makes them.
myst_heading_anchors = 4
myst_linkify_fuzzy_links = False
exclude_patterns = ["docs/site/*"]
html_theme = "furo"
html_title = "Sidemirror"
html_show_sphinx = False
html_copy_source = False
# Nothing comes from elsewhere.
html_theme_options = {"navigation_with_keys": True}
# Orphans among the pages: tests/architecture/test_documents.py.
suppress_warnings = ["myst.header", "misc.highlighting_failure", "toc.not_included"]
