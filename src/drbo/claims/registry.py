"""All claims, in the order in which they are made."""

from drbo.claims.claim import Claim
from drbo.claims.collider_check import ColliderCheck
from drbo.claims.experiment_check import Mechanisms
from drbo.claims.experiments import Unfollowed
from drbo.claims.hidden_check import HiddenCauses
from drbo.claims.hidden_tests import HiddenTests
from drbo.claims.noise_check import NoiseClaim
from drbo.claims.row_audit import RowAudit

CLAIMS: tuple[Claim, ...] = (
    RowAudit(),
    Unfollowed(),
    ColliderCheck(),
    HiddenCauses(),
    HiddenTests(),
    NoiseClaim(),
    Mechanisms(),
)
