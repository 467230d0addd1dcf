"""What the model of each score assumes, in sentences for a report; a result keeps those of its score."""

LINEAR = "Effects are linear and additive; the noise is Gaussian."
MODEL = {
    "bic-nv": (LINEAR,),
    "bge": (LINEAR,),
    "bic-ng": (
        "Effects are linear and additive; the noise may have any shape. Arrows rest on the shape of the noise.",
    ),
    "bic-ev": (
        LINEAR,
        "All noise variances are equal, so arrows depend on the units of the columns and change if one is rescaled.",
    ),
    "gp": ("Effects are smooth functions with additive noise. Arrows rest on this model, not on independence alone.",),
    "gp-nv": ("Effects are smooth functions, and the noise has variance 1 in the units of the data.",),
    "gp-ev": ("Effects are smooth functions, and all noise variances are equal, so arrows depend on the units.",),
    "splines": ("Effects are sums of smooth functions with additive noise. Arrows rest on this model.",),
    "splines-ranks": (
        "After every column is replaced by normal scores of its ranks, effects are sums of smooth functions with "
        "additive noise. Arrows rest on this model.",
    ),
    "logistic": ("Variables are binary; effects are additive on the logit scale.",),
}


def words_of(score: str) -> tuple[str, ...]:
    """Return what the model of a score assumes; nothing is known about scores of other people.

    Examples
    --------
    >>> words_of("bge"), words_of("mine")
    (('Effects are linear and additive; the noise is Gaussian.',), ())
    """
    return MODEL.get(score, ())
