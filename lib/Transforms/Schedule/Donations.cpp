#include "Donations.h"

#include "Overwrite.h"
#include "gantry/Analysis/InPlace.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

namespace {
/// A matching of arguments and outputs, each argument with those that it prefers first.
class Pairing {
public:
  Pairing(func::FuncOp func, ArrayRef<Output> outputs, const Declarations &state)
      : func(func), outputs(outputs), state(state), taken(outputs.size()) {}

  void add(BlockArgument argument, unsigned device) {
    Given given{argument, {}, "no output of its type is computed on its device"};
    for (auto [i, output] : llvm::enumerate(outputs))
      if (output.type == argument.getType() && output.device == device && isFirst(i))
        consider(given, i);
    // What is computed from the argument itself: of several states each keeps its array.
    llvm::stable_sort(given.fits, [&](unsigned a, unsigned b) {
      return choiceOf(outputs[a].value, argument) < choiceOf(outputs[b].value, argument);
    });
    arguments.push_back(std::move(given));
    llvm::SmallDenseSet<unsigned> seen;
    find(arguments.size() - 1, seen);
  }

  SmallVector<std::pair<unsigned, BlockArgument>> pairs() const {
    SmallVector<std::pair<unsigned, BlockArgument>> found;
    for (auto [i, argument] : llvm::enumerate(taken))
      if (argument)
        found.emplace_back(outputs[i].result, arguments[*argument].argument);
    return found;
  }

  void remarkOnOthers() const {
    for (auto [i, given] : llvm::enumerate(arguments))
      if (!llvm::is_contained(taken, std::optional<unsigned>(i)))
        emitRemark(given.argument.getLoc())
            << "the array of '" << inputName(func, given.argument.getArgNumber())
            << "' is given away, and no output can lie in it: " << given.why;
  }

private:
  struct Given {
    BlockArgument argument;
    SmallVector<unsigned> fits; ///< outputs
    std::string why;            ///< none fits
  };

  func::FuncOp func;
  ArrayRef<Output> outputs;
  const Declarations &state;
  SmallVector<Given> arguments;
  SmallVector<std::optional<unsigned>> taken; ///< by output: the argument

  /// Of several outputs that are one value the others are copies of the first.
  bool isFirst(unsigned i) const {
    return llvm::none_of(outputs.take_front(i),
                         [&](const Output &other) { return other.value == outputs[i].value; });
  }

  void consider(Given &given, unsigned i) {
    const Output &output = outputs[i];
    // Handed on as it is: a copy at the end, of an array onto itself where it is the same.
    if (output.value == given.argument) {
      if (llvm::count_if(func.getBody().front().getTerminator()->getOperands(),
                         [&](Value value) { return skipViews(value) == given.argument; }) == 1)
        given.fits.push_back(i);
      else
        given.why = "it is returned more than once";
      return;
    }
    if (!output.isMadeThere)
      return;
    if (Operation *reader = readerBehind(given.argument, cast<OpResult>(output.value), state))
      given.why =
          describe(reader) + " it when output '" + outputName(func, output.result) + "' is written";
    else
      given.fits.push_back(i);
  }

  static std::string describe(Operation *reader) {
    if (reader->hasTrait<OpTrait::IsTerminator>())
      return "the function returns";
    auto name = reader->getAttrOfType<StringAttr>(kNameAttr);
    return name ? "'" + name.str() + "' reads"
                : "'" + reader->getName().getStringRef().str() + "' reads";
  }

  /// The less, the more it is made from the argument: by how many arguments the kernel's result
  /// would rather have the places of.
  size_t choiceOf(Value value, Value argument) const {
    Operation *maker = value.getDefiningOp();
    if (value == argument)
      return 0;
    if (!maker || !llvm::is_contained(maker->getOperands(), argument))
      return SIZE_MAX;
    auto launch = dyn_cast<LaunchOp>(maker);
    SmallVector<InPlace> places = inPlacesOf(launch ? state.workOf(launch) : WorkAttr());
    const int64_t fromLast = maker->getNumResults() - 1 - cast<OpResult>(value).getResultNumber();
    llvm::erase_if(places, [&](const InPlace &place) { return place.fromLast != fromLast; });
    const auto *own = llvm::find_if(places, [&](const InPlace &place) {
      return maker->getOperand(place.argument) == argument;
    });
    return own - places.begin();
  }

  /// Makes room by moving others to their next choice.
  bool find(unsigned argument, llvm::SmallDenseSet<unsigned> &seen) {
    for (unsigned output : arguments[argument].fits)
      if (seen.insert(output).second && (!taken[output] || find(*taken[output], seen))) {
        taken[output] = argument;
        return true;
      }
    return false;
  }
};
} // namespace

SmallVector<std::pair<unsigned, BlockArgument>>
gantry::schedule::pairDonated(func::FuncOp func, ArrayRef<Output> outputs,
                              const Declarations &state,
                              function_ref<unsigned(unsigned)> inputDevice) {
  Pairing pairing(func, outputs, state);
  for (BlockArgument argument : func.getArguments())
    if (func.getArgAttr(argument.getArgNumber(), kDonateAttr))
      pairing.add(argument, inputDevice(argument.getArgNumber()));
  pairing.remarkOnOthers();
  return pairing.pairs();
}
