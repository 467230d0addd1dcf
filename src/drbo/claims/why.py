"""Why an edge points the way it does: the data, the knowledge, an assumption of the score, or nothing at all."""

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.constraints import Constraints
from drbo.graph.dag import dag_to_cpdag, meek_closure, v_structures

#: Edges whose two directions score the same.
TIE = "tie"


def mpdag(
    dag: Bools,  # (d, d) obeys the constraints
    constraints: Constraints,
    cpdag: Bools | None = None,  # of the DAG, where it is known already
) -> Bools:
    """Return the equivalence class of a DAG under knowledge: an edge is undirected where both directions are left.

    The CPDAG, with edges directed where the knowledge rules one direction out, closed under Meek's rules (Meek 1995).
    Limits on the number of parents are not used.

    Examples
    --------
    >>> from drbo.constraints import Constraints
    >>> from drbo.knowledge import Knowledge
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> mpdag(chain, Constraints.of(Knowledge(roots=["a"]), "abc")).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    cpdag = dag_to_cpdag(dag) if cpdag is None else cpdag
    first, second = np.nonzero(cpdag)
    lost = cpdag[second, first] & ~constraints.allowed[first, second] & ~np.asarray(dag, dtype=bool)[first, second]
    if not lost.any():
        return cpdag
    graph = cpdag.copy()
    graph[first[lost], second[lost]] = False  # an undirected edge loses a direction that is not allowed
    return meek_closure(graph)


def reasons(
    dag: Bools,
    constraints: Constraints,
    *,
    score_equivalent: bool,
    assumption: str,
    reversed_margin: Floats | None = None,
    classes: tuple[Bools, Bools] | None = None,
) -> dict[tuple[int, int], str]:
    """Return for each edge of a DAG, in words, what fixes its direction.

    Parameters
    ----------
    score_equivalent : the score ties Markov-equivalent DAGs.
    assumption : what else the score takes from the data, in words.
    reversed_margin : (d, d) what the score loses when an edge is turned round; 0: a tie.
    classes : the CPDAG and the :func:`mpdag` of the DAG, where they are known already.
    """
    names = constraints.names
    cpdag, known = classes or (dag_to_cpdag(dag), mpdag(dag, constraints))
    partners: dict[tuple[int, int], list[str]] = {}
    for a, child, b in v_structures(dag):
        partners.setdefault((a, child), []).append(names[b])
        partners.setdefault((b, child), []).append(names[a])
    found = {}
    for a, b in np.argwhere(dag).tolist():
        if constraints.past[a] and not constraints.required[a, b]:
            why = "time"
        elif constraints.required[a, b]:
            why = "knowledge: required"
        elif (a, b) in partners:
            why = f"v-structure with {', '.join(partners[a, b])}"
        elif not cpdag[b, a]:
            why = "Meek rule"
        elif not constraints.allowed[b, a]:
            why = f"knowledge: {names[b]} -> {names[a]} is ruled out"
        elif not known[b, a]:
            why = "Meek rule after knowledge"
        elif score_equivalent or (reversed_margin is not None and reversed_margin[a, b] == 0):
            why = TIE
        else:
            why = f"assumption: {assumption}"
        found[a, b] = why
    return found
