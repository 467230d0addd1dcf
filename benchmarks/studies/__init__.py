"""Questions that are not a grid of methods and data sets: each module measures one and yields rows."""

#: Modules of this folder, and what they ask.
STUDIES = {
    "bootstrap": "cost of a bootstrap, warm against cold starts, and frequencies against the truth",
    "core_speed": "searches by the compiled core against an earlier version of drbo, in turn",
    "directions": "how many directions are supported, on which ground, and how many of them are right",
    "efficiency": "how few local scores a search needs, and what each of its parts is worth",
    "exact": "the optimum proved up to 20 columns and beyond, and the search against it",
    "expensive": "Gaussian-process data with 20 to 50 nodes, score gp: local scores with and without a surrogate",
    "false_edges": "independent columns: false edges of every score, and the choice of the penalty",
    "gaussian_networks": "Gaussian networks with real coefficients: the default penalty beside FLOP and BOSS",
    "gp_check": "the paper's GP score against its fingerprints and scikit-learn",
    "gp_speed": "seconds for a batch of GP families against scikit-learn",
    "judge": "how often true, learned and wrong graphs pass the tests on held-out rows",
    "knowledge": "every scored graph obeys the knowledge, contradictions are refused first, tiers save evaluations",
    "missing": "what each policy for missing values costs in edges",
    "mixed": "tables with numbers and categories from the command line",
    "orders": "the order search beside FLOP and BOSS (standardised) or DAGMA, GOLEM and EqVar (raw) on the same data",
    "pages": "size of reports and seconds to open them in Chromium; the pictures of docs/report.md",
    "prune_null": "how often the pruners keep a parent that has no effect",
    "reliability": "edge posteriors against the truth, in simulation",
    "solution": "linear and nonlinear data: seconds to a given SHD",
    "speed": "iteration times beside the bare matrix product, their growth, and learning curves of the fast rules",
    "unique": "different DAGs among random vectors, by the rank of the search space",
    "workers": "what other processes gain for an expensive score, and what an executor costs a cheap one",
}
