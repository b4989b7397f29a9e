// Running a plan's devices on other devices than those it was made for (spec D9).
#pragma once

#include "gantry/Device/DeviceName.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::plan::fb {
struct Plan;
} // namespace gantry::plan::fb

namespace gantry::runtime {

/// A device of plans, and the device of the machine that runs it.
struct DeviceBinding {
  DeviceName planned;  ///< partial, with type and id
  DeviceName physical; ///< the same

  /// Reads "GPU:0=GPU:3". INVALID_ARGUMENT: not two names, parts without an id, another type.
  static Expected<DeviceBinding> parse(std::string_view text);
};

/// The full name under which each device of the plan runs. INVALID_ARGUMENT when a binding is of no
/// device of the plan, when two devices of the plan would be one, or when it moves the host.
Expected<std::vector<std::string>> bindDevices(const plan::fb::Plan &plan,
                                               std::span<const DeviceBinding> bindings);

} // namespace gantry::runtime
