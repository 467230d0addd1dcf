"""The table of limits: how many columns and rows were fitted, in how many seconds and how much memory."""

from statistics import mean

from benchmarks.reports.speed import markdown
from benchmarks.rows import Row, grouped, read


def table(rows: list[Row]) -> str:
    """Return whole fits by size: linear scores by columns (the rows given) and by rows, proofs, hidden causes, gp."""
    lines: list[list[object]] = []
    for (columns, n), part in sorted(grouped(rows, "columns", "n").items(), key=lambda item: int(item[0][0])):
        found = [mean(float(row[name]) for row in part) for name in ("cpu_seconds", "gib")]
        fit = "`bic-nv`, ended by a time limit" if part[0]["stopped"].startswith("time limit") else "`bic-nv`"
        lines.append([fit, f"{int(columns):,}", f"{int(n):,}", f"{found[0]:.0f}", f"{found[1]:.1f}"])
    for row in sorted(read("big_passes"), key=lambda row: int(row["rows"])):
        if row["method"] == "drbo fit":
            seconds, gib = float(row["cpu_seconds"]), float(row["gib"])
            lines.append(
                ["`bic-nv`, from a file", row["columns"], f"{int(row['rows']):,}", f"{seconds:.0f}", f"{gib:.1f}"]
            )
    proved = [row for row in read("columns_proof") if row["proved"] == "True" and row["columns"] == "20"]
    seconds = max(float(row["cpu_seconds"]) for row in proved)
    lines.append(["`bic-nv`, proved optimal", "20", f"{int(proved[0]['n']):,}", f"{seconds:.1f}", ""])
    for (columns,), part in sorted(grouped(_hidden(), "columns").items(), key=lambda item: int(item[0][0])):
        seconds = mean(float(row["cpu_seconds"]) for row in part)
        lines.append(["`--hidden`", columns, f"{int(part[0]['n']):,}", f"{seconds:.1f}", ""])
    for row in read("gp_fits"):
        lines.append(["`gp`", row["nodes"], f"{int(row['n']):,}", f"{float(row['cpu_seconds']):.0f}", ""])
    return markdown(["fit", "columns", "rows", "CPU seconds", "GiB"], lines)


def _hidden() -> list[Row]:
    return [
        row for row in read("hidden") if row["method"] == "drbo" and row["table"] == "random" and row["n"] == "2000"
    ]
