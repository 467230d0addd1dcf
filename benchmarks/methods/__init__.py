"""Methods behind one interface: other libraries, methods written from their papers, and ours.

Install the libraries with ``pip install -r benchmarks/requirements.txt``, best into an environment made for them. A
library that is missing, fails or takes too long gives an answer that says so.
"""

from benchmarks.methods.base import Answer, Graph, Method, Record, Task
from benchmarks.methods.process import Worker, attempt, timed
from benchmarks.methods.registry import METHODS, library

__all__ = ["METHODS", "Answer", "Graph", "Method", "Record", "Task", "Worker", "attempt", "library", "timed"]
