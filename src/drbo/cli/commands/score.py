"""``drbo score``: computes the score of a given graph on data, and shows what it is made of."""

from pathlib import Path
from typing import Any

import click

from drbo.cli.messages import say, show
from drbo.cli.options import FILE, json_option, score_choice, score_options
from drbo.cli.output import show_json
from drbo.cli.table_options import data_options, group_option, read_checked
from drbo.result.words.plain_text import table


@click.command(short_help="Compute the score of a given graph.")
@click.argument("data", type=FILE)
@click.argument("graph", type=FILE)
@score_options
@group_option
@data_options
@json_option
def score(data: Path, graph: Path, as_json: bool, **options: Any) -> None:
    """Print the score of the DAG in GRAPH on the table in DATA, with the contribution of each node.

    GRAPH is any input that 'drbo compare' reads: a result folder, an edge list, an adjacency matrix, JSON, NPZ or NPY.
    """
    from drbo.graph.dag import check_dag
    from drbo.result.files.export import read_graph
    from drbo.scores.registry import build_score

    checked, notes = read_checked(data, options)
    for note in notes:
        say(f"note: {note}")
    adjacency, names = read_graph(graph, names=checked.names)
    dag = check_dag(adjacency, names)
    name, chosen, *_ = score_choice(checked, options["score"], options["score_option"])
    made = build_score(name, checked, chosen)
    content = _parts(made, dag, chosen)
    if as_json:
        show_json(content)
    else:
        show(_text(content))


def _parts(made: Any, dag: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the score of the DAG and what each node adds to it."""
    import numpy as np

    from drbo.scores.families import Families
    from drbo.search.evaluation.evaluator import Evaluator
    from drbo.settings import Settings

    evaluated = Evaluator(made, Settings()).evaluate(dag[None])
    local, price = evaluated.local[0], made.family_price(Families.from_dags(dag[None]))
    additive = made.level_of(local) is None
    shares = made.share(local, price).tolist() if additive else [None] * len(dag)
    nodes = [
        {
            "node": made.names[j],
            "parents": [made.names[i] for i in np.flatnonzero(dag[:, j])],
            "local": float(local[j]),
            "price": float(price[j]),
            "share": shares[j],
        }
        for j in range(len(dag))
    ]
    return {
        "score_name": made.name,
        "score_options": options,
        "score": float(evaluated.scores[0]),
        "n_edges": int(dag.sum()),
        "nodes": nodes,
    }


def _text(content: dict[str, Any]) -> str:
    additive = content["nodes"][0]["share"] is not None
    header = ["node", "parents", "local", "penalty", *["share"] * additive]
    rows = [
        [node["node"], ", ".join(node["parents"]) or "-", f"{node['local']:.6f}", f"{0.0 - node['price']:.4f}"]
        + ([f"{node['share']:.4f}"] if additive else [])
        for node in content["nodes"]
    ]
    settings = "".join(f", {name} {value}" for name, value in content["score_options"].items())
    total = "the shares add up to the score" if additive else "the score is not a sum over nodes"
    return "\n".join(
        [
            f"{content['score_name']} score {content['score']:.6f}{settings}, {content['n_edges']} edges",
            "",
            table(header, rows, align="llrrr"[: len(header)]),
            "",
            f"local: the local score of a node given its parents (for a linear BIC: -ln MSE); {total}.",
        ]
    )
