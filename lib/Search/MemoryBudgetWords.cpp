#include "MemoryBudgetWords.h"

#include "gantry/Analysis/LiveRanges.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Seconds.h"
#include "gantry/Transforms/MemoryRepair/Words.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memorybudget;

/// Calls `add` with what is said of each device; what is empty is not said.
static std::string describeByDevice(ModuleOp module,
                                    function_ref<std::string(plan::ir::DeviceOp)> describe) {
  std::string text;
  for (auto device : module.getOps<plan::ir::DeviceOp>())
    if (std::string own = describe(device); !own.empty())
      text += (text.empty() ? "" : "; ") + device.getDevice().getName().shortStr() + ": " + own;
  return text;
}

namespace {
struct Brought {
  uint64_t bytes = 0, number = 0;
};
} // namespace

/// What copies bring to the device because of its limit: weights, or values that were there before.
static Brought broughtTo(plan::ir::DeviceOp device, bool isWeight) {
  Brought brought;
  device->getParentOfType<ModuleOp>().walk([&](plan::ir::CopyOp copy) {
    for (unsigned i = 0; i < copy.getSources().size(); ++i) {
      plan::ir::CopyOp::Copied value = copy.getCopied(i);
      auto target = value.target.getDefiningOp<plan::ir::BufferDeclOp>();
      if (value.cause != kMemoryLimitCause || !target ||
          isa<plan::ir::UseOp>(value.source.getDefiningOp()) != isWeight ||
          target.getDeviceAttr().getAttr() != device.getSymNameAttr())
        continue;
      brought.bytes += target.getSize();
      ++brought.number;
    }
  });
  return brought;
}

/// "12 weights of 3.4 MiB in all", "one weight of 1 MiB"
static std::string count(Brought brought, StringRef what) {
  const bool isOne = brought.number == 1;
  return std::to_string(brought.number) + " " + what.str() + (isOne ? "" : "s") + " of " +
         formatBytes(brought.bytes) + (isOne ? "" : " in all");
}

std::string memorybudget::describeStreamed(ModuleOp module) {
  return describeByDevice(module, [](plan::ir::DeviceOp device) -> std::string {
    Brought brought = broughtTo(device, true);
    if (brought.number == 0)
      return "";
    return count(brought, "weight") + (brought.number == 1 ? " stays" : " stay") +
           " on the host and " + (brought.number == 1 ? "is" : "are") +
           " copied to the device in each run";
  });
}

std::string memorybudget::describeOffloaded(ModuleOp module) {
  return describeByDevice(module, [](plan::ir::DeviceOp device) -> std::string {
    Brought brought = broughtTo(device, false);
    if (brought.number == 0 || device.getDevice().getName().type == DeviceType::CPU)
      return ""; // the way there
    return count(brought, "value") + (brought.number == 1 ? " waits" : " wait") +
           " on the host for " + (brought.number == 1 ? "its" : "their") + " next use";
  });
}

static unsigned countPlaced(ModuleOp module, function_ref<bool(plan::ir::PlacedAttr)> isMeant) {
  unsigned number = 0;
  for (auto func : module.getOps<plan::ir::FuncOp>())
    number += llvm::count_if(func.getPlaced().getAsRange<plan::ir::PlacedAttr>(), isMeant);
  return number;
}

std::string memorybudget::describeRematerialized(ModuleOp module) {
  return describeByDevice(module, [&](plan::ir::DeviceOp device) -> std::string {
    auto isAgain = [&](plan::ir::PlacedAttr op) {
      return op.getDevice().getAttr() == device.getSymNameAttr() &&
             op.getName().contains(kAgainSuffix);
    };
    const unsigned number = countPlaced(module, isAgain);
    const unsigned products = countPlaced(module, [&](plan::ir::PlacedAttr op) {
      return isAgain(op) && op.getKind() == fusionKindName(FusionKind::Contraction);
    });
    std::string among;
    if (products != 0 && number > 1)
      among = ", " + std::to_string(products) + (products == 1 ? " product" : " products") +
              " among them,";
    return number == 0   ? ""
           : number == 1 ? "an op runs again for a value that is read late"
                         : std::to_string(number) + " ops run again" + among +
                               " for values that are read late";
  });
}

std::string memorybudget::describeMoved(ModuleOp module) {
  return describeByDevice(module, [&](plan::ir::DeviceOp device) -> std::string {
    unsigned number = countPlaced(module, [&](plan::ir::PlacedAttr op) {
      return op.getDevice().getAttr() == device.getSymNameAttr() && op.getReason() == kMovedReason;
    });
    return number == 0 ? ""
                       : std::to_string(number) + (number == 1 ? " op moves" : " ops move") +
                             " there, since there is room";
  });
}

bool memorybudget::packsOperands(ModuleOp module) {
  return countPlaced(module,
                     [](plan::ir::PlacedAttr op) { return op.getReason() == kPackedReason; }) != 0;
}

std::string memorybudget::describePieces(ModuleOp module, const MemoryRepair &repair) {
  std::string text;
  for (auto [device, row] : llvm::zip(module.getOps<plan::ir::DeviceOp>(), repair))
    if (row.pieces > 1)
      text += (text.empty() ? "" : "; ") + device.getDevice().getName().shortStr() +
              ": where most memory is in use the batch runs in " + std::to_string(row.pieces) +
              " pieces";
  return text;
}

std::string memorybudget::compare(int64_t saved, double seconds) {
  std::string text = saved == 0 ? "saves no memory"
                                : (saved < 0 ? "takes " : "saves ") + formatBytes(std::abs(saved));
  if (seconds == 0)
    return text + ", costs no time";
  return text + (seconds < 0 ? ", saves " : ", adds ") + formatSeconds(std::abs(seconds)) +
         " per run";
}

std::string memorybudget::compareAll(double before, double after) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "predicted " << formatSeconds(before) << " -> " << formatSeconds(after) << " per run";
  if (before > 0)
    out << gantry::format(" (%.2fx)", after / before);
  return text;
}

namespace {
/// What a command has to have on a device.
struct WorkingSet {
  struct Part {
    std::string name;
    uint64_t bytes;
    bool isWritten;
  };
  SmallVector<Part> parts;
  uint64_t bytes = 0;
};
} // namespace

/// Buffers and constants on the device, and scratch memory.
static WorkingSet workingSetOf(plan::ir::LaunchOp launch, StringAttr device,
                               const SymbolTable &symbols) {
  WorkingSet set;
  llvm::SmallDenseSet<Value> seen;
  auto add = [&](Value buffer, StringRef name, uint64_t bytes, bool isWritten) {
    if (!seen.insert(buffer).second)
      return;
    set.parts.push_back({name.str(), bytes, isWritten});
    set.bytes += bytes;
  };
  schedule::forEachBuffer(launch, [&](Value buffer, bool writes) {
    if (auto declared = buffer.getDefiningOp<plan::ir::BufferDeclOp>()) {
      if (declared.getDeviceAttr().getAttr() == device)
        add(buffer, declared.getValue(), declared.getSize(), writes);
    } else if (auto use = buffer.getDefiningOp<plan::ir::UseOp>()) {
      auto constant = symbols.lookup<plan::ir::ConstantOp>(use.getConstant());
      if (constant && constant.getDeviceAttr().getAttr() == device)
        add(buffer, constant.getName(), constant.getSize(), writes);
    }
  });
  return set;
}

/// "reads 'x' (16 KiB) and writes 'y' (16 KiB)"; of many the largest.
static std::string describe(WorkingSet set) {
  constexpr size_t most = 4;
  llvm::stable_sort(set.parts, [](auto &a, auto &b) { return a.bytes > b.bytes; });
  std::string text;
  for (auto [i, part] : llvm::enumerate(ArrayRef(set.parts).take_front(most)))
    text += (i == 0 ? "" : ", ") + std::string(part.isWritten ? "writes '" : "reads '") +
            part.name + "' (" + formatBytes(part.bytes) + ")";
  return text + (set.parts.size() > most ? ", and less of others" : "");
}

Refusal memorybudget::refusalOf(ModuleOp module, size_t shortest, int64_t bytes, int64_t missing) {
  plan::ir::DeviceOp device = *std::next(module.getOps<plan::ir::DeviceOp>().begin(), shortest);
  plan::ir::LaunchOp fullest;
  WorkingSet most;
  const SymbolTable symbols(module);
  module.walk([&](plan::ir::LaunchOp launch) {
    if (WorkingSet set = workingSetOf(launch, device.getSymNameAttr(), symbols);
        set.bytes > most.bytes) {
      most = std::move(set);
      fullest = launch;
    }
  });
  std::string text = "the smallest plan that --over-limit=fix can make needs " + formatBytes(bytes);
  if (fullest)
    text += ", and '" +
            (fullest.getName().empty() ? fullest.getKernel() : fullest.getName()).str() +
            "' alone takes " + formatBytes(most.bytes) + ": it " + describe(most);
  return {missing, fullest ? fullest.getLoc() : device.getLoc(), text};
}
