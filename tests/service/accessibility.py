"""Accessibility checks of a page: the rules of axe-core, and own checks of names, headings, contrast and landmarks."""

from __future__ import annotations

from tests.service.alfresco_clients import node_environment

#: axe-core needs no other package.
AXE_CORE = ("axe-core@4.14.1",)
#: Returns the violations that axe-core reports, one line each; runs all rules except the experimental ones.
COMPLAINTS = """async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target}: ${node.failureSummary}`));
}"""


def axe_core() -> str:
    """Return the script of axe-core, which defines `axe`.

    Raises:
        NoClientError: Node is missing, or the registry does not answer.
    """
    _, folder = node_environment("axe-core", AXE_CORE)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


#: Returns the errors in names, references, headings and landmarks, one line each.
PROBLEMS = """() => {
    const told = [], all = (selector) => [...document.querySelectorAll(selector)];
    const say = (what, at) => told.push(`${what}: ${at.outerHTML.slice(0, 120)}`);
    const isSeen = (at) => at.checkVisibility({ visibilityProperty: true }) && !at.closest("[aria-hidden=true]");
    const textOf = (ids) => ids.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
    const nameOf = (at) => [
        at.getAttribute("aria-label"), textOf(at.getAttribute("aria-labelledby") ?? ""),
        [...(at.labels ?? [])].map((label) => label.textContent).join(" "),
        at.matches("a, button, summary") ? at.textContent : "",
    ].find((name) => name?.trim());

    for (const at of all("input, select, textarea, button, a[href], summary, [tabindex='0'], [role=region], dialog"))
        if (isSeen(at) && !at.matches("pre") && !nameOf(at)) say("no name", at);
    for (const at of all("img, svg"))
        if (isSeen(at) && !at.hasAttribute("alt")) say("no text instead", at);
    for (const attribute of ["for", "aria-labelledby", "aria-describedby", "aria-controls"])
        for (const at of all(`[${attribute}]`))
            for (const id of at.getAttribute(attribute).split(" "))
                if (!document.getElementById(id)) say(`leads nowhere: ${attribute}`, at);
    const ids = all("[id]").map((at) => at.id);
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) told.push(`an id twice: ${id}`);
    for (const at of all("[tabindex]")) if (at.tabIndex > 0) say("an order of its own", at);
    for (const at of all("ol > *, ul > *")) if (at.tagName !== "LI") say("no item in a list", at);
    for (const at of all("th")) if (isSeen(at) && !at.scope) say("a heading of nothing", at);

    let level = 0;
    for (const at of all("h1, h2, h3, h4").filter(isSeen)) {
        if (Number(at.tagName[1]) > level + 1) say("a heading too deep", at);
        level = Number(at.tagName[1]);
    }
    if (all("h1").filter(isSeen).length !== 1) told.push("not one h1");
    if (all("main").length !== 1 || all("header.top").length !== 1) told.push("landmarks are missing");
    if (!document.documentElement.lang) told.push("no language");
    if (!document.title) told.push("no title");
    if (all("nav [aria-current=page]").length !== 1) told.push("where this is, is not told");
    return told;
}"""

#: Returns the texts with too low a contrast to their background, by the formula of WCAG 2.1; disabled controls are
#: exempt there.
CONTRAST = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    function rgba(colour) {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
        return [red, green, blue, alpha / 255];
    }
    const over = ([r, g, b, a], below) => [r, g, b].map((each, at) => each * a + below[at] * (1 - a));
    function ground(at) {
        const layers = [];
        for (let each = at; each; each = each.parentElement) layers.push(rgba(getComputedStyle(each).backgroundColor));
        return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
    }
    const linear = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const told = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode.textContent.trim(), at = walker.currentNode.parentElement;
        const isExempt = at.closest(".unseen, .skip, .under, :disabled, label:has(:disabled), noscript, option");
        if (!text || isExempt || !at.checkVisibility({ visibilityProperty: true })) continue;
        const behind = ground(at), [brighter, darker] =
            [light(over(rgba(getComputedStyle(at).color), behind)), light(behind)].sort((a, b) => b - a);
        const ratio = (brighter + 0.05) / (darker + 0.05);
        if (ratio < 4.5) told.push(`${ratio.toFixed(2)}: ${text.slice(0, 40)} (${at.tagName} ${at.className})`);
    }
    return told;
}"""
