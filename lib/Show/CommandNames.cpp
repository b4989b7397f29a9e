#include "gantry/Show/CommandNames.h"

#include "gantry/Show/Explain.h"

namespace gantry::show {

CommandNames::CommandNames(const plan::fb::Plan &plan, const plan::fb::Function &function) {
  const Subject subject(plan, 0, {});
  for (const Launch &launch : subject.launchesOf(function, plan::Ledger::of(plan, function)).all)
    launches[launch.command] = launch.name();
}

std::string_view CommandNames::of(const plan::fb::Command &command) const {
  const auto launch = launches.find(&command);
  return launch != launches.end() ? launch->second : plan::textOf(command.name());
}

} // namespace gantry::show
