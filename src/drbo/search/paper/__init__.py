"""Algorithm 1 of Duong, Gupta & Nguyen (2025): trust region, low-rank space and dropout networks."""
