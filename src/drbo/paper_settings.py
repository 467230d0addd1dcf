"""The settings of route paper: the hyperparameters of Duong, Gupta & Nguyen (2025)."""

from dataclasses import dataclass
from typing import Literal

from drbo.checked import Checked, setting
from drbo.errors import SettingsError


@dataclass(frozen=True)
class PaperSettings(Checked):
    """Settings of route paper alone; the defaults are those of the paper (Table 4, App. C) and of the authors' program.

    Examples
    --------
    >>> PaperSettings().batch_size
    64
    """

    # Search space (Sec. 4.1)
    space: Literal["low-rank", "full-rank"] = setting(
        "low-rank",
        "low-rank: node embeddings, as in the paper; full-rank: one number per pair of nodes, which can "
        "represent every DAG",
        options=("low-rank", "full-rank"),
    )
    rank: int = setting(8, "dimension of a node's embedding in the low-rank space", low=1, symbol="k")

    # Trust region (Sec. 4.2, App. C.1)
    batch_size: int = setting(64, "number of DAGs evaluated per batch", low=1, symbol="B")
    n_candidates: int = setting(100_000, "number of candidates ranked per iteration", low=1, symbol="C")
    moved_coordinates: float = setting(
        20.0, "average number of coordinates in which a candidate differs from the centre", low=1.0
    )
    region_start: float = setting(1.0, "initial side length of the trust region", low=1e-6, symbol="L")
    region_min: float = setting(0.01, "smallest side length of the trust region", low=1e-9)
    region_max: float = setting(2.0, "largest side length of the trust region", low=1e-6)
    region_successes: int = setting(3, "consecutive successes before the trust region doubles", low=1, symbol="n_succ")
    region_failures: int = setting(5, "consecutive failures before the trust region halves", low=1, symbol="n_fail")
    region: Literal["restart", "clip"] = setting(
        "restart",
        "what becomes of a trust region that shrinks below its smallest length. restart: it starts again at its "
        "largest, as in the authors' program; clip: it stays at the smallest, as in the paper's text",
        options=("restart", "clip"),
    )
    acquisition: Literal["thompson", "ucb"] = setting(
        "thompson", "acquisition function that ranks the candidates", options=("thompson", "ucb"), symbol="AF"
    )
    ucb_beta: float = setting(2.0, "weight of the standard deviation in UCB", low=0.0, symbol="beta")
    n_draws: int = setting(
        16, "number of functions sampled from the networks per iteration, with shared masks or UCB", low=1
    )

    # Networks (Sec. 4.3 to 4.5)
    hidden: int = setting(64, "number of hidden units in the network of a node", low=1, symbol="h")
    dropout: float = setting(0.1, "probability that a hidden unit is dropped", low=0.0, below=1.0, symbol="p")
    learning_rate: float = setting(0.1, "learning rate of Adam", low=1e-9)
    n_grads: int = setting(10, "number of training steps per iteration", low=0, symbol="n_grads")
    n_replay: int = setting(1_024, "number of past DAGs added to each training step", low=0, symbol="n_replay")
    replay: Literal["uniform", "reservoir"] = setting(
        "uniform",
        "uniform: a fresh sample for each step, as in the authors' program; reservoir: one fixed sample, as in "
        "the paper's text",
        options=("uniform", "reservoir"),
    )
    masks: Literal["row", "shared"] = setting(
        "row",
        "row: a fresh dropout mask for every candidate, as in the authors' program; shared: one mask per "
        "sampled function",
        options=("row", "shared"),
    )
    batch_norm: Literal["candidates", "training"] = setting(
        "candidates",
        "batch-norm statistics when sampling. candidates: over all candidates, as in the authors' program; "
        "training: from the last training batch",
        options=("candidates", "training"),
    )
    standardize_targets: bool = setting(
        False, "standardise the local scores of each node before the networks learn them"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.region_min > self.region_max:
            raise SettingsError(
                f"region_min must be at most region_max = {self.region_max}, got {self.region_min}",
                hint="lower region_min or raise region_max",
            )
        if self.masks == "shared" and self.batch_norm == "candidates":
            raise SettingsError(
                "masks='shared' requires batch_norm='training'", hint="set batch_norm='training', or masks='row'"
            )
