"""Tests of the report in a browser: no errors, no network requests, working filters; nightly also accessibility."""

from itertools import pairwise

import pytest

WIDE = {"width": 1280, "height": 900}

# The contrast (WCAG 2.1) between the text color and the nearest background, for each element with text.
CONTRASTS = """() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parts(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    throw new Error("no background");
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest("script, style") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const [one, other] = [light(parts(colour)), light(behind(element))].sort((a, b) => b - a);
    found.push([(one + 0.05) / (other + 0.05), element.outerHTML.slice(0, 90)]);
  }
  return found;
}"""


@pytest.fixture
def open_report(browser, report):
    """Return a function that opens the report, and a record of errors and requests."""
    contexts = []

    def open_page(viewport=WIDE, **options):
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.heard = []
        page.asked = []
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("dialog", lambda dialog: (page.heard.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(report.as_uri())
        page.locator(".appendix summary h2", has_text="Examples").click()
        return page

    yield open_page
    for context in contexts:
        context.close()


def test_report_opens_without_errors_or_requests(open_report, report):
    page = open_report()
    page.wait_for_timeout(200)
    assert page.heard == []
    assert page.asked == [report.as_uri()]
    assert page.locator("main details.set").count() == 4
    assert page.locator("figure svg").count() >= 8
    assert report.stat().st_size < 5_000_000
    # Sentences and names are escaped.
    assert page.locator("img, b[onclick], main script").count() == 0
    assert "<b onclick=alert(1)>model</b>" in page.locator("h1").inner_text()
    page.fill("#f-text", "onerror=")
    assert page.locator(".example:visible").count() > 0
    assert page.heard == []


def test_filters_combine(open_report):
    page = open_report()
    everything = page.locator(".example").count()
    page.select_option("#f-outcome", "wrong")
    [label] = page.locator("#f-set option", has_text="Swapped").all_inner_texts()
    page.select_option("#f-set", label)
    visible = page.locator(".example:visible")
    assert 0 < visible.count() < everything
    said = visible.evaluate_all("(found) => found.map((each) => [each.dataset.set, each.dataset.outcome])")
    assert all(each == [label, "wrong"] for each in said)
    page.fill("#f-text", "zzzz no such words")
    assert visible.count() == 0
    assert page.locator("#count").inner_text() == f"0 of {everything} examples"
    page.click("button[type=reset]")
    expect = pytest.importorskip("playwright.sync_api").expect  # waits without evaluating code, which the page forbids
    expect(page.locator("#count")).to_contain_text(f"{everything} of {everything} examples")


@pytest.mark.nightly
def test_more_examples_are_shown_on_request_and_all_without_scripts(open_report):
    page = open_report()
    first, everything = page.locator(".example:visible").count(), page.locator(".example").count()
    page.click("#more")
    assert page.locator(".example:visible").count() == min(2 * first, everything) > first
    page = open_report(java_script_enabled=False)
    assert page.locator(".example:visible").count() == everything
    assert page.locator("#filters:visible").count() == 0


@pytest.mark.nightly
@pytest.mark.parametrize("width", [320, 390, 800, 1280])
def test_page_needs_no_horizontal_scrolling(open_report, width):
    page = open_report({"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth + 1)"
        ".map((each) => each.ariaLabel)"
    )
    assert page.locator(".scroll").count() > 10
    assert beyond == [] or width == 320, "on most screens, all columns of tables are visible"


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_sufficient_contrast(open_report, scheme):
    page = open_report(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 300
    assert min(found)[0] >= 4.5, min(found)
    behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, behind[4:-1].split(","))) < 60) == (scheme == "dark")


@pytest.mark.nightly
def test_printed_page_is_light_without_controls(open_report):
    page = open_report(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav:visible, #filters:visible, #more:visible").count() == 0
    assert page.locator("details.set:not([open])").count() == 4
    assert page.pdf()[:4] == b"%PDF"
    assert page.locator("details.set:not([open])").count() == 0, "printing opens the sections"


@pytest.mark.nightly
def test_collapsed_report_is_short_and_link_opens_section(browser, report):
    page = browser.new_page()
    page.goto(report.as_uri())
    # With four sets. The header, the chart and the other headings take about one screen.
    for viewport, screens in (({"width": 390, "height": 844}, 4.5), (WIDE, 3.5)):
        page.set_viewport_size(viewport)
        assert page.evaluate("document.documentElement.scrollHeight") <= screens * viewport["height"]
    assert page.locator(".set figure:visible").count() == 0
    page.locator("nav a", has_text="Swapped").click()
    assert page.locator(".set figure:visible").count() > 0
    page.close()


@pytest.mark.nightly
def test_filters_and_tables_are_reachable_by_keyboard(open_report):
    page = open_report()
    page.focus("#f-set")
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.name || document.activeElement.type"))
    assert reached == ["model", "kind", "gold", "outcome", "text", "reset"]
    assert page.locator(".scroll:not([tabindex='0'])").count() == 0


@pytest.mark.nightly
def test_screen_reader_labels_are_present(open_report):
    page = open_report()
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(set(ids)) == len(ids)
    named = page.evaluate(
        "[...document.querySelectorAll('[aria-labelledby]')].map((each) => each.getAttribute('aria-labelledby'))"
    )
    assert set(named) <= set(ids)
    targets = page.evaluate("[...document.querySelectorAll('a[href^=\"#\"]')].map((each) => each.hash.slice(1))")
    assert targets
    assert set(targets) <= set(ids)
    figures = page.locator("figure").count()
    assert page.locator("table").count() > figures > 0
    for part in ("details table", "[role=img][aria-label]"):
        assert page.locator(f"figure:has({part})").count() == page.locator(f"figure {part}").count() == figures
    assert page.evaluate("[...document.querySelectorAll('table')].every((each) => each.caption?.textContent.trim())")
    assert page.locator("th:not([scope])").count() == 0
    assert page.evaluate("[...document.querySelectorAll('select, input')].every((each) => each.labels.length === 1)")
