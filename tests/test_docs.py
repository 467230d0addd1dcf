import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BLOCKS = [
    (page.name, number, code)
    for page in sorted(DOCS.glob("*.md"))
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize(("page", "number", "code"), BLOCKS, ids=[f"{page}-{number}" for page, number, _ in BLOCKS])
def test_the_examples_of_the_docs_run(page, number, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, f"{page}, example {number}", "exec"), {"__name__": "__main__"})
