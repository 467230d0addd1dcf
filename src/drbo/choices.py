"""Resolves every "auto": which score, penalty and pruner fit a table, with the reasons in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, Self

from drbo.choice.auto import choose_score, experiment_score
from drbo.choice.noise_model import finer_splines
from drbo.claims.answer.kci import MAX_ROWS
from drbo.claims.answer.prune import BY_MOMENTS, PRUNERS, PrunerName
from drbo.data.checks.prepare import Preparation
from drbo.data.statistics.statistics import Statistics
from drbo.design import DataPolicy, Design
from drbo.errors import SettingsError
from drbo.knowledge import Knowledge
from drbo.scores.base import EBIC_GAMMA, Score
from drbo.scores.named import score_label
from drbo.scores.penalties.categories import chance_gamma
from drbo.scores.penalties.chance import BY_CHANCE
from drbo.scores.registry import SCORES, score_class
from drbo.settings import Exact, Preset, Settings

#: A pruner by name, or the one that fits the score.
PruneChoice = Literal["auto"] | PrunerName

#: What the paper's presets mean beside the search settings: score, its options, pruner (its hyperparameter table).
PAPER_CHOICES: dict[str, tuple[str, dict[str, Any], str]] = {
    "paper": ("bic-ev", {}, "threshold"),
    "paper-gp": ("gp-nv", {"alpha": 1.0}, "none"),
    "paper-sachs": ("gp-nv", {"alpha": 1e-8, "median_scale": True, "standardize": True}, "kci"),
}
#: Pruners that test every edge, so penalty 1 is enough: see ``python -m benchmarks false_edges --part choose``.
EDGE_TESTS = ("f-test", "odds", "cam", "cam-sequential", "kci")
#: With more rows than these, a parent must explain a share of what the other parents leave unexplained.
MANY_ROWS = 100_000
SLIGHT = "any misfit is significant, so the score leaves out"
OF_WINDOWS = "penalty ebic: it accounts for the number of possible edges, from the past too"
OF_CURVES = "so many parameters per parent explain more of this series than they cost"
#: The score that hidden causes are searched for with.
HIDDEN_SCORE = "bic-nv"


class ScoreChoice(NamedTuple):
    """A score by name, as a class or ready made, with its options and why it was chosen."""

    name: Any
    options: dict[str, Any]
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What was asked for; its methods say what that means for a table.

    The fields are parameters of :class:`drbo.DrBO`.
    """

    score: Any = "auto"
    score_options: dict[str, Any] | None = None
    preset: Preset = "default"
    prune: PruneChoice = "auto"
    max_evals: int | None = None
    time_limit: float | None = None
    settings: Settings | None = None
    exact: bool | Exact | None = None
    knowledge: Knowledge | None = None
    design: Design = field(default_factory=Design)
    policy: DataPolicy = field(default_factory=DataPolicy)
    hidden: bool = False

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the choices among the parameters of an estimator."""
        given = {each.name: parameters[each.name] for each in fields(cls) if each.name in parameters}
        if isinstance(given.get("knowledge"), Mapping):
            given["knowledge"] = Knowledge.from_mapping(given["knowledge"])
        for name, kind in (("design", Design), ("policy", DataPolicy)):
            given[name] = kind() if given.get(name) is None else given[name]
            if not isinstance(given[name], kind):
                raise SettingsError(
                    f"{name} must be a {kind.__name__} object, got {given[name]!r:.80}",
                    hint=f"create one with {kind.__name__}(...)",
                )
        return cls(**given)

    def check(self) -> None:
        """Refuse what does not depend on the data."""
        if self.prune != "auto" and self.prune not in PRUNERS:
            raise SettingsError(
                f"prune must be one of auto, {', '.join(PRUNERS)}, got {self.prune!r}", hint="the default is 'auto'"
            )
        if not isinstance(self.knowledge, Knowledge | None):
            raise SettingsError(
                f"knowledge must be a Knowledge object, got {type(self.knowledge).__name__}",
                hint="create one with Knowledge(...), or give its statements as a dict",
            )
        if "targets" in (self.score_options or {}):
            raise SettingsError(
                "targets is no longer an option of a score",
                hint="use Design(experiment='COLUMN', targets={'EXPERIMENT': {'COLUMN': 'hard'}})",
            )
        if self.design.experiment is not None and self.prune not in ("auto", "none"):
            raise SettingsError(
                f"prune '{self.prune}' tests edges on pooled rows, but these come from several experiments",
                hint="use prune='auto' or 'none'",
            )
        if self.hidden:
            self._check_hidden()

    def _check_hidden(self) -> None:
        """Refuse what cannot be combined with hidden causes."""
        for what, given, hint in (
            ("a preset of the paper", self.preset in PAPER_CHOICES, "omit preset"),
            (f"prune={self.prune!r}", self.prune not in ("auto", "none"), "omit prune"),
            ("experiments", self.design.experiment is not None, "omit experiment"),
            ("rows that have a past", self.design.has_time, "omit hidden, or the design"),
        ):
            if given:
                raise SettingsError(f"hidden causes cannot be combined with {what}", hint=hint)
        if self.score not in ("auto", HIDDEN_SCORE):
            raise SettingsError(
                f"hidden causes need a linear score with unequal variances, got {score_label(self.score)!r}",
                hint="use score='bic-nv' or 'auto'",
            )

    def refuse_imputed(self, what: str) -> None:
        """Refuse other frequencies than those over imputed tables."""
        if self.policy.missing == "impute":
            raise SettingsError(
                f"{what} cannot be combined with missing='impute', which reports edge frequencies itself",
                hint="use missing='em' or 'drop'",
            )

    @property
    def counts_parts(self) -> bool:
        """Whether the score and the pruner can count a row as less than one."""
        if self.preset in PAPER_CHOICES or self.prune not in ("auto", *BY_MOMENTS):
            return False
        kind = score_class(self.score) if isinstance(self.score, str) and self.score != "auto" else self.score
        return isinstance(kind, str) or (
            isinstance(kind, type) and getattr(kind, "row_weights", "none") in ("equal", "any")
        )

    @property
    def preparation(self) -> Preparation:
        """What makes checked statistics of a table."""
        return Preparation(self.design, self.policy, self.counts_parts)

    def merged_settings(self) -> tuple[Settings, list[str]]:
        """Merge preset, settings and keywords; also return, in words, which keywords override a setting."""
        if not isinstance(self.settings, Settings | None):
            raise SettingsError(
                f"settings must be a Settings object, got {type(self.settings).__name__}",
                hint="create one with Settings(...) or Settings.preset(...).with_(...)",
            )
        preset = Settings.preset(self.preset)
        chosen, clashes = preset if self.settings is None else self.settings, []
        for name in ("max_evals", "time_limit"):
            value = getattr(self, name)
            if value is None:
                continue
            given = getattr(self.settings, name, value)
            if given not in (value, getattr(Settings(), name)):
                clashes.append(f"{name}={value} overrides {name}={given} from the settings")
            chosen = chosen.with_(**{name: value})
        if self.exact is not None:
            words = {True: "on", False: "off"}
            chosen = chosen.with_(exact=words[self.exact] if isinstance(self.exact, bool) else self.exact)
        return chosen, clashes

    @property
    def seconds(self) -> float | None:
        """The time limit as it was given, not yet checked."""
        given = getattr(self.settings, "time_limit", None) if self.time_limit is None else self.time_limit
        return given if isinstance(given, int | float) else None

    def of_score(self, table: Statistics) -> ScoreChoice:
        """Return the score, its options and why it was chosen."""
        if self.hidden and (
            texts := [name for name, kind in zip(table.names, table.kinds, strict=True) if kind != "numeric"]
        ):
            raise SettingsError(
                f"hidden causes are searched for among numbers, but '{texts[0]}' is a category",
                hint="drop such columns, encode them as numbers yourself, or fit without hidden causes",
            )
        given, choice = dict(self.score_options or {}), self.score
        reasons = tuple[str, ...]()
        if isinstance(choice, str) and choice == "auto" and self.preset in PAPER_CHOICES:
            choice, options, _ = PAPER_CHOICES[self.preset]
            given = {**options, **given}
            reasons = (f"score {choice}: set by the preset {self.preset!r}",)
        elif isinstance(choice, str) and choice == "auto" and table.from_experiments:
            choice, reasons, _ = experiment_score(table)
        elif isinstance(choice, str) and choice == "auto" and self.hidden:
            choice, reasons = HIDDEN_SCORE, ("score bic-nv: hidden causes are searched for with linear relations",)
        elif isinstance(choice, str) and choice == "auto":
            choice, reasons, _ = choose_score(table)
            if table.lags and choice == "splines" and "df" not in given and (df := finer_splines(table)) is not None:
                given["df"], reasons = df, (*reasons, f"df {df}: {OF_CURVES}")
        if self.preset == "default" and "penalty" not in given and isinstance(choice, str) and choice in SCORES:
            kind = score_class(choice)
            given["penalty"], reason = self.penalty(kind, table)
            if given["penalty"] == "ebic" and "gamma" not in given:
                gamma = chance_gamma(kind, table, given.get("ess", 1.0))
                if gamma is not None and gamma > EBIC_GAMMA:
                    given["gamma"] = gamma
                    reason = f"penalty ebic with gamma {gamma:g}: {BY_CHANCE}"
            reasons = (*reasons, reason)
            if "min_strength" not in given and (least := kind.default_strength) and table.n_counted > MANY_ROWS:
                given["min_strength"] = least
                what = f"edges that explain less than {least:.1%} of the variance that other causes leave unexplained"
                reasons = (*reasons, f"min_strength {least:g}: with over {MANY_ROWS:,} rows {SLIGHT} {what}")
        return ScoreChoice(choice, given, reasons)

    def penalty(self, kind: type[Score], table: Statistics) -> tuple[float | str, str]:
        """Return the penalty that leaves at most half an edge, on average, among independent columns, and why."""
        if table.lags:
            return "ebic", OF_WINDOWS
        return kind.default_penalty(table, self.pruner(kind) in EDGE_TESTS)

    def rationed(self, settings: Settings) -> bool:
        """Tell whether evaluations are to be spent sparingly: someone gave a number."""
        given = settings.max_evals != Settings().max_evals or self.max_evals is not None
        return given or settings.max_local is not None

    def check_pruner(self, table: Statistics) -> None:
        """Refuse, before anything is spent, a kernel test that the table is too long for, or numbers made of codes."""
        wanted = PAPER_CHOICES[self.preset][2] if self.prune == "auto" and self.preset in PAPER_CHOICES else self.prune
        if table.by_moments and wanted not in ("auto", *BY_MOMENTS):
            raise SettingsError(
                f"prune '{wanted}' requires complete rows of equal weight",
                hint=f"use prune='auto', or one of {', '.join(BY_MOMENTS)}",
            )
        if wanted == "kci" and table.n_rows > MAX_ROWS:
            raise SettingsError(
                f"prune 'kci' accepts at most {MAX_ROWS} rows, but the table has {table.n_rows}",
                hint="use prune='cam', or a sample of the rows",
            )
        for name, levels in zip(table.names, table.levels, strict=True):
            if wanted not in ("auto", "none") and levels is not None and len(levels) > 2:
                raise SettingsError(
                    f"column '{name}' is categorical with {len(levels)} levels, but prune '{wanted}' requires numbers",
                    hint="use prune='auto', which does not test the edges of such tables, or 'none'",
                )

    def pruner(self, kind: type[Score]) -> str:
        """Return the name of the pruner for a kind of score."""
        if self.prune != "auto" or self.hidden:
            return "none" if self.hidden else self.prune
        if self.preset in PAPER_CHOICES:
            return PAPER_CHOICES[self.preset][2]
        return kind.default_pruner
