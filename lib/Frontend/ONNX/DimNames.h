// Names of open dimensions. Some are computed from others: exporters write "past + steps" where two
// lengths add up.
#pragma once

#include "ImportModel.h"

#include "llvm/ADT/StringSet.h"

namespace gantry::onnx {

/// "x:1": a dimension by its place, which nameless ones are given by.
std::string placeOf(const ValueInfo &input, size_t axis);
/// The name under which --dim gives a dimension: the file's, or its place.
std::string dimKey(const ValueInfo &input, size_t axis);

/// What `text` gives, a sum, difference or product of names and numbers, from 0 on: "past + 2 *
/// steps". Nothing where it is no such, or the size of a name is not known.
std::optional<int64_t>
computeDim(llvm::StringRef text,
           llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> sizeOf);

/// The names in such a text; none where it is a single name or anything else.
llvm::SmallVector<std::string> namesIn(llvm::StringRef text);

/// Which names of a model have to be given.
class DimNames {
public:
  explicit DimNames(const Model &model);

  /// Those to ask for so that a dimension called `key` has a size: the names that it is computed
  /// from and that are not in `given`, if each is some dimension by itself; else its own.
  llvm::SmallVector<std::string> toGive(const std::string &key,
                                        const llvm::StringMap<int64_t> &given) const;

private:
  llvm::StringSet<> alone;
};

} // namespace gantry::onnx
