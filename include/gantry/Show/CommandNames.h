// What the commands of a function are called wherever they are told of: bench, explain, reports,
// traces.
#pragma once

#include "gantry/Plan/Plan_generated.h"

#include <string_view>
#include <unordered_map>

namespace gantry::show {

class CommandNames {
public:
  /// Borrows from the plan.
  CommandNames(const plan::fb::Plan &plan, const plan::fb::Function &function);

  /// A launch has the name of the model's node with most work in it; a copy that of its value.
  std::string_view of(const plan::fb::Command &command) const;

private:
  std::unordered_map<const plan::fb::Command *, std::string_view> launches;
};

} // namespace gantry::show
