// Gives every compute op a stable name (spec P13): its own, else the shortest path from the
// outputs.
//
// Ops are visited from the return on, breadth first, operands in their order. The first path that
// reaches an op is the shortest, and of those the first by its numbers; it leads to no other op. So
// neither the order of the ops nor the names of values matter, and equal graphs get equal names.

#include "gantry/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_NAMEOPSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Longer paths are written as a hash.
static constexpr unsigned kMaxSteps = 6;

/// The name that the graph gives the op, or nothing.
static StringRef ownName(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>(kNameAttr); name && !name.empty())
    return name;
  Location loc = op->getLoc();
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
    loc = fused.getLocations().front();
  if (auto named = dyn_cast<NameLoc>(loc); named && named.getName() != "?")
    return named.getName();
  return {};
}

/// Of a place that is a part of another: its number is the step.
static constexpr int32_t kPart = -2;

/// An op's place in the graph: how it was reached.
namespace {
struct Place {
  Operation *op;
  uint32_t from;  ///< index of the place that reached it, or ~0 for a root
  uint32_t step;  ///< operand, or operand of the terminator of region `region`
  int32_t region; ///< -1: an operand of `from` itself; kPart
  uint32_t depth;
  uint64_t hash;
};

/// Names the ops of one function.
class Namer {
public:
  explicit Namer(func::FuncOp func)
      : func(func), nameAttr(StringAttr::get(func.getContext(), kNameAttr)) {}

  void run() {
    size_t count = 0;
    func.walk([&](Operation *) { ++count; });
    places.reserve(count);
    seen.reserve(count);
    visitFrom(func.getBody().front().getTerminator());
    for (Operation *root : effects())
      visitRoot(root);
    // Nothing depends on what is left; Simplify removes such ops.
    func.walk([&](Operation *op) { visitRoot(op); });
    assignOwn();
    assignPaths();
    for (const Place &place : places)
      place.op->removeAttr(kPartAttr);
  }

private:
  static uint64_t mix(uint64_t hash, uint64_t value) {
    // FNV-1a over the bytes that count, with a finaliser: short inputs must differ in high bits.
    hash = (hash ^ value) * 0x100000001b3;
    hash ^= hash >> 32;
    return hash * 0x9e3779b97f4a7c15;
  }

  static uint64_t hashOf(StringRef text) {
    uint64_t hash = 0x5bd1e995;
    for (char c : text)
      hash = mix(hash, uint8_t(c));
    return hash;
  }

  /// Ops that are there for what they do, by the symbol that they name; of one symbol in their
  /// order, which has a meaning.
  SmallVector<Operation *> effects() {
    SmallVector<std::pair<StringRef, Operation *>> found;
    func.walk([&](Operation *op) {
      if (op != func && !op->hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(op))
        found.emplace_back(symbolOf(op), op);
    });
    llvm::stable_sort(found, [](auto &a, auto &b) { return a.first < b.first; });
    return SmallVector<Operation *>(llvm::make_second_range(found));
  }

  static StringRef symbolOf(Operation *op) {
    for (NamedAttribute attr : op->getAttrs())
      if (auto symbol = dyn_cast<SymbolRefAttr>(attr.getValue()))
        return symbol.getLeafReference();
    return {};
  }

  void visitRoot(Operation *op) {
    if (op == func || op->hasTrait<OpTrait::IsTerminator>() || !seen.insert(op).second)
      return;
    uint32_t number = rootCounts[symbolOf(op)]++;
    roots.push_back((symbolOf(op).empty() ? "dead" : symbolOf(op)).str() +
                    (number || symbolOf(op).empty() ? std::to_string(number) : ""));
    places.push_back({op, ~0u, uint32_t(roots.size() - 1), -1, 0, hashOf(roots.back())});
    expandAll();
  }

  void visitFrom(Operation *terminator) {
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttr);
      roots.push_back(name && !name.empty() ? name.str() : "output" + std::to_string(i));
      if (Operation *op = value.getDefiningOp(); op && seen.insert(op).second)
        places.push_back({op, ~0u, uint32_t(roots.size() - 1), -1, 0, mix(0xcbf29ce484222325, i)});
    }
    expandAll();
  }

  void expandAll() {
    for (; next < places.size(); ++next) {
      Operation *op = places[next].op;
      for (auto [i, value] : llvm::enumerate(op->getOperands()))
        reach(next, -1, i, value);
      for (auto [r, region] : llvm::enumerate(op->getRegions()))
        for (Block &block : region)
          if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
            for (auto [i, value] : llvm::enumerate(block.back().getOperands()))
              reach(next, int32_t(r), i, value);
    }
  }

  void reach(uint32_t from, int32_t region, uint32_t step, Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(op).second)
      return;
    // Parts hang on each other, and would get ever longer names; so they hang on the whole.
    if (auto part = op->getAttrOfType<IntegerAttr>(kPartAttr)) {
      from = places[from].region == kPart ? places[from].from : from;
      region = kPart;
      step = uint32_t(part.getInt());
    }
    uint64_t hash = mix(mix(places[from].hash, uint64_t(region + 1)), step);
    places.push_back({op, from, step, region, places[from].depth + 1, hash});
  }

  static bool isNamed(Operation *op) { return isa<KernelOpInterface>(op); }

  /// The graph's names; ops that share one (of one node, say) get numbers from the outputs on.
  void assignOwn() {
    llvm::StringMap<unsigned> counts;
    // What stands in the graph itself is nobody's numbered form.
    for (const Place &place : places)
      if (isNamed(place.op))
        taken.insert(ownName(place.op));
    for (const Place &place : places) {
      StringRef own = isNamed(place.op) ? ownName(place.op) : StringRef();
      if (own.empty())
        continue;
      std::string name = own.str();
      for (unsigned &count = counts[own]; count++;)
        if (name = own.str() + "." + std::to_string(count - 1); taken.insert(name).second)
          break;
      setName(place.op, name);
    }
  }

  void assignPaths() {
    for (auto [i, place] : llvm::enumerate(places)) {
      if (!isNamed(place.op) || !ownName(place.op).empty())
        continue;
      std::string log = cast<KernelOpInterface>(place.op).getLogName().str() + "/";
      std::string name = log + pathOf(i, place.depth > kMaxSteps);
      if (!taken.insert(name).second)
        for (name = log + pathOf(i, false); !taken.insert(name).second;)
          name += "'";
      setName(place.op, name);
    }
  }

  std::string pathOf(uint32_t index, bool hashed) const {
    const Place &place = places[index];
    if (hashed) {
      std::string text(17, '~');
      for (unsigned digit = 0; digit < 16; ++digit)
        text[16 - digit] = llvm::hexdigit(place.hash >> 4 * digit & 15, /*LowerCase=*/true);
      return text;
    }
    if (place.from == ~0u)
      return roots[place.step];
    std::string text = pathOf(place.from, false) + ".";
    if (place.region == kPart)
      text += "part";
    else if (place.region >= 0)
      text += "r" + std::to_string(place.region) + ".";
    return text + std::to_string(place.step);
  }

  void setName(Operation *op, StringRef name) {
    op->setDiscardableAttr(nameAttr, StringAttr::get(op->getContext(), name));
  }

  func::FuncOp func;
  StringAttr nameAttr;
  std::vector<Place> places; ///< also the queue of the search
  uint32_t next = 0;
  DenseSet<Operation *> seen;
  std::vector<std::string> roots;
  llvm::StringMap<unsigned> rootCounts;
  llvm::StringSet<> taken;
};

struct NameOps : gantry::impl::NameOpsPassBase<NameOps> {
  void runOnOperation() override {
    if (llvm::hasSingleElement(getOperation().getBody()))
      Namer(getOperation()).run();
  }
};
} // namespace
