"""The dashboard in a browser: signing in, what it shows, its orders, what changes while it changes.
Run by `dashboard`, which provides the browser and its driver.
"""

import json
import os
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

from tower import TOKEN, Client, Tally, Tower

HEADERS = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
LIMIT_S = 15
# a name that would run if it became markup, and turn the text behind it about
HOSTILE = "<img src=x onerror=\"document.title='owned'\">\u202egnp"


class Page:
    """A page and what went wrong in it. It is looked at again and again: its policy forbids the
    browser's own waiting."""

    def __init__(self, page, tally):
        self.page, self.tally, self.faults = page, tally, []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda line: self.faults.append(line.text) if line.type == "error" else None)

    def text(self, selector):
        return self.page.text_content(selector)

    def rows(self, table):
        return [row.text_content() for row in self.page.query_selector_all(f"#{table} tr")]

    def row(self, table, *words):
        """Whether a row of the table has all of these words."""
        return any(all(word in row for word in words) for row in self.rows(table))

    def comes(self, claim, holds):
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            if time.monotonic() > deadline:
                return self.tally.check(False, claim, self.page.inner_text("body")[:2000])
            self.page.wait_for_timeout(50)
        return self.tally.check(True, claim)

    def sign_in(self, token):
        self.page.fill("#token", token)
        self.page.keyboard.press("Enter")

    def button(self, table, word, name):
        return self.page.locator(f"#{table} tr", has_text=word).get_by_text(name, exact=True)


def ask(tower, method, path, body):
    client = Client(tower.address)
    status, _, answer = client.ask(method, path, json.dumps(body).encode(), HEADERS)
    client.close()
    return status, answer


def chat(tower, model):
    ask(tower, "POST", "/v1/chat/completions", {"model": model})


def enters(page):
    page.comes("a stranger is asked for the token", lambda: page.page.is_visible("#token"))
    page.sign_in("wrong")
    page.comes("a wrong token is refused", lambda: "not the admin token" in page.text("#sign-in-error"))
    page.sign_in(TOKEN)
    page.comes("the right one opens the board", lambda: page.text("#link") == "live" and page.rows("providers"))
    page.tally.check("well" in page.text("#summary"), "everything is well", page.text("#summary"))
    kept = page.page.evaluate("JSON.stringify([localStorage, sessionStorage]) + document.cookie")
    page.tally.check(TOKEN not in kept and "switchtower" not in kept, "no script can read the session", kept)


def shows(page, tower):
    for _ in range(3):
        chat(tower, "demo-down")
    chat(tower, f"demo-b/{HOSTILE}")
    message = {"model": "claude-b/status-404-retry-60", "max_tokens": 1, "messages": []}
    ask(tower, "POST", "/v1/messages", message)
    ask(tower, "POST", "/api/actors/provider/gemini-a/messages", {"message": "trip", "for": "90s"})
    page.comes("an open breaker, and why", lambda: page.row("providers", "gemini-a", "open", "manual-trip"))
    page.comes("a barred model", lambda: page.row("locks", "status-404-retry-60", "claude-b-1", "not_found"))
    page.comes("a change as it comes", lambda: page.row("events", "breaker", "gemini-a", "closed → open"))
    page.comes("a request that was rescued", lambda: page.row("requests", "demo-down", "200", "(rescued)"))
    page.comes("whose fault it was", lambda: page.row("requests", "status-404", "404", "no such model"))
    hostile = HOSTILE.replace("\u202e", "\ufffd")
    page.comes("a hostile name as text", lambda: page.row("requests", hostile))
    images = page.page.evaluate("document.images.length")
    page.tally.check(images == 0 and "owned" not in page.page.title(), "and as nothing else", page.page.title())


def orders(page):
    button = page.button("providers", "gemini-a", "Reset")
    button.focus()
    page.page.keyboard.press("Enter")
    page.comes("an order is asked about", lambda: "gemini-a" in page.text("#confirm-title"))
    page.page.keyboard.press("Escape")
    for order, after in [("Drain", "draining"), ("Undrain", "ready")]:
        page.button("connections", "gemini-a-1", order).click()
        page.page.click("#confirm-yes")
        page.comes(order, lambda: page.row("connections", "gemini-a-1", after))
    # what was ordered behind it has come to pass
    page.tally.check(page.row("providers", "gemini-a", "open"), "and is not given", page.rows("providers"))
    button.focus()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    page.comes("it is given by keyboard alone", lambda: page.row("providers", "gemini-a", "closed"))
    focus = page.page.evaluate("document.activeElement.closest('tr')?.textContent ?? ''")
    page.tally.check("gemini-a" in focus, "the focus stays where it was", focus)
    page.button("locks", "status-404", "Allow").click()
    page.page.click("#confirm-yes")
    page.comes("a model is allowed again", lambda: not page.rows("locks"))
    page.comes("each order is in the audit", lambda: len(page.rows("audit")) >= 5)


def explains(page):
    page.page.fill("#explain [name=model]", "demo-fast")
    page.page.keyboard.press("Enter")
    page.comes("an explanation", lambda: page.row("order", "demo-b/steady", "p2c"))
    page.page.fill("#explain [name=model]", "nobody/nothing")
    page.page.keyboard.press("Enter")
    page.comes("why there is none", lambda: "no model or combo" in page.text("#explain-said"))


def fits(page):
    page.page.set_viewport_size({"width": 390, "height": 800})
    width = page.page.evaluate("document.documentElement.scrollWidth")
    page.tally.check(width <= 390, "a phone shows it without scrolling sideways", width)


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="switchtower-dashboard-") as folder, sync_playwright() as driver:
        tower = Tower(folder).start().wait_ready()
        browser = driver.chromium.launch(executable_path=os.environ["BROWSER"], args=["--no-sandbox"])
        try:
            page = Page(browser.new_page(viewport={"width": 1400, "height": 900}), tally)
            page.page.goto(f"http://{tower.address[0]}:{tower.address[1]}/dashboard")
            enters(page)
            shows(page, tower)
            orders(page)
            explains(page)
            fits(page)
            page.page.reload()
            page.comes("a page that is opened anew goes on", lambda: page.page.is_visible("#board"))
            page.page.click("#leave")
            page.comes("who leaves is asked again", lambda: page.page.is_visible("#token"))
            page.page.reload()
            page.comes("also by a page that is opened anew", lambda: page.page.is_visible("#token"))
            # a refused token and an unknown model are said in the console by the browser itself
            faults = [fault for fault in page.faults if not fault.startswith("Failed to load resource")]
            tally.check(not faults, "nothing goes wrong in it", faults[:3])
        finally:
            browser.close()
            tower.stop()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
