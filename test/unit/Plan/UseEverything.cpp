// Does with an accepted plan what a runtime does, with every check left out.
#include "SamplePlan.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/KernelVariants.h"
#include "gantry/Plan/Outline.h"
#include "gantry/Plan/Views.h"

namespace gantry::plan::test {

namespace {
/// Stands for the memory of arenas, inputs and outputs: an access must lie inside.
uint64_t sizeOfSpace(const fb::Plan &plan, const fb::Function &function, const fb::BufferRef &ref) {
  switch (ref.space()) {
  case fb::Space::arena:
    return plan.arenas()->Get(ref.index())->size();
  case fb::Space::input:
    return *byteSizeOf(*function.inputs()->Get(ref.index())->type());
  case fb::Space::output:
    return *byteSizeOf(*function.outputs()->Get(ref.index())->type());
  }
  __builtin_trap();
}

uint64_t useBuffer(const fb::Plan &plan, const fb::Function &function, const fb::BufferRef &ref) {
  uint64_t size = sizeOfSpace(plan, function, ref);
  if (ref.offset() + ref.size() < ref.offset() || ref.offset() + ref.size() > size)
    __builtin_trap();
  return size;
}

uint64_t useKernel(const fb::Plan &plan, const fb::Kernel &kernel) {
  uint64_t sum = 0;
  for (const KernelVariant &variant : variantsOf(plan, kernel)) {
    sum += variant.symbol.size() + variant.describe(plan).size();
    if (variant.source == fb::KernelSource::code)
      sum += plan.code()->Get(variant.code)->size();
  }
  return sum;
}

uint64_t useBlock(const fb::Plan &plan, const fb::Function &function, uint32_t index) {
  uint64_t sum = 0;
  for (const fb::Command *command : each(function.blocks()->Get(index)->commands())) {
    sum += plan.devices()->Get(command->device())->name()->size();
    for (const fb::BufferRef *ref : each(command->buffers()))
      sum += useBuffer(plan, function, *ref);
    if (command->opcode() == fb::Opcode::copy)
      for (uint32_t value = 0; value < numCopied(*command); ++value)
        sum += copiedBy(*command, value).name.size() + bytesCopied(*command);
    if (command->opcode() == fb::Opcode::launch)
      sum += useKernel(plan, *plan.kernels()->Get(command->kernel()));
    if (command->condition())
      sum += useBuffer(plan, function, *command->condition());
    for (const fb::BufferRef *ref : each(command->conditions()))
      sum += useBuffer(plan, function, *ref);
    if (isExchange(*command)) {
      const fb::Exchange &exchange = exchangeOf(plan, *command);
      const ExchangeBytes bytes(plan, exchange);
      sum += plan.devices()->Get(membersOf(plan, exchange)[command->rank()])->name()->size() +
             bytes.sent(command->rank()) + bytes.received(command->rank());
    }
    for (uint32_t block : each(command->blocks()))
      sum += useBlock(plan, function, block);
  }
  return sum;
}
} // namespace

uint64_t useEverything(const PlanFile &file) {
  const fb::Plan &plan = file.plan();
  uint64_t sum = bytesLeftOut(plan);
  const bool hasBytes = !isOutline(plan);
  for (const fb::Constant *constant : each(plan.constants()))
    for (uint8_t byte : hasBytes ? file.bytesOf(*constant) : std::span<const uint8_t>())
      sum += byte;
  for (const fb::Code *code : each(plan.code()))
    for (uint8_t byte : hasBytes ? file.bytesOf(*code) : std::span<const uint8_t>())
      sum += byte;
  for (const fb::Function *function : each(plan.functions())) {
    sum += useBlock(plan, *function, 0);
    for (const fb::Value *value : each(function->values()))
      sum += useBuffer(plan, *function, *value->buffer());
    for (const fb::PlacedOp *op : each(function->placed_ops())) {
      sum += plan.devices()->Get(op->device())->name()->size() + op->log_name()->size();
      for (const fb::Operand *operand : each(op->operands()))
        sum += byteSizeOf(*operand->type()).value();
      for (const fb::TensorType *result : each(op->results()))
        sum += byteSizeOf(*result).value();
    }
  }
  // The object API copies all of it, strings included.
  std::unique_ptr<fb::PlanT> copy(plan.UnPack());
  return sum + copy->functions.size();
}

} // namespace gantry::plan::test
