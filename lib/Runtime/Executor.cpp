#include "gantry/Runtime/Executor.h"

#include "Executors.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/CommandRecorder.h"
#include "gantry/Runtime/Driver.h"
#include "gantry/Runtime/Program.h"

#include <charconv>

namespace gantry::runtime {

Expected<CommandOrder> CommandOrder::parse(std::string_view text) {
  if (text == "virtual")
    return virtualTime();
  constexpr std::string_view prefix = "random:";
  uint64_t seed = 0;
  if (text.starts_with(prefix)) {
    const char *end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data() + prefix.size(), end, seed);
    if (error == std::errc() && at == end)
      return random(seed);
  }
  return Status::invalidArgument("unknown order of simulated commands '" + std::string(text) +
                                 "'; the orders are virtual and random:SEED");
}

double CommandRecorder::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void CommandRecorder::add(const Step &step, double start) {
  const plan::fb::Command &command = program.commandOf(step);
  events.push_back(
      {&command, program.plan().device(command.device()), command.queue(), start, now()});
}

std::unique_ptr<Executor> createExecutor(Program &program, ThreadPool &pool) {
  for (Device *device : program.plan().devices())
    if (device)
      if (std::unique_ptr<Executor> own = device->driver().createExecutor(program))
        return own;
  return program.runsInline() ? createInlineExecutor(program, pool)
                              : createQueuedExecutor(program, pool);
}

} // namespace gantry::runtime
