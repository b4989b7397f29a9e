// Refuses a plan that a device has no room for, and says what takes the room (spec M2).

#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memory;

namespace gantry {
#define GEN_PASS_DEF_CHECKLIMITSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// How many of the largest values a message lists.
static constexpr size_t kListed = 5;

namespace {
/// Something that takes room while the fullest moment lasts.
struct Resident {
  std::string what;
  uint64_t size;
  Location loc;
};

/// The moment of a function at which the buffers of a device are largest.
struct Peak {
  uint64_t bytes = 0;
  plan::ir::FuncOp func;
  Operation *op = nullptr;
  SmallVector<plan::ir::BufferDeclOp> live;
};

struct DeviceUse {
  uint64_t constants = 0, variables = 0, transient = 0;
  uint64_t bound = 0; ///< inputs and outputs on the device, of the function with most of them

  uint64_t total() const { return constants + variables + transient + bound; }
};

struct CheckLimits : gantry::impl::CheckLimitsPassBase<CheckLimits> {
  using CheckLimitsPassBase::CheckLimitsPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto device : getOperation().getOps<plan::ir::DeviceOp>()) {
      if (!device.getLimit())
        continue;
      DeviceUse use = addUp(device.getSymNameAttr());
      if (use.total() > uint64_t(device.getLimit()))
        report(device, use);
    }
  }

  DeviceUse addUp(StringAttr device) {
    DeviceUse use;
    for (auto arena : getOperation().getOps<plan::ir::ArenaOp>()) {
      if (arena.getDeviceAttr().getAttr() != device)
        continue;
      switch (arena.getKind()) {
      case plan::ir::ArenaKind::Constants:
        use.constants += arena.getSize();
        break;
      case plan::ir::ArenaKind::Variables:
        use.variables += arena.getSize();
        break;
      case plan::ir::ArenaKind::Transient:
        // What runs at load is over before there are sessions.
        use.transient += std::max(arena.getSize(), arena.getLoadSize());
        break;
      }
    }
    use.bound = boundBytes(getOperation(), device);
    return use;
  }

  //===------------------------------------------------------------------===//
  // What to say
  //===------------------------------------------------------------------===//

  void report(plan::ir::DeviceOp device, const DeviceUse &use) {
    Peak peak = findPeak(device.getSymNameAttr());
    Location loc = peak.op ? peak.op->getLoc() : device.getLoc();
    InFlightDiagnostic error = emitError(loc);
    setStatusCode(*error.getUnderlyingDiagnostic(), StatusCode::doesNotFit);
    error << "the plan needs " << formatBytes(use.total()) << " on '"
          << device.getDevice().getSpelling() << "', the limit is "
          << formatBytes(device.getLimit()) << ": constants " << formatBytes(use.constants)
          << ", variables " << formatBytes(use.variables) << ", inputs and outputs "
          << formatBytes(use.bound) << ", transient " << formatBytes(use.transient);
    if (peak.op)
      error << " (most while " << nameOf(peak.op) << " runs in '" << peak.func.getSymName() << "')";
    error << "; raise the limit to at least " << use.total() << " bytes, put less on this device"
          << (isRepaired ? " or" : ",")
          << " make the batch smaller (--largest-batch=DIM finds the largest that fits)";
    if (!isRepaired)
      error << ", or have a plan made that fits but may take longer (--over-limit=fix)";
    for (const Resident &resident : largest(device.getSymNameAttr(), peak))
      error.attachNote(resident.loc) << formatBytes(resident.size) << ": " << resident.what;
    signalPassFailure();
  }

  static std::string nameOf(Operation *op) {
    StringRef name, fallback = "a command";
    if (auto launch = dyn_cast<plan::ir::LaunchOp>(op))
      name = launch.getName().empty() ? launch.getKernel() : launch.getName();
    else if (auto copy = dyn_cast<plan::ir::CopyOp>(op))
      name = copy.getName(), fallback = "a copy";
    return name.empty() ? fallback.str() : ("'" + name + "'").str();
  }

  Peak findPeak(StringAttr device) {
    Peak peak;
    for (auto func : getOperation().getOps<plan::ir::FuncOp>()) {
      Peak own = findPeak(func, device);
      if (own.bytes > peak.bytes)
        peak = std::move(own);
    }
    return peak;
  }

  static Peak findPeak(plan::ir::FuncOp func, StringAttr device) {
    Timeline time(func);
    SmallVector<std::pair<plan::ir::BufferDeclOp, LiveRange>> buffers;
    SmallVector<int64_t> change(time.ops.size() + 1);
    for (const Whole &whole : wholesOf(func)) {
      plan::ir::BufferDeclOp buffer = whole.buffer;
      if (buffer.getDeviceAttr().getAttr() != device)
        continue;
      LiveRange range = whole.live(time);
      buffers.push_back({buffer, range});
      change[range.first] += buffer.getSize();
      change[range.last] -= buffer.getSize();
    }
    Peak peak;
    int64_t bytes = 0;
    uint32_t step = 0;
    for (auto [i, op] : llvm::enumerate(time.ops)) {
      bytes += change[i];
      if (uint64_t(bytes) > peak.bytes) {
        peak = {uint64_t(bytes), func, op, {}};
        step = i;
      }
    }
    for (auto [buffer, range] : buffers)
      if (range.first <= step && step < range.last)
        peak.live.push_back(buffer);
    return peak;
  }

  /// Constants stay; of the rest, what lives at the peak.
  SmallVector<Resident> largest(StringAttr device, const Peak &peak) {
    SmallVector<Resident> all;
    for (auto constant : getOperation().getOps<plan::ir::ConstantOp>())
      if (constant.getDeviceAttr().getAttr() == device)
        all.push_back({"constant '" + constant.getName().str() + "'", uint64_t(constant.getSize()),
                       constant.getLoc()});
    for (plan::ir::BufferDeclOp buffer : peak.live) {
      std::string name =
          buffer.getValue().empty() ? "a value" : "'" + buffer.getValue().str() + "'";
      all.push_back({name, uint64_t(buffer.getSize()), buffer.getLoc()});
    }
    llvm::stable_sort(all, [](auto &a, auto &b) { return a.size > b.size; });
    if (all.size() > kListed)
      all.resize(kListed, all.front());
    return all;
  }
};
} // namespace
