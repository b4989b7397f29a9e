// NumPy's archives of named arrays, .npz. Apart from ArrayFiles.h because they need zlib, which
// the compiler library does without.
#pragma once

#include "gantry/Formats/ArrayFiles.h"

#include <utility>

namespace gantry::arrays {

/// Reads every array of a NumPy archive (np.savez, np.savez_compressed), names without ".npy".
/// `file` names it in messages. Errors: CORRUPT, UNSUPPORTED, DOES_NOT_FIT.
Expected<std::vector<NamedArray>> parseNpz(ByteSpan bytes, std::string_view file);

/// Writes an uncompressed archive, all or nothing; "-" is standard output.
Status writeNpz(const std::string &path, std::span<const std::pair<std::string, ArrayView>> arrays);

/// Reads the arrays of a file, whose format is told by its content: .npy, .npz, else a TensorProto.
/// An .npy file gives one array without a name. "-" reads standard input.
Expected<std::vector<NamedArray>> readArrays(const std::string &path);

} // namespace gantry::arrays
