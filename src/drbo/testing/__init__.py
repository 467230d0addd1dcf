"""Conformance tests for what others add: run them on your own score, search or claim before you use it."""

from drbo.testing.claims import check_claim as check_claim
from drbo.testing.scores import check_score as check_score
from drbo.testing.searches import check_search as check_search
