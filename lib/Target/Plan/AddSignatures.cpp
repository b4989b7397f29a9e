// Sizes and work are those of the functions that code was made of (Target/Signatures.h), and not of
// the launches, so that the validator, which looks at every plan before it is written, compares two
// things. Which buffers a function reads and which it writes, and which may be one, it has from the
// launches: by these its code was made.

#include "AddSignatures.h"

#include "gantry/Plan/SaidOfCode.h"
#include "gantry/Target/Signatures.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace fb = gantry::plan::fb;

namespace {
/// How the plan launches a kernel.
struct Launches {
  uint32_t operands = 0, results = 0; ///< of each
  llvm::SetVector<std::pair<uint32_t, uint32_t>> same;
  SmallVector<const fb::CommandT *> all;
};

class Signatures {
public:
  Signatures(ModuleOp module, fb::PlanT &plan) : module(module), plan(plan) {}

  void run() {
    launches.resize(plan.kernels.size());
    if (plan.load)
      collect(*plan.load);
    for (auto &function : plan.functions)
      collect(*function);
    for (auto [i, kernel] : llvm::enumerate(module.getOps<plan::ir::KernelOp>()))
      for (auto &variant : plan.kernels[i]->variants)
        if (variant->source == fb::KernelSource::code)
          sign(kernel, *plan.kernels[i], launches[i], *variant);
  }

private:
  ModuleOp module;
  fb::PlanT &plan;
  std::vector<Launches> launches;                       ///< by kernel
  llvm::DenseSet<std::pair<uint32_t, StringRef>> known; ///< functions: of which code, by name
  llvm::StringMap<SmallVector<uint32_t>> bySymbol;      ///< indices of signatures

  void collect(const fb::FunctionT &function) {
    for (auto &block : function.blocks)
      for (auto &command : block->commands)
        if (command->opcode == fb::Opcode::launch)
          collect(*command, launches[command->kernel]);
  }

  static void collect(const fb::CommandT &launch, Launches &of) {
    of.all.push_back(&launch);
    of.results = launch.num_results - (launch.has_scratch ? 1 : 0);
    of.operands = launch.buffers.size() - launch.num_results;
    for (uint32_t i = 0; i < of.operands; ++i)
      for (uint32_t j = 0; j < of.results; ++j)
        if (isSame(launch.buffers[i], launch.buffers[of.operands + j]))
          of.same.insert({i, j});
  }

  static bool isSame(const fb::BufferRef &a, const fb::BufferRef &b) {
    return a.space() == b.space() && a.index() == b.index() && a.offset() == b.offset() &&
           a.size() == b.size() && a.size() != 0;
  }

  void sign(plan::ir::KernelOp op, const fb::KernelT &kernel, const Launches &of,
            fb::VariantT &variant) {
    const std::optional<TakenBuffers> taken = takenBuffers(op, variant.driver);
    if (!taken)
      return; // then the validator finds no such function
    if (llvm::any_of(of.all, [&](const fb::CommandT *launch) {
          return mayRun(launch->device, variant.driver) && launch->items != uint64_t(taken->items);
        }))
      variant.items = taken->items, variant.grain = taken->grain;
    const StringRef symbol = variant.symbol.empty() ? kernel.symbol : variant.symbol;
    if (known.insert({variant.code, symbol}).second)
      plan.code[variant.code]->signatures.push_back(
          add(makeSignature(symbol, *taken, of, variant)));
  }

  bool mayRun(uint32_t device, const std::string &driver) const {
    const fb::DeviceT &on = *plan.devices[device];
    return on.driver == driver || llvm::is_contained(on.also, driver);
  }

  static fb::SignatureT makeSignature(StringRef symbol, const TakenBuffers &taken,
                                      const Launches &of, const fb::VariantT &variant) {
    fb::SignatureT signature;
    signature.symbol = symbol.str();
    const size_t buffers = of.operands + of.results;
    for (auto [i, bytes] : llvm::enumerate(taken.bytes))
      if (i < of.operands)
        signature.reads.push_back(bytes);
      else if (i < buffers || of.all.empty())
        signature.writes.push_back(bytes);
      else
        signature.scratch = bytes;
    for (auto [read, written] : of.same)
      signature.same.emplace_back(read, written);
    if (variant.grid) { // a GPU's work is its grid
      signature.grid = std::make_unique<fb::Extent>(*variant.grid);
      signature.block = std::make_unique<fb::Extent>(*variant.block);
      signature.shared_memory = variant.shared_memory;
    } else {
      signature.items = taken.items;
    }
    return signature;
  }

  /// Code for several machines is of the same functions, and shares what is said of them.
  uint32_t add(fb::SignatureT signature) {
    for (uint32_t index : bySymbol[signature.symbol])
      if (isSame(*plan.signatures[index], signature))
        return index;
    const uint32_t index = plan.signatures.size();
    bySymbol[signature.symbol].push_back(index);
    plan.signatures.push_back(std::make_unique<fb::SignatureT>(std::move(signature)));
    return index;
  }

  static bool isSame(const fb::SignatureT &a, const fb::SignatureT &b) {
    auto areSame = [](const auto &x, const auto &y) {
      return x && y ? x->x() == y->x() && x->y() == y->y() && x->z() == y->z() : !x && !y;
    };
    return a.reads == b.reads && a.writes == b.writes && a.scratch == b.scratch &&
           a.items == b.items && areSame(a.grid, b.grid) && areSame(a.block, b.block) &&
           a.shared_memory == b.shared_memory;
  }
};
} // namespace

void gantry::addSignatures(ModuleOp module, fb::PlanT &plan) {
  Signatures(module, plan).run();
  plan::setSaidHashes(plan);
}
