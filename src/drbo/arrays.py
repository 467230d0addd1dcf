"""The types of arrays, named once."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]
Masks = npt.NDArray[np.uint64]
