"""What held-out rows say about a graph, as figures and in words."""

from dataclasses import asdict, dataclass
from typing import Any

LEVEL = 0.05  # of the tests, and of the shares that falsify a graph
LEAST = 19  # graphs to compare with: the share of the best among them is 1 / 20
#: Penalties at which the graph is searched again.
PENALTIES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What held-out rows say about a graph; see :func:`drbo.result.judge.judge`.

    Examples
    --------
    >>> import numpy as np
    >>> from drbo.result.judge import judge
    >>> truth = np.triu(np.random.default_rng(0).random((6, 6)) < 0.5, 1)
    >>> x = np.random.default_rng(1).normal(size=(300, 6)) @ np.linalg.inv(np.eye(6) - truth)
    >>> found = judge(truth, x, score="bic-nv")
    >>> found.beats_random, found.informative, found.falsified
    (True, True, False)
    """

    names: tuple[str, ...]
    n_rows: int
    n_edges: int
    score_name: str
    score: float
    empty_score: float
    random_scores: tuple[float, ...]  # of random DAGs with as many edges
    random_share: float  # (1 + those at least as good) / (1 + all)
    test: str
    n_claims: int  # independences that the local Markov property claims
    n_violations: int  # of these, p below the level
    n_discoveries: int  # of these, left by Benjamini & Hochberg
    tested: bool  # False: the time was over before all claims were tested
    worst: tuple[dict[str, Any], ...]  # the claims with the smallest p-values
    n_permutations: int
    permuted_violations: tuple[int, ...]
    markov_share: float  # (1 + permuted graphs with at most as many violations) / (1 + all)
    class_share: float  # permuted graphs in the same equivalence class
    penalties: tuple[dict[str, Any], ...]  # per edge: up to which penalty it is found again
    notes: tuple[str, ...] = ()
    by_pairs: bool = False  # of graphs with hidden causes: the claims are about pairs without an edge

    @property
    def beats_random(self) -> bool:
        """Whether at most 5% of random graphs of the same density score as well; too few graphs tell nothing."""
        return self.random_share <= LEVEL

    @property
    def informative(self) -> bool:
        """Whether permuting the nodes changes what the graph claims, so that the falsification means something."""
        return self.n_permutations >= LEAST and self.class_share <= LEVEL

    @property
    def falsified(self) -> bool:
        """Whether the graph explains the independences no better than with its nodes permuted (Eulig et al. 2023)."""
        return self.informative and self.markov_share > LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        verdicts = {name: getattr(self, name) for name in ("beats_random", "informative", "falsified")}
        return {**asdict(self), **verdicts}

    def summary(self) -> str:
        """Return the judgement in plain words."""
        lines = [
            f"{len(self.names)} variables, {self.n_edges} edges, judged on {self.n_rows} rows with score "
            f"{self.score_name}",
            "",
            *self._score_lines(),
            "",
            *self._markov_lines(),
            "",
            *self._permutation_lines(),
        ]
        if self.penalties:
            lines += [
                "",
                "Penalty path: the largest penalty at which a search on these rows still finds the edge",
                *self._path_lines(),
            ]
        return "\n".join([*lines, *(["", *(f"note: {note}" for note in self.notes)] if self.notes else [])])

    def _score_lines(self) -> list[str]:
        n, best = len(self.random_scores), sum(score >= self.score for score in self.random_scores)
        lines = [
            "Score on these rows, with parameters fitted to them",
            f"  this graph    {self.score:.6g}",
            f"  empty graph   {self.empty_score:.6g}  (this graph: {self.score - self.empty_score:+.6g})",
        ]
        if not n:
            return [*lines, "  random DAGs   none was scored: time ran out"]
        verdict = "better than chance" if self.beats_random else "no better than chance: the edges explain nothing new"
        if n < LEAST:
            verdict = "too few to tell"
        return [
            *lines,
            f"  random DAGs   {max(self.random_scores):.6g} is the best of {n} with {self.n_edges} edges; this "
            f"graph has rank {best + 1} of {n + 1}, p {self.random_share:.3f}: {verdict}",
        ]

    def _markov_lines(self) -> list[str]:
        lines = [f"Local Markov tests ({self.test}): each node against its non-descendants, given its parents"]
        if self.by_pairs:
            lines = [f"Tests ({self.test}): each two columns without an edge, given what separates them in the graph"]
        if not self.tested:
            return [*lines, "  not tested: time ran out"]
        if not self.n_claims:
            return [*lines, "  the graph implies no independence, so these tests cannot contradict it"]
        lines.append(
            f"  {self.n_violations} of {self.n_claims} implied independences have p < {LEVEL:g}; "
            f"{LEVEL * self.n_claims:.1f} are expected by chance; {self.n_discoveries} remain at a false discovery "
            f"rate of {LEVEL:g}"
        )
        return lines + [
            f"  {claim['node']} and {claim['other']} given {', '.join(claim['given']) or 'nothing'}: p {claim['p']:.2g}"
            for claim in self.worst
        ]

    def _permutation_lines(self) -> list[str]:
        lines = [
            "Permuted nodes (Eulig et al. 2023): does the graph explain the data better than with its nodes permuted?"
        ]
        if not self.tested:
            return [*lines, "  not tested: time ran out"]
        if not self.n_claims:
            return [*lines, "  the graph implies no independence under any permutation"]
        if self.n_permutations < LEAST:
            verdict = "too few to tell: time ran out"
        elif not self.informative:
            verdict = "no verdict, because too many permutations give an equivalent graph"
        elif self.falsified:
            verdict = "falsified: permuted graphs explain the independences as well"
        else:
            verdict = "not falsified"
        return [
            *lines,
            f"  {self.n_permutations} permutations; share with no more violations {self.markov_share:.3f}, share in "
            f"the same equivalence class {self.class_share:.3f}: {verdict}",
        ]

    def _path_lines(self) -> list[str]:
        words = []
        for edge in self.penalties:
            last = edge["linked_up_to"]
            direction = edge["directed_up_to"]
            found = "not found again" if last is None else f"{last:g}" + (" or more" if last == PENALTIES[-1] else "")
            arrow = (
                ""
                if last is None
                else (", direction undetermined" if direction is None else f", in this direction {direction:g}")
            )
            words.append(f"  {edge['source']} -> {edge['target']}: {found}{arrow}")
        return words
