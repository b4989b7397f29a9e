// Arguments of a kernel as they are typed, and the buffers behind them.
#pragma once

#include "gantry/Formats/Array.h"
#include "gantry/PTX/Machine.h"

#include <optional>
#include <string>
#include <vector>

namespace gantry::ptx::tool {

struct Argument {
  std::string text;
  std::optional<arrays::Array> buffer;
  std::vector<uint8_t> before; ///< the buffer's bytes before the run
};

/// Makes the buffers and registers them as "arg0", … Gives the bytes of the parameters. Errors name
/// the argument.
Expected<std::vector<std::byte>> makeArguments(const KernelInfo &kernel,
                                               const std::vector<std::string> &texts,
                                               Memory &memory, std::vector<Argument> &arguments);

} // namespace gantry::ptx::tool
