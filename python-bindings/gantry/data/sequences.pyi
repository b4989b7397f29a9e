from typing import Any, Iterable, Literal, Optional

import numpy.typing as npt

def pad_sequences(sequences: Iterable[Any], maxlen: Optional[int] = None, dtype: Any = "int32",
                  padding: Literal["pre", "post"] = "pre", truncating: Literal["pre", "post"] = "pre",
                  value: Any = 0) -> npt.NDArray[Any]: ...
