// Copies between memory of the host and memory of the host that is pinned: by several threads where
// there is much, since one thread moves less than a link of a GPU does.
#pragma once

#include <cstdint>

namespace gantry::runtime {
class ThreadPool;
} // namespace gantry::runtime

namespace gantry::runtime::cuda {

/// Copies of fewer bytes cost a thread less than waking others does.
inline constexpr uint64_t sharedCopyBytes = uint64_t(1) << 20;

/// `pool`: whose threads help; null for none.
void copyOnHost(ThreadPool *pool, void *to, const void *from, uint64_t bytes);

} // namespace gantry::runtime::cuda
