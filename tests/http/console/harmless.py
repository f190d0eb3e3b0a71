"""What a page must not have become by what somebody wrote: nothing ran, texts are texts, and the layout holds."""

import json

from tests.http.chromium import Page
from tests.http.console.looking import OVERFLOW

# All elements that the page is made of.
_TAGS = (
    *("a", "bdi", "button", "circle", "code", "dd", "details", "div", "dl", "dt", "form", "h1", "h2", "header"),
    *(
        "input",
        "label",
        "li",
        "line",
        "main",
        "mark",
        "nav",
        "ol",
        "option",
        "p",
        "section",
        "select",
        "span",
        "strong",
    ),
    *("summary", "svg", "table", "tbody", "td", "text", "th", "thead", "time", "title", "tr", "ul", "rect"),
)
_HIGHEST_HEADER = 100
# What is wrong with the page, in words.
COMPLAINTS = """(() => {
  const all = [...document.querySelectorAll("body *")];
  const found = [];
  const tags = new Set(TAGS);
  for (const tag of new Set(all.map((one) => one.tagName.toLowerCase()))) if (!tags.has(tag)) found.push(`tag ${tag}`);
  if (window.ran !== undefined) found.push("something ran");
  if (!/(^| – )Sidemirror$/.test(document.title)) found.push(`title ${document.title}`);
  for (const one of document.querySelectorAll("[href], [src], [srcdoc], [action]")) {
    const place = one.getAttribute("href") ?? one.getAttribute("src") ?? one.outerHTML.slice(0, 200);
    if (!/^(#\\/|#main$|icon.svg$|page.css$|page.js$)/.test(place)) found.push(`place ${place.slice(0, 200)}`);
  }
  const names = all.flatMap((one) => one.getAttributeNames());
  for (const name of names) if (name.startsWith("on")) found.push(`handler ${name}`);
  if (document.querySelector("header")?.getBoundingClientRect().height >= HIGHEST) found.push("a high header");
  const over = OVERFLOW;
  if (over > 0) found.push(`${over} px too wide`);
  return found;
})()"""
for _name, _value in (("TAGS", json.dumps(_TAGS)), ("HIGHEST", str(_HIGHEST_HEADER)), ("OVERFLOW", OVERFLOW)):
    COMPLAINTS = COMPLAINTS.replace(_name, _value)


def complaints(page: Page) -> list[str]:
    """What is wrong with the page; empty if nothing is."""
    return list(page.value(COMPLAINTS))
