"""The built site, served on this machine, and a real browser without any network."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from run_tests import BROWSERS

ROOT = Path(__file__).resolve().parents[2]
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def site() -> Path:
    """The site's folder, built if it is missing or older than its sources."""
    command = [sys.executable, str(ROOT / "tools" / "build_book.py")]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace"
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return ROOT / "_build" / "html"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Address of the served site, on the loopback interface only."""
    handler = functools.partial(QuietHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """An installed Chromium, or a skip with the command that installs it."""
    paths = [path for name in BROWSERS if (path := shutil.which(name))]
    if not paths:
        pytest.skip(
            "no Chromium is installed: apt-get install chromium (Debian), "
            "brew install --cask chromium (macOS)"
        )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=paths[0], args=FLAGS)
        yield chromium
        chromium.close()


class Visitor:
    """A fresh visitor of the site, who notes what no page may do."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        page.on("response", self._response)
        page.route(lambda url: not self._is_local(url), self._foreign)

    def _is_local(self, url: str) -> bool:
        return url.startswith(self.address) or urlsplit(url).scheme in ("data", "blob")

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _response(self, response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")

    def _foreign(self, route) -> None:
        self.complaints.append(f"foreign request: {route.request.url}")
        route.abort()

    def open(self, name: str) -> Page:
        """Open a page and wait until it and its mathematics are drawn."""
        self.page.goto(f"{self.address}/{name}.html", wait_until="load")
        self.page.wait_for_function(
            "!document.querySelector('.math') || (window.MathJax && MathJax.startup"
            " && MathJax.startup.promise && MathJax.startup.promise.then(() => true))"
        )
        return self.page

    def axe(self) -> list[str]:
        """Serious and critical violations of the page that is open."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{rule['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]


def visit(browser: Browser, address: str, width: int, theme: str) -> Iterator[Visitor]:
    """One visitor with a fresh profile."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=theme,
    )
    yield Visitor(context.new_page(), address)
    context.close()


@pytest.fixture
def desk(browser: Browser, address: str) -> Iterator[Visitor]:
    """A visitor with a screen 1280 pixels wide."""
    yield from visit(browser, address, 1280, "light")


@pytest.fixture
def phone(browser: Browser, address: str) -> Iterator[Visitor]:
    """A visitor with a phone 390 pixels wide, in the dark theme."""
    yield from visit(browser, address, 390, "dark")


@pytest.fixture
def disk(browser: Browser, site: Path) -> Iterator[Visitor]:
    """A visitor who opens the files themselves, without any server."""
    yield from visit(browser, site.as_uri(), 1280, "light")
