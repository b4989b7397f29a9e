// What plans whose weights come from the host in each run, and the search that foresees such plans,
// agree on.
#pragma once

#include <cstdint>

namespace gantry {

/// Constants of fewer bytes are not worth a copy in each run.
inline constexpr uint64_t kLeastStreamed = 16 << 10;

/// One part in so many of the room for values may have to be left free, since buffers do not lie
/// without gaps: what is tried, the least first, after none.
inline constexpr uint32_t kRoomLeftFree[] = {64, 32, 16, 8, 4};

} // namespace gantry
