"""The first page of a report that was told its outcome."""

import pandas as pd

from drbo import Design, DrBO, Settings
from drbo.result.report import outcome


def test_the_page_opens_with_the_outcome(rng, tmp_path, monkeypatch):
    x = rng.normal(size=(300, 3))
    x[:, 2] += x[:, 0]
    frame = pd.DataFrame(x, columns=["a", "b", "<y>"])
    options = {"score": "bic-nv", "random_state": 0, "settings": Settings(claims=False)}
    result = DrBO(**options, design=Design(outcome="<y>")).fit(frame).result_
    page = outcome.outcome_page(result)
    assert page.title == "<y>"
    assert [row.name for row in page.unclear] == ["a"]
    assert any("No sign of an effect on <y>: b" in text for text in page.rest)
    html = result.report(tmp_path / "report.html").read_text()
    assert "What may cause &lt;y&gt;" in html
    assert outcome.focus_of(result, result.names) is None  # a small graph opens whole
    monkeypatch.setattr(outcome, "MOST_EDGES", 0)
    assert outcome.focus_of(result, result.names) == 2
    plain = DrBO(**options).fit(frame).result_
    assert (outcome.outcome_page(plain), outcome.focus_of(plain, plain.names)) == (None, None)
    assert "What may cause" not in plain.report(tmp_path / "r.html").read_text()
