#include "VirtualClock.h"

#include "gantry/Plan/PlanTopology.h"

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::deviceOf;
using plan::each;

VirtualClock::VirtualClock(const fb::Plan &plan, const fb::Function &function)
    : plan(plan), function(function), costs(CostModel::of(plan::topologyOf(plan))) {}

double VirtualClock::duration(const fb::Command &command) const {
  uint64_t operandBytes = 0;
  for (const fb::BufferRef *buffer : each(command.buffers()))
    operandBytes += buffer->size();
  switch (command.opcode()) {
  case fb::Opcode::launch:
    // Every byte of the operands once is the least that an unknown kernel moves.
    return costs.seconds(command.device(),
                         {command.flops(), command.bytes() ? command.bytes() : operandBytes});
  case fb::Opcode::copy: {
    auto [from, to] = resource(command);
    return costs.copySeconds(from, to, plan::bytesCopied(command));
  }
  case fb::Opcode::fill:
    return costs.seconds(command.device(), {0, operandBytes});
  default:
    return 0;
  }
}

VirtualClock::Resource VirtualClock::resource(const fb::Command &command) const {
  if (command.opcode() != fb::Opcode::copy)
    return {command.device(), command.device()};
  return {deviceOf(plan, function, *command.buffers()->Get(0)),
          deviceOf(plan, function, *command.buffers()->Get(1))};
}

} // namespace gantry::runtime
