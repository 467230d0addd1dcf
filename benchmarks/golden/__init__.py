"""All that users see of many small runs, recorded as text and numbers, so that two versions of drbo can be compared.

python -m benchmarks golden --record /tmp/before        # all cases, with the package in src
python -m benchmarks golden --compare /tmp/before       # again, and every difference; exits with 1 if there is one
python -m benchmarks golden --base HEAD~3               # compares with an earlier commit
"""
