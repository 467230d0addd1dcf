"""What pytest must leave out: a kernel for the GPU needs Triton, which comes with torch for CUDA only."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("triton") else [f"src/drbo/search/paper/gpu_{name}.py" for name in ("draws", "train")]
