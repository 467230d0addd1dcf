"""All claims, in the order in which they are made."""

from drbo.claims.checks.alternatives import BestClasses, EdgeMargins, Posterior
from drbo.claims.checks.arms import RandomisedArms
from drbo.claims.checks.collider_check import ColliderCheck
from drbo.claims.checks.experiment_check import Mechanisms
from drbo.claims.checks.formula_check import Formulas
from drbo.claims.checks.hidden_check import HiddenCauses
from drbo.claims.checks.hidden_driver import HiddenDrivers
from drbo.claims.checks.hidden_tests import HiddenTests
from drbo.claims.checks.margin_check import MarginCheck
from drbo.claims.checks.noise_check import NoiseClaim
from drbo.claims.checks.plausibility import Plausibility
from drbo.claims.checks.proof import ProofClaim
from drbo.claims.checks.row_audit import RowAudit
from drbo.claims.checks.second_opinion import SecondOpinion
from drbo.claims.checks.stability import Stability
from drbo.claims.checks.starts import Starts
from drbo.claims.checks.steadiness import Steadiness
from drbo.claims.claim import Claim
from drbo.claims.experiments import Unfollowed

CLAIMS: tuple[Claim, ...] = (
    ProofClaim(),
    EdgeMargins(),
    BestClasses(),
    RowAudit(),
    RandomisedArms(),
    Plausibility(),
    Unfollowed(),
    Formulas(),
    ColliderCheck(),
    HiddenCauses(),
    HiddenTests(),
    HiddenDrivers(),
    Steadiness(),
    NoiseClaim(),
    Mechanisms(),
    MarginCheck(),
    Starts(),
    SecondOpinion(),
    Stability(),
    Posterior(),
)
