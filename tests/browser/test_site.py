"""The built site as a reader meets it, in a real browser."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import build_book
import pytest
import yaml

PAGES = [*build_book.pages(), "genindex", "search"]
CONFIG = yaml.safe_load((build_book.ROOT / "_config.yml").read_text(encoding="utf-8"))
SIDEWAYS = "document.documentElement.scrollWidth - window.innerWidth"
# The theme lets the keyboard reach code that scrolls, some moments after a change.
REACHABLE = (
    "[...document.querySelectorAll('pre')]"
    ".every(pre => pre.scrollWidth <= pre.clientWidth || pre.tabIndex === 0)"
)
THEME = "document.documentElement.dataset.theme"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_error_no_foreign_request_and_no_barrier(desk, name):
    page = desk.open(name)
    assert desk.complaints == []  # before axe, which loads style sheets once more
    assert page.locator("mjx-merror").count() == 0, "an equation is not valid TeX"
    assert page.evaluate(SIDEWAYS) <= 0
    assert not (barriers := desk.axe()), "\n".join(barriers)
    # The same page on a phone, in the dark.
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{THEME} == 'dark'")
    page.wait_for_function(REACHABLE)
    assert page.evaluate(SIDEWAYS) <= 0
    assert not (barriers := desk.axe()), "\n".join(barriers)


def test_pages_open_as_files_too(disk):
    page = disk.open("notation")
    assert page.locator("mjx-container").count() > 10
    assert disk.complaints == []


def test_mathematics_is_rendered_with_the_sites_own_fonts(desk):
    page = desk.open("notation")
    raw = page.locator(".math").count()
    assert raw > 10
    assert page.locator(".math mjx-container").count() == raw
    assert page.locator("mjx-merror").count() == 0
    page.wait_for_function("document.fonts.status == 'loaded'")
    loaded = "[...document.fonts].filter(f => f.status == 'loaded').map(f => f.family)"
    assert any(family.strip('"').startswith("MJX") for family in page.evaluate(loaded))


def test_search_finds_a_word_and_leads_to_its_page(desk):
    desk.page.goto(f"{desk.address}/search.html?q=softmax")
    hit = desk.page.locator("#search-results li a", has_text="Notation")
    hit.first.click()
    desk.page.wait_for_url("**/notation.html*")
    assert desk.complaints == []


def test_there_is_one_search_box_and_the_keyboard_opens_it(desk):
    page = desk.open("index")
    assert page.locator(".search-button-field:visible").count() == 1
    page.keyboard.press("Control+k")
    page.keyboard.type("perplexity")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=perplexity*")
    page.locator("#search-results li a").first.wait_for()


def test_the_first_tab_stop_skips_to_the_content(desk):
    page = desk.open("index")
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.textContent.trim()")
    assert focused == "Skip to main content"
    page.keyboard.press("Enter")
    assert page.url.endswith("#main-content")


def test_the_theme_button_switches_to_dark_and_the_choice_stays(desk):
    page = desk.open("index")
    light = page.evaluate(BACKGROUND)
    button = page.locator(".theme-switch-button:visible").first
    for _ in range(3):  # auto, light, dark
        if page.evaluate(THEME) == "dark":
            break
        button.click()
    assert page.evaluate(THEME) == "dark"
    assert page.evaluate(BACKGROUND) != light
    assert desk.open("glossary").evaluate(THEME) == "dark"


def test_the_menu_of_a_phone_opens_and_leads_to_a_chapter(phone):
    page = phone.open("index")
    link = page.locator(".bd-sidebar-primary a", has_text="Glossary")
    assert not link.first.is_visible()
    page.locator(".primary-toggle:visible").first.click()
    link.locator("visible=true").first.click()
    page.wait_for_url("**/glossary.html")


def test_a_solution_is_hidden_until_it_is_clicked(desk, site):
    html = {p: (site / f"{p}.html").read_text(encoding="utf-8") for p in PAGES}
    chapters = [name for name in PAGES if "solution dropdown" in html[name]]
    assert chapters, "no page has an exercise with a hidden solution"
    for name in chapters:
        page = desk.open(name)
        for solution in page.locator(".solution.dropdown").all():
            content = solution.locator(".solution-content, section").first
            assert not content.is_visible(), name
            solution.locator("button, summary").first.click()
            content.wait_for(state="visible")


def test_code_has_a_copy_button(desk):
    page = desk.open("index")
    blocks = page.locator("div.highlight").count()
    assert blocks > 0
    assert page.locator("div.highlight button.copybtn").count() == blocks


def test_buttons_lead_to_the_repository_of_the_configuration(desk):
    repository = CONFIG["repository"]
    short = repository["url"].removeprefix("https://github.com/")
    chapter = next(name for name in build_book.pages() if name[0].isdigit())
    page = desk.open(chapter)
    links = [
        a.get_attribute("href") or ""
        for a in page.locator("header a, .dropdown-menu a").all()
    ]
    file = f"{repository['branch']}/{repository['path_to_book']}/{chapter}.ipynb"
    assert any(f"{repository['url']}/edit/{file}" == link for link in links)
    assert any("mybinder.org" in link and short in link for link in links)
    assert any(
        f"colab.research.google.com/github/{short}/blob/{file}" in link
        for link in links
    )


class Links(HTMLParser):
    """The anchors, links and pictures of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.bare_pictures: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes) -> None:
        """Note what the tag names or leads to."""
        values = dict(attributes)
        if values.get("id"):
            self.anchors.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        # "Figure 3" describes nothing; the theme's own logos may be short.
        enough = 20 if "_images" in values.get("src", "") else 1
        if tag == "img" and len((values.get("alt") or "").strip()) < enough:
            self.bare_pictures.append(values.get("src", ""))


def test_every_link_within_the_site_leads_somewhere(site):
    pages = {path: Links(path) for path in site.rglob("*.html")}
    pages = {p: links for p, links in pages.items() if "_static" not in p.parts}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            anchor = unquote(parts.fragment)
            if not target.exists() or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                broken.append(f"{path.name} -> {link}")
    assert broken == []


def test_every_picture_is_described_in_words(site):
    bare = {
        str(path.relative_to(site)): pictures
        for path in site.rglob("*.html")
        if "_static" not in path.parts and (pictures := Links(path).bare_pictures)
    }
    assert bare == {}
