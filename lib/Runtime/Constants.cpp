// Constants of a plan: those of its file, each once in the process however many plans have it, and
// what its function for loading computes from them.
#include "gantry/Runtime/LoadedPlan.h"

#include "ConstantPool.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Executor.h"
#include "gantry/Runtime/Program.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;
using plan::each;

/// Constants from this size on have memory of their own, which goes with their last user; smaller
/// ones that a plan brings share an allocation.
static constexpr uint64_t alone = 256 << 10;

// ---- what the file has ----

/// Those of each arena by offset, as the pool knows them; what is empty before what begins at the
/// same place. A constant takes what is up to the next one, so that all of them take what the plan
/// says.
void LoadedPlan::findConstants() {
  constants.resize(countOf(metadata().arenas()));
  const auto file = std::make_shared<const plan::PlanFile>(planFile);
  for (const fb::Constant *constant : each(metadata().constants()))
    if (constant->made() == plan::nothingSaid &&
        planDevices[metadata().arenas()->Get(constant->arena())->device()])
      constants[constant->arena()].push_back({constant, constant->size(), nullptr, nullptr});
  ConstantPool::Taken taken;
  for (std::vector<OwnConstant> &arena : constants) {
    std::ranges::sort(arena, {}, [](const OwnConstant &own) {
      return std::pair(own.source->offset(), own.source->size());
    });
    for (size_t i = 0; i + 1 < arena.size(); ++i)
      arena[i].room = arena[i + 1].source->offset() - arena[i].source->offset();
    for (OwnConstant &each : arena) {
      Device *device = planDevices[metadata().arenas()->Get(each.source->arena())->device()];
      each.pooled = owner->constantPool().get(device, file, *each.source, taken);
      taken.insert(each.pooled.get());
    }
  }
}

Status LoadedPlan::loadConstants() {
  // Bytes that are copied are read now, so that there is nothing to put off.
  const bool allInPlace = std::all_of(planDevices.begin(), planDevices.end(), [](Device *device) {
    return !device || device->runsInline();
  });
  if (owner->verify() == Verify::lazy && allInPlace && !metadata().load())
    unverified = !planFile.isVerified();
  else
    GANTRY_RETURN_IF_ERROR(verify(plan::BytesOf::constants));
  std::lock_guard lock(owner->constantPool().placing);
  for (std::vector<OwnConstant> &arena : constants)
    GANTRY_RETURN_IF_ERROR(placeConstants(arena));
  return {};
}

/// Of an arena: in the file where the host reads it, which is what makes a plan of many GiB load
/// without reading it, else in memory.
Status LoadedPlan::placeConstants(std::vector<OwnConstant> &arena) {
  std::vector<OwnConstant *> small;
  for (OwnConstant &own : arena) {
    PooledConstant &pooled = *own.pooled;
    if (pooled.data || pooled.size == 0)
      continue;
    countLoadCopy(*own.source);
    if (pooled.device->runsInline()) {
      pooled.data = pooled.readable.data();
      pooled.mapped = own.room;
      pooled.device->countMapped(static_cast<int64_t>(own.room));
    } else if (own.room < alone) {
      small.push_back(&own);
    } else {
      GANTRY_RETURN_IF_ERROR(copyConstants({&own}));
    }
  }
  GANTRY_RETURN_IF_ERROR(copyConstants(small));
  for (OwnConstant &own : arena)
    own.data = own.pooled->data;
  return {};
}

/// Into memory of their device that is given back with the last of them.
Status LoadedPlan::copyConstants(const std::vector<OwnConstant *> &some) {
  if (some.empty())
    return {};
  Device *device = some.front()->pooled->device;
  std::vector<uint64_t> offsets;
  uint64_t bytes = 0;
  for (const OwnConstant *own : some) {
    offsets.push_back(alignTo(bytes, bufferAlignment));
    bytes = offsets.back() + own->room;
  }
  GANTRY_RETURN_IF_ERROR(device->checkFits(bytes, "the constants"));
  Expected<Allocation> memory = device->allocate(bytes, "constants");
  if (!memory)
    return memory.status();
  auto kept = std::make_shared<Allocation>(memory.take());
  for (size_t i = 0; i < some.size(); ++i)
    GANTRY_RETURN_IF_ERROR(device->upload(kept->data() + offsets[i],
                                          planFile.bytesOf(*some[i]->source).data(),
                                          some[i]->source->size()));
  for (size_t i = 0; i < some.size(); ++i) { // all of them are there
    some[i]->pooled->data = kept->data() + offsets[i];
    some[i]->pooled->keeper = kept;
  }
  return {};
}

/// A constant that the graph wants on another device than the arena's: to put it there is a copy,
/// as the plan's ledger says. One that was there already costs none.
void LoadedPlan::countLoadCopy(const fb::Constant &constant) const {
  const auto &devices = *metadata().devices();
  const uint32_t to = metadata().arenas()->Get(constant.arena())->device();
  const uint32_t from = constant.home();
  if (from == plan::nothingSaid || from == to)
    return;
  const fb::CopyKind kind =
      plan::copyKindBetween(from, devices.Get(from)->type(), to, devices.Get(to)->type());
  planDevices[kind == fb::CopyKind::deviceToHost ? from : to]->countLoad(kind, constant.size());
}

const uint8_t *LoadedPlan::constantAt(uint32_t arena, uint64_t offset, uint64_t size) const {
  const std::vector<OwnConstant> &own = constants[arena];
  auto after = std::upper_bound(
      own.begin(), own.end(), offset,
      [](uint64_t wanted, const OwnConstant &each) { return wanted < each.source->offset(); });
  if (after != own.begin()) {
    const OwnConstant &each = *std::prev(after);
    const uint64_t within = offset - each.source->offset();
    if (each.data && rangeFits(within, size, each.source->size()))
      return each.data + within;
  }
  if (arena >= computed.size() || offset < computed[arena].begin ||
      !rangeFits(offset - computed[arena].begin, size, computed[arena].memory.size()))
    return nullptr;
  return computed[arena].memory.data() + (offset - computed[arena].begin);
}

// ---- what is computed at load ----

Status LoadedPlan::take(uint32_t arena, uint64_t size, const char *what, Allocation &memory) {
  Device *device = planDevices[metadata().arenas()->Get(arena)->device()];
  GANTRY_RETURN_IF_ERROR(device->checkFits(size, what));
  Expected<Allocation> taken = device->allocate(size, what);
  if (!taken)
    return taken.status();
  memory = taken.take();
  return {};
}

/// Its transient memory is given back at the end, before there are sessions.
Status LoadedPlan::runAtLoad(const FunctionInfo &function) {
  std::vector<Allocation> memory(countOf(metadata().arenas()));
  Program::ArenaStarts starts;
  for (uint32_t i = 0; i < memory.size(); ++i) {
    if (uint64_t size = metadata().arenas()->Get(i)->load_size())
      GANTRY_RETURN_IF_ERROR(take(i, size, "what runs at load", memory[i]));
    starts.push_back(memory[i].data());
  }
  Expected<std::unique_ptr<Program>> program = Program::build(*this, function, starts, nullptr);
  if (!program)
    return program.status();
  for (const fb::Constant *constant : each(metadata().constants()))
    if (constant->made() != plan::nothingSaid) {
      const Computed &place = computed[constant->arena()];
      (*program)->setOutput(constant->made(),
                            place.memory.data() + (constant->offset() - place.begin));
    }
  return createExecutor(**program, owner->threadPool())->run(CommandOrder::virtualTime());
}

} // namespace gantry::runtime
