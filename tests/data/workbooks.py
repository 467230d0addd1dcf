"""Small Excel workbooks, written by hand: shared strings, numbers, and dates by their style."""

import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def write_xlsx(path: Path, sheets: dict[str, list[list[Any]]], **parts: str) -> None:
    """Write sheets of rows; None is an empty cell. ``parts`` replace parts of the archive, by the name of the file."""
    texts: list[str] = []
    pages = {f"sheet{k + 1}.xml": _sheet(rows, texts) for k, rows in enumerate(sheets.values())}
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
    names = "".join(
        f'<sheet name="{escape(name)}" sheetId="{k + 1}" r:id="rId{k + 1}"/>' for k, name in enumerate(sheets)
    )
    links = "".join(
        f'<Relationship Id="rId{k + 1}" Type="{RELATIONS}/worksheet" Target="worksheets/{page}"/>'
        for k, page in enumerate(pages)
    )
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    content = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="{kind}.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{links}'
        f'<Relationship Id="rId99" Type="{RELATIONS}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{shared}</sst>',
        **{f"xl/worksheets/{name}": page for name, page in pages.items()},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            short = name.rpartition("/")[2].removesuffix(".xml")
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + parts.get(short, text))


def _sheet(rows: list[list[Any]], texts: list[str]) -> str:
    lines = []
    for i, row in enumerate(rows, 1):
        cells = []
        for j, cell in enumerate(row):
            place = f"{chr(65 + j)}{i}"
            if isinstance(cell, str):
                if cell not in texts:
                    texts.append(cell)
                cells.append(f'<c r="{place}" t="s"><v>{texts.index(cell)}</v></c>')
            elif isinstance(cell, bool):
                cells.append(f'<c r="{place}" t="b"><v>{int(cell)}</v></c>')
            elif cell is not None:
                cells.append(f'<c r="{place}"><v>{cell}</v></c>')
        lines.append(f'<row r="{i}">{"".join(cells)}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
