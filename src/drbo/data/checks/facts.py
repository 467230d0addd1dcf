"""The records of an audit that a result stores."""

from dataclasses import dataclass

#: The topic of the finding that neighbouring rows depend on each other.
SERIAL_TOPIC = "serial"
#: With fewer rows no test has power: a graph of them is a guess, and that is said first.
FEWEST_ROWS = 20
FEWEST = "only {} rows, which are too few to find a graph: take every link and every arrow as a guess"


@dataclass(frozen=True)
class Finding:
    """One sentence about the table; ``serious`` where the arrows depend on it."""

    topic: str
    text: str
    serious: bool


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """One column: range and histogram of numbers, or levels and their counts."""

    name: str
    kind: str  # "numeric" or "categorical"
    distinct: int
    counts: tuple[int, ...]  # of a histogram with bins of equal width, or of the levels
    levels: tuple[str, ...] = ()  # the first few
    mean: float | None = None  # None for levels
    sd: float | None = None
    min: float | None = None
    max: float | None = None

    @property
    def is_numeric(self) -> bool:
        """The column has a mean and a range; it has levels otherwise."""
        return None not in (self.mean, self.sd, self.min, self.max)


@dataclass(frozen=True)
class Audit:
    """What :func:`drbo.data.checks.audit.audit` found."""

    columns: tuple[ColumnFacts, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def is_serial(self) -> bool:
        """Whether neighbouring rows depend on each other, so that the class supports no arrow."""
        return any(finding.topic == SERIAL_TOPIC for finding in self.findings)
