import os
from typing import Any, Optional, Tuple, Union

import numpy.typing as npt

_Part = Tuple[npt.NDArray[Any], npt.NDArray[Any]]

def reuters(path: Union[str, "os.PathLike[str]"] = "reuters.npz", num_words: Optional[int] = None, skip_top: int = 0,
            maxlen: Optional[int] = None, test_split: float = 0.2, seed: int = 113, start_char: Optional[int] = 1,
            oov_char: Optional[int] = 2, index_from: int = 3) -> Tuple[_Part, _Part]: ...
