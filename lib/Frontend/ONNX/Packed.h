// What the ops on blocks of few bits share.
#pragma once

#include "Handlers.h"

namespace gantry::onnx {

/// Each entry of `v` along `axis` `block` times, of which the first `size` are kept.
Value repeatBlocks(NodeContext &n, Value v, int64_t axis, int64_t block, int64_t size);

} // namespace gantry::onnx
