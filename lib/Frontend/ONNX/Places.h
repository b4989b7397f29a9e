// Integers that say where something begins or ends: known ones, or a value and what is added to it,
// as the counter of a loop in x[i : i + 1].
#pragma once

#include "NodeContext.h"

namespace gantry::onnx {

/// `base + offset`; without a base, the number itself.
struct Place {
  Value base = {}; ///< one integer
  int64_t offset = 0;
};

/// The elements of a list of integers; nothing where they cannot be told one by one.
std::optional<llvm::SmallVector<Place>> placesOf(NodeContext &n, Value list);

/// How far `to` lies behind `from`, where that is known.
std::optional<int64_t> distance(const Place &from, const Place &to);

/// Whether `length` elements from `place` on may be taken to lie inside of `size`. Those at the
/// counter of a loop with known steps have to: written step by step, the loop would take what there
/// is.
bool mayBeInside(NodeContext &n, const Place &place, int64_t length, int64_t size);

/// Elements `place`, `place + step`, ... along an axis, `count` of them, all of which are there.
Value takeFrom(NodeContext &n, Value v, int64_t axis, const Place &place, int64_t count,
               int64_t step);

} // namespace gantry::onnx
