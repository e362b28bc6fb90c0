"""Findings of `check`, printed and as JSON."""

from __future__ import annotations

from whorl.engine.check_findings import Finding, Severity, sort_findings


def test_printed_findings() -> None:
    """
    A printed finding has its level and message, and below them the remedy, if any.
    """
    assert str(Finding(Severity.OK, "fields", "all there")) == "     ok  all there"
    finding = Finding(Severity.ERROR, "red", "shards are gone", "look for them")
    assert str(finding) == "  error  shards are gone\n         → look for them"
    assert finding.as_json() == {
        "level": "error",
        "code": "red",
        "message": "shards are gone",
        "remedy": "look for them",
    }


def test_errors_come_first() -> None:
    """
    Errors come first and notes last; findings of one level keep their order.
    """
    findings = [Finding(level, str(at), "") for at, level in enumerate([*Severity, *Severity])]
    shown = [(finding.level.value, finding.code) for finding in sort_findings(findings)]
    assert shown == [
        *(("error", code) for code in "37"), *(("ok", code) for code in "04"),
        *(("warning", code) for code in "26"), *(("note", code) for code in "15"),
    ]  # fmt: skip
