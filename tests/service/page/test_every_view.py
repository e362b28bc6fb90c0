"""Tests of all views: screen readers, keyboard only, invalid addresses, unusual texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.sampling import sample
from tests.service.accessibility import CONTRAST, PROBLEMS
from tests.service.contracts import documents
from tests.service.page.contents import COUNT, SCRIPT
from tests.service.page.driving import VIEWS, ask, find_duplicates, hits, look_at, require_usable, shoot
from tests.service.page.windows import visited
from tests.service.served import Prefix, listening
from whorl import open_store
from whorl.service.app import create_app
from whorl.service.credentials import Credentials

PHONES = [(390, 844), (320, 640)]
SCHEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")


def test_text_is_never_html(page: Page, url: str) -> None:
    """
    A document with HTML in its text, name and id is shown literally, and no script in it runs.
    """
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    ask(page, 'FINGERPRINT:"<b>id</b>"_20_95')
    expect(hits(page).get_by_role("heading")).to_have_text(re.compile(re.escape("<script>alert(1)</script>")))
    expect(hits(page).locator(".mono")).to_have_text("<b>id</b>")
    page.goto(f"{url}#compare?a=%3Cb%3Eid%3C%2Fb%3E&b=%3Cb%3Eid%3C%2Fb%3E")
    expect(page.locator("#text-a")).to_have_text(SCRIPT)
    expect(page.locator("#name-a")).to_have_text("<script>alert(1)</script>")
    assert page.evaluate("window.ran") is None
    assert page.locator("#text-a script, #text-a img, #hits script").count() == 0


def test_below_a_path(tab: Page, folder: Path) -> None:
    """
    Through a proxy that removes a prefix, the page signs in, shows every view and stores files. It sends no request to
    a path without the prefix.
    """
    with open_store(folder) as store:
        proxy = Prefix(create_app(store, Credentials(("a-key",))), "/whorl")
        with listening(proxy) as address, visited(tab, f"{address}/whorl/") as page:
            dialog = page.get_by_role("dialog", name="Sign in")
            dialog.get_by_role("radio", name="API key").check(force=True)
            dialog.get_by_label("API key").last.fill("a-key")
            page.keyboard.press("Enter")
            expect(page.locator("#state")).to_have_text(f"{COUNT} documents")
            for view in VIEWS:
                look_at(page, f"{address}/whorl/", view)
            page.locator("#add-files").set_input_files({"name": "new.txt", "mimeType": "", "buffer": b"a new file"})
            expect(page.locator("#adding-told")).to_have_text("1 document stored")
            page.get_by_role("button", name="Delete new.txt").click()
            page.get_by_role("button", name="Delete", exact=True).last.click()
            expect(page.locator("#documents-told")).to_have_text(f"{COUNT} documents")
        assert proxy.outside == []


@pytest.mark.parametrize("address", ["#constructor", "#main", "#nowhere?x=1", "#search?q=rent&metric=toString"])
def test_an_address_that_names_nothing(page: Page, url: str, address: str) -> None:
    """
    An unknown view is the first one; names of properties of every JavaScript object are not views or metrics.
    """
    page.goto("about:blank")
    page.goto(url + address)
    shown = "#found-told" if "search" in address else "#documents tr"
    expect(page.locator(shown).first).to_be_visible()


def test_without_a_mouse(page: Page) -> None:
    """
    The keyboard alone leads from the start to two passages side by side, and the focus is always visible.
    """

    def tab_to(name: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            at = page.evaluate(
                """() => {
                    const at = document.activeElement, seen = getComputedStyle(at);
                    const around = at.closest(".segments label")?.querySelector("span") ?? at;
                    const { outlineStyle, outlineWidth } = getComputedStyle(around);
                    return [at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent,
                            outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 || at.matches(".unseen")];
                }"""
            )
            assert at[1], f"nothing shows that the keyboard is at {at[0]!r}"
            if at[0].strip().startswith(name):
                return
        pytest.fail(f"the keyboard does not come to {name}")

    tab_to("Skip to the content")
    tab_to("Search")
    page.keyboard.press("Enter")
    expect(page.locator("#search-title")).to_be_focused()
    tab_to("Words or a query")
    page.keyboard.type("FINGERPRINT:lease_50_95")
    page.keyboard.press("Enter")
    expect(page.locator("#found-told")).to_contain_text("documents")
    tab_to("of both together")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="of the source")).to_be_checked()
    page.wait_for_url("**metric=a_in_b")
    tab_to("Compare with renewal.txt")
    page.keyboard.press("Enter")
    expect(page.locator("#name-b")).to_have_text("renewal.txt")
    page.keyboard.press("n")
    expect(page.locator("#step-told")).to_have_text(re.compile(r"^Passage 1 of 4"))
    page.keyboard.press("p")
    expect(page.locator("#step-told")).to_have_text(re.compile(r"^Passage 4 of 4"))


@pytest.mark.parametrize(("number", "view"), list(enumerate(VIEWS)))
def test_everybody_can_use_it(page: Page, url: str, shots: Path, axe: str | None, number: int, view: str) -> None:
    """
    In every view, controls have names, references have targets, heading levels have no gaps, there is one main part,
    and axe-core finds no violation; in light and dark, on a desktop and on phones.

    Contrast of every text to its background is at least 4.5 to 1 (WCAG 2.1, 1.4.3), no view is wider than the screen,
    and no touch target is smaller than 24 pixels (WCAG 2.2, 2.5.8).
    """
    look_at(page, url, view)
    assert page.evaluate(PROBLEMS) == []
    name = re.sub(r"\W+", "-", view)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == [], scheme
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 3 * 128) == (scheme == "dark")
        if scheme in sample(SCHEMES, 2, number):
            require_usable(page, axe)
        shoot(page, shots / f"{scheme}{name}.png")
    for width, height in PHONES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        small = page.locator("button:visible, select:visible, nav a:visible").evaluate_all(
            "all => all.filter((each) => each.getBoundingClientRect().height < 24).map((each) => each.outerHTML)"
        )
        assert small == []
        shoot(page, shots / f"phone-{width}{name}.png")
    require_usable(page, axe)


def test_a_store_without_texts(tab: Page, tmp_path: Path) -> None:
    """
    In a store without texts, the page finds the sources of a pasted text; each view that needs texts of documents says
    in its live region that the store has none.
    """
    with open_store(tmp_path / "store", no_text=True) as store:
        store.index(documents())
        text = next(document.text for document in documents() if document.id == "minutes")
        with listening(create_app(store)) as address, visited(tab, address) as page:
            for view in (
                "document?id=lease",
                "sources?id=lease",
                "verify?id=lease",
                "search?q=rent",
                "compare?a=lease&b=minutes",
            ):
                page.goto("about:blank")
                page.goto(f"{address}/#{view}")
                expect(page.get_by_role("alert").filter(has_text="keeps no texts", visible=True)).to_have_count(1)
                assert page.evaluate(PROBLEMS) == []
            page.goto(f"{address}/#duplicates?threshold=60")
            find_duplicates(page)
            expect(page.locator("#clusters-error")).to_contain_text("the store keeps no texts")
            page.get_by_role("navigation").get_by_role("link", name="Documents").click()
            page.get_by_role("textbox", name="Your text").fill(text)
            page.get_by_role("button", name="Find its sources").click()
            expect(page.get_by_role("main")).to_contain_text("the store keeps no texts: up to 12 words can be missing")
            expect(page.get_by_role("heading", name="of your text is in")).to_be_visible()


def test_past_the_links(page: Page) -> None:
    """
    The link that skips the navigation keeps the address, so that a reload shows the same view.
    """
    ask(page, "rent")
    expect(page.locator("#found-told")).to_contain_text("documents")
    page.wait_for_url("**#search?q=rent")
    before = page.url
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert page.url == before


@pytest.mark.parametrize("view", VIEWS)
def test_the_tree_of_a_screen_reader(page: Page, url: str, view: str) -> None:
    """
    In the accessibility tree every table, every region, every control and every list of results has a name.
    """
    look_at(page, url, view)
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    visible = [node for node in nodes if not node["ignored"]]
    named = {"table", "region", "button", "link", "textbox", "searchbox", "combobox", "slider", "checkbox", "dialog"}
    unnamed = [
        node["role"]["value"] for node in visible if node["role"]["value"] in named and not node["name"]["value"]
    ]
    assert unnamed == []
    lists = page.locator("ol:visible:has(> li)").evaluate_all(
        """all => all.map((list) => list.ariaLabel
            ?? document.getElementById(list.getAttribute("aria-labelledby"))?.textContent)"""
    )
    assert all(lists)
