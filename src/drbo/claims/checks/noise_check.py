"""The noise check: do the residuals tell the direction of an arrow?

If i causes j, what i and the other causes leave of j is independent of i. Regressed in the wrong direction, the
residuals usually depend on the regressor (Hoyer et al. 2009, "Nonlinear causal discovery with additive noise models").
Linear relations with Gaussian noise fit in both directions, so nothing is claimed about them.

The module is long because the rules and their levels stand together.
"""

from collections.abc import Iterable
from math import exp, log10, tanh
from typing import Any, NamedTuple

import numpy as np

from drbo.arrays import Bools
from drbo.claims.claim import Context, ResidualClaim, Ruling
from drbo.claims.denial import Denial
from drbo.claims.record import CheckedEdge, CheckedNoise, NoiseCheck, Verdict
from drbo.deadline import current
from drbo.independence.rank_hsic import Independence
from drbo.independence.residual_tests import MIN_ROWS, Regression, ResidualTests, TableTests
from drbo.independence.residuals import NoiseModel
from drbo.machine.threads import one_blas_thread

Family = tuple[int, tuple[int, ...]]

#: A direction fits if all of its p-values are above this.
FITS: dict[CheckedNoise, float] = {"additive": 0.05, "location-scale": 0.1, "ranks": 0.1}
#: A direction is rejected if its p-value is below this, and below the second number divided by the tested arrows.
REJECTS: dict[CheckedNoise, float] = {"additive": 0.01, "location-scale": 0.001, "ranks": 0.02}
ALL_ARROWS_LEVEL = 0.1
#: The p-value of the rejected direction is at most this share of the other one's.
MAX_RATIO: dict[CheckedNoise, float] = {"additive": 0.03, "location-scale": 0.03, "ranks": 0.1}
#: A direction is not rejected if the family that it implies has a p-value above this.
FITS_CLEARLY: dict[CheckedNoise, float] = {"additive": 0.5, "location-scale": 0.2, "ranks": 0.2}
#: The noise models of which the first that fits at least one direction decides.
IN_TURN: tuple[NoiseModel, ...] = ("additive", "location-scale")
#: The rejected direction also fails after every column is replaced by its normal scores. With few rows that test has
#: little power: its level is the first number divided by the rows, within the other two.
VETO_ROWS, VETO_LEVELS = 50.0, (0.05, 0.2)
#: It also fails, below this p-value, if the spread of the noise may depend on the causes; unless a straight line fits
#: the preferred direction, with residuals that are normal with at most the second p-value.
SCALE_VETO, SHAPE_LEVEL = 0.02, 0.001
#: An effect whose residuals tell its cause is not normal. That test gains power with the rows, too: its level is the
#: first number divided by the rows, within the other two.
NORMAL_ROWS, NORMAL_LEVELS = 20.0, (0.01, 0.1)
#: Residuals of an effect that depend on those of any other column, at this corrected level, suggest a hidden cause.
NOISE_LEVEL = 0.01
#: Where rows depend on their neighbours, a row must be worth at least so much of an independent one for the test of an
#: arrow: what makes neighbours alike given the cause may be a hidden cause.
LEAST_SHARE = 1 / 3
#: And what the cause leaves of the effect does not depend on the cause in the rows beside it, at this corrected level.
BESIDE_LEVEL = 0.001
#: Arrows are not checked if both ends have more causes than this together: such regressions take too long and too many
#: rows.
MAX_CAUSES = 8
#: A family of a nonlinear score passes its residual check above this p-value.
FAMILY_LEVEL = 0.05
#: Residuals of fewer rows lean to a direction if they reject the other one below this p-value; between normal scores of
#: ranks, where few rows have little power, below this share of the p-value of the direction.
LEANS, LEANS_RANKS = 0.05, 0.3
#: Probabilities below this are not shown.
SHOWN_PROBABILITY = 0.7
#: Smallest p-value that is distinguished from 0.
TINY = 1e-300


class _Evidence(NamedTuple):
    """The tests of both directions of an arrow under one noise model; the arrow itself comes first."""

    noise: CheckedNoise
    fits: tuple[float, float]  # smallest p-value of all tests of the direction
    pairs: tuple[Independence, Independence]  # the tests between the two ends


class NoiseChecks:
    """The noise checks of the arrows of one graph.

    For an arrow i -> j among m tested arrows, let Z be the other parents of both. Regressions are additive splines of
    the columns as they were measured, whatever the score. The direction *fits* if the residuals of j given its parents
    are independent of each of them, and the residuals of j given Z and i are independent of those of i given Z. It is
    *rejected* if the latter test has p < 0.01 and p < 0.1 / m. The verdict is ``forward`` if

    1. the arrow fits (p > 0.05) and its reverse is rejected, with at most 0.03 times the p-value, and the residuals of
       i given its parents and j are not clearly independent of j (p < 0.5);
    2. the reverse also fails (p < 0.05; with n < 1,000 rows p < 50 / n, at most 0.2) after every column is replaced by
       the normal scores of its ranks. A distorted scale, as in (x + noise)^3, can turn the noise check around, and the
       ranks undo the distortion. Where a straight line fits the preferred direction (p > 0.05), the scale is the right
       one, because a distortion would bend the line;
    3. the reverse also fails (p < 0.02) if the spread of its noise may depend on the causes: error in a measured cause,
       or a bounded effect, would otherwise turn the check around. Straight lines whose residuals are clearly not
       normal (p < 0.001) need no such test, because sums of errors are closer to normal;
    4. what Z leaves of j is not normal (p < 20 / n, between 0.01 and 0.1). A sum of independent parts is normal
       only if each part is (Cramer 1936), and normal parts fit both directions. A normal column that seems to be an
       effect is therefore rather the cause of a bounded effect, or was measured with an error;
    5. the residuals of j are independent of the residuals of all other columns (p > 0.01, corrected for their number),
       because a hidden cause of j would show there;
    6. two classes of rows do not explain both columns better (:func:`~drbo.independence.latent_classes.classes_gain`);
    7. where rows depend on their neighbours, what i leaves of j hardly does: a row is worth at least a third of an
       independent one for the test of i and j (:func:`~drbo.independence.rank_hsic.share_of_rows`). Nor does it depend
       on i in the row before or after (p > 0.001), as it would if i acted later, or something hidden on both.

    ``reverse`` is the mirror image. If both directions are rejected, the residuals are divided by a scale that depends
    on the causes, and the same tests are made; a direction then fits with p > 0.1, is rejected with p < 0.001, and is
    not rejected if it has p > 0.2 in its family. If that tells no direction either, while not both of them fit, and
    ranks reject additive noise in one, the tests are made between the normal scores of ranks, where no distortion of a
    scale matters. A direction is then rejected with p < 0.02 and at most 0.1 times the p-value of the other one. Rules
    2 and 3 are about scales and do not apply there.

    Categorical columns, those with fewer than 8 distinct values, and those that pile up at an end of their range are
    not tested as ends of an arrow, but may be other parents. Arrows whose ends have more than 8 causes are not tested.
    At most 3,000 rows are used, drawn with the seed, and tests count them as at most 1,000
    (:func:`~drbo.independence.rank_hsic.independence`). All verdicts assume that no cause is hidden.

    Parameters
    ----------
    tests : tests of the table that the graph was learned from.
    dag : (d, d) the graph.
    regression : of the score, by which families are tested.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> rng = np.random.default_rng(1)
    >>> dose = rng.uniform(-1, 1, size=500)
    >>> response = dose + rng.uniform(-1, 1, size=500)
    >>> table = Statistics.from_array(np.column_stack([dose, response]), ["dose", "response"])
    >>> checks = NoiseChecks(TableTests(table), np.array([[False, True], [False, False]]))
    >>> check = checks.check(0, 1)
    >>> check.verdict, check.probability > 0.9
    ('forward', True)
    """

    def __init__(self, tests: TableTests, dag: Bools, regression: Regression = "splines") -> None:
        self._shared, self._n_rows, self._testable = tests, len(tests.values), tests.testable
        self._parents = [tuple(np.flatnonzero(column).tolist()) for column in dag.T]
        self._tests, self._ranked, self._of_score = tests.by("splines"), tests.by("ranks"), tests.by(regression)
        self._lines = tests.by("linear")
        n_tested = int((dag & self._testable[:, None] & self._testable).sum())
        self._normal = float(np.clip(NORMAL_ROWS / max(1, self._n_rows), *NORMAL_LEVELS))
        self._veto = float(np.clip(VETO_ROWS / max(1, self._n_rows), *VETO_LEVELS))
        self._rejects = {noise: min(level, ALL_ARROWS_LEVEL / max(1, n_tested)) for noise, level in REJECTS.items()}

    def untested(self, i: int, j: int) -> str | None:
        """Return why an arrow cannot be tested; None if it can."""
        if self._n_rows < MIN_ROWS:
            return f"The noise check needs {MIN_ROWS} complete rows, got {self._n_rows}."
        for end in (i, j):
            if not self._testable[end]:
                return f"The noise check does not apply: '{self._shared.names[end]}' {self._shared.untestable(end)}."
        if len(self.given(i, j)) >= MAX_CAUSES:
            return f"The noise check is left out for arrows whose ends have more than {MAX_CAUSES} causes."
        return None

    def check(self, i: int, j: int) -> NoiseCheck | None:
        """Check the arrow i -> j; None if it cannot be tested."""
        if self.untested(i, j) is not None:
            return None
        for noise in IN_TURN:
            found = self._evidence(i, j, noise)
            if max(found.fits) >= self._rejects[noise]:
                break
        verdict = self._verdict(i, j, found)
        if verdict in ("undecided", "neither") and min(found.fits) <= FITS["additive"] and self._is_uneven(i, j):
            ranked = self._evidence(i, j, "ranks")
            told = self._verdict(i, j, ranked)
            found, verdict = (ranked, told) if told in ("forward", "reverse") else (found, verdict)
        return NoiseCheck(
            verdict=verdict,
            noise=found.noise,
            p_value_forward=found.fits[0],
            p_value_reverse=found.fits[1],
            p_value_family=self._of_score.family(j, self._parents[j]).p_value,
            dependence_forward=found.pairs[0].dependence,
            dependence_reverse=found.pairs[1].dependence,
            probability=self._probability(i, j, found),
        )

    def leans(self, i: int, j: int, noise: CheckedNoise) -> bool:
        """Tell whether residuals lean to the arrow i -> j: it fits, and its reverse does not.

        This is less than a verdict, for which half of the rows seldom has the power.
        """
        if self.untested(i, j) is not None:
            return False
        fits, reverse = self._evidence(i, j, noise).fits
        return fits > FITS[noise] and reverse < (LEANS_RANKS * fits if noise == "ranks" else LEANS)

    def _is_uneven(self, i: int, j: int) -> bool:
        """Tell whether additive noise between normal scores of ranks is rejected in a direction."""
        given = self.given(i, j)
        return min(self._ranked.pair(*ends, given).p_value for ends in ((i, j), (j, i))) < REJECTS["ranks"]

    def _model(self, noise: CheckedNoise) -> tuple[ResidualTests, NoiseModel]:
        """Return the tests of a noise model, and how noise depends on the causes in them."""
        return (self._ranked, "location-scale") if noise == "ranks" else (self._tests, noise)

    def _evidence(self, i: int, j: int, noise: CheckedNoise) -> _Evidence:
        given, (tests, model) = self.given(i, j), self._model(noise)
        pairs = tests.pair(i, j, given, model), tests.pair(j, i, given, model)
        fits = [pair.p_value for pair in pairs]
        if self._may_tell(fits[0], fits[1], noise):  # else neither direction is preferred, whatever the families say
            for side, family in enumerate(self._families(i, j)):
                if fits[side] >= self._rejects[noise]:  # else the direction is rejected, whatever its family says
                    fits[side] = min(fits[side], tests.family(*family, model).p_value)
        return _Evidence(noise, (fits[0], fits[1]), pairs)

    def _may_tell(self, forward: float, reverse: float, noise: CheckedNoise) -> bool:
        """Tell whether tests between both ends may lead to a verdict or a probability that is shown."""
        low, high = sorted((forward, reverse))
        return low < self._rejects[noise] or direction_probability(high, low) >= SHOWN_PROBABILITY

    def given(self, i: int, j: int) -> tuple[int, ...]:
        """Return the other parents of both ends of an arrow."""
        return tuple(sorted({*self._parents[i], *self._parents[j]} - {i, j}))

    def _families(self, i: int, j: int) -> tuple[Family, Family]:
        """Return the effect's family if the arrow is as drawn, and if it is reversed."""
        return (j, self._parents[j]), (i, (*self._parents[i], j))

    def _verdict(self, i: int, j: int, found: _Evidence) -> Verdict:
        if max(found.fits) < self._rejects[found.noise]:
            return "neither"
        if self._prefers(0, i, j, found):
            return "forward"
        return "reverse" if self._prefers(1, i, j, found) else "undecided"

    def _prefers(self, side: int, i: int, j: int, found: _Evidence) -> bool:
        """Tell whether the tests prefer the arrow (side 0) or its reverse (side 1) to the other direction."""
        fits, fails = found.fits[side], found.pairs[1 - side].p_value
        if fits <= FITS[found.noise] or fails >= min(self._rejects[found.noise], fits * MAX_RATIO[found.noise]):
            return False
        if self._may_mislead(1 - side, i, j, found.noise):
            return False
        families, (tests, model) = self._families(i, j), self._model(found.noise)
        if tests.parent(*families[1 - side], (i, j)[1 - side], model).p_value >= FITS_CLEARLY[found.noise]:
            return False
        node, parents = families[side]
        others = [
            (k, self._parents[k])
            for k in np.flatnonzero(self._testable).tolist()
            if k not in (node, (i, j)[side]) and len(self._parents[k]) <= MAX_CAUSES
        ]
        if tests.noises(node, parents, others, model).p_value <= NOISE_LEVEL:
            return False
        ends = (i, j) if side == 0 else (j, i)
        return all(one.classes_gain(*ends, self.given(i, j)) <= 0.0 for one in {self._tests, tests})

    def _may_mislead(self, side: int, i: int, j: int, noise: CheckedNoise) -> bool:
        """Tell whether a scale, spread, order of rows or normal column may have led to the rejection of a direction."""
        if self._may_be_serial(1 - side, i, j) or self._lines.normality((i, j)[side], self.given(i, j)) >= self._normal:
            return True
        return noise != "ranks" and (self._may_be_distorted(side, i, j, noise) or self._may_be_scaled(side, i, j))

    def _may_be_serial(self, side: int, i: int, j: int) -> bool:
        """Tell whether neighbouring rows show that a direction may come from a hidden or an earlier cause."""
        cause, effect = (i, j) if side == 0 else (j, i)
        ends = cause, effect, self.given(i, j)
        return self._tests.share_of_rows(*ends) < LEAST_SHARE or self._tests.beside(*ends).p_value < BESIDE_LEVEL

    def _may_be_distorted(self, side: int, i: int, j: int, noise: NoiseModel) -> bool:
        """Tell whether a rejected direction fits after every column is replaced by its normal scores."""
        cause, effect = (i, j) if side == 0 else (j, i)
        if noise == "additive" and self._is_line(effect, cause):
            return False
        return self._ranked.pair(cause, effect, self.given(i, j), noise).p_value >= self._veto

    def _may_be_scaled(self, side: int, i: int, j: int) -> bool:
        """Tell whether a rejected direction fits if the spread of the noise may depend on the causes."""
        cause, effect = (i, j) if side == 0 else (j, i)
        given = self.given(i, j)
        if self._is_line(effect, cause) and self._lines.normality(cause, (*given, effect)) < SHAPE_LEVEL:
            return False
        return self._tests.pair(cause, effect, given, "location-scale").p_value >= SCALE_VETO

    def _is_line(self, cause: int, effect: int) -> bool:
        """Tell whether a straight line fits a direction."""
        return self._lines.pair(cause, effect, self.given(cause, effect)).p_value > FITS["additive"]

    def _probability(self, i: int, j: int, found: _Evidence) -> float | None:
        """Return the probability of the arrow given the edge, if one of both directions has enough of it to show."""
        side = int(found.fits[1] > found.fits[0])
        likely = direction_probability(found.fits[side], found.pairs[1 - side].p_value)
        if likely < SHOWN_PROBABILITY or self._may_mislead(1 - side, i, j, found.noise):
            return None
        return likely if side == 0 else 1.0 - likely


class NoiseClaim(ResidualClaim):
    """The claim that residuals tell the direction of an arrow, or at least do not speak against it."""

    name, title = "noise check", "the noise check"
    denies = ("experiment", "class")

    def run(self, context: Context) -> Ruling:
        regression, checks = context.score.regression, context.answer.checks
        if checks is None:
            checks = noise_checks(context.inquiry.tests, context.answer.dag, regression, context.inquiry.asked)
        return Ruling(checks, against_class(checks, families=regression is not None))


def against_class(checks: Iterable[CheckedEdge], *, families: bool) -> tuple[Denial, ...]:
    """Return what noise checks say against arrows: the reverse fits or is likely, or a family fails.

    A reverse that fits or is likely speaks against what experiments show, too: an arrow is not supported in a row whose
    ``p_forward`` prefers the reverse.

    ``families``: an arrow also needs a family that passes its residual check (p > 0.05). Nonlinear scores need that:
    their class arrows are often artefacts of a noise model that does not fit.
    """
    found = []
    for one in checks:
        verdict, likely = (None, 1.0) if one.check is None else (one.check.verdict, one.check.probability or 1.0)
        reverse = verdict == "reverse" or likely < SHOWN_PROBABILITY
        grounds = NoiseClaim.denies if reverse else ResidualClaim.denies
        told: dict[str, Any] = {"cause": one.cause, "effect": one.effect, "grounds": grounds}
        fails = families and (one.check is None or one.check.p_value_family <= FAMILY_LEVEL)
        if one.left_out:
            words = "The class has this direction, but the residuals were not checked."
            found.append(Denial(**told, claim=NoiseClaim.name, sentence=words))
        elif verdict == "reverse" or (fails and verdict == "neither"):
            found.append(Denial(**told, claim=NoiseClaim.name, sentence="The score prefers this direction."))
        elif fails and not reverse:
            words = f"The class has this direction, but '{one.effect}' did not pass its residual check."
            found.append(Denial(**told, claim=NoiseClaim.name, sentence=words))
        elif reverse:
            words = "The residuals make the opposite direction more likely."
            found.append(Denial(**told, claim=NoiseClaim.name, sentence=words))
    return tuple(found)


def noise_checks(
    tests: TableTests,
    dag: Bools,
    regression: Regression | None = "splines",  # None: that of a linear score
    asked: Bools | None = None,  # (d, d) of these pairs; None: all
) -> tuple[CheckedEdge, ...]:
    """Check the edges of a graph, in the order of the rows and columns of ``dag``; see :class:`NoiseChecks`.

    Raises an OutOfTimeError if the run has to end before all edges are checked.

    Examples
    --------
    >>> from drbo.data.statistics.statistics import Statistics
    >>> rng = np.random.default_rng(1)
    >>> dose = rng.uniform(-1, 1, size=500)
    >>> response = dose + rng.uniform(-1, 1, size=500)
    >>> table = Statistics.from_array(np.column_stack([dose, response]), ["dose", "response"])
    >>> noise_checks(TableTests(table), np.array([[False, True], [False, False]]))[0].check.verdict
    'forward'
    """
    edges, names = np.argwhere(dag if asked is None else dag & asked).tolist(), tests.names
    found, deadline = [], current()
    if not edges:
        return ()
    deadline.check()
    with one_blas_thread():
        checks = NoiseChecks(tests, dag, regression or "splines")
        tests.by("splines").prepare((i, j, checks.given(i, j)) for i, j in edges if checks.untested(i, j) is None)
        for i, j in edges:
            deadline.check()
            check, why = checks.check(i, j), checks.untested(i, j) or ""
            left_out = bool(why) and bool(tests.testable[[i, j]].all())
            found.append(CheckedEdge(cause=names[i], effect=names[j], check=check, untested=why, left_out=left_out))
    return tuple(found)


def direction_probability(p_fits: float, p_fails: float) -> float:
    """Return the probability of a direction, given the edge, from its p-value and that of the other direction.

    ``1 / (1 + exp(-3.3 tanh(g / 2) w))``, where g = log10(p_fits / p_fails) and w falls from 1 at p_fits = 0.3 to 0 at
    p_fits = 0.003: where neither direction fits, the ratio says nothing. Calibrated on simulated graphs of ten kinds
    and on the odd Tuebingen pairs.
    """
    gap = log10(max(p_fits, TINY)) - log10(max(p_fails, TINY))
    weight = (log10(max(p_fits, TINY)) + 2.5) / 2.0
    return 1.0 / (1.0 + exp(-3.3 * tanh(max(gap, 0.0) / 2) * min(max(weight, 0.0), 1.0)))
