#include "MathCheck.h"
#include "Print.h"

#include "Console.h"
#include "StateFile.h"

#include "gantry/Formats/Values.h"

namespace gantry::tool {

namespace {

constexpr std::string_view kFlag = "math=";

/// One line; false when they are further apart than is allowed.
bool compareOne(const Options &options, const std::string &name, const arrays::ArrayView &rounded,
                const arrays::ArrayView &exact) {
  const double largest = arrays::largestOf(exact);
  const double allowed = options.mathLimit.value_or(0) * largest;
  const auto difference = arrays::compare(rounded, exact, 0, allowed);
  const std::string far =
      format("max abs error %.3g, %.3g of the largest value, %.3g; max rel error %.3g",
             difference.maxAbsolute, largest > 0 ? difference.maxAbsolute / largest : 0, largest,
             difference.maxRelative);
  const std::string what = "output '" + name + "' with --math=" + mathOf(options);
  if (!options.mathLimit || difference.close()) {
    printNote(what + " against f32: " + far);
    return true;
  }
  printError(
      what +
      format(" differs from f32 by more than %g of the largest value: ", *options.mathLimit) + far);
  return false;
}

/// The last --math says it.
Options inF32(const Options &options) {
  Options exact = options;
  std::erase_if(exact.compileFlags,
                [](const std::string &flag) { return flag.starts_with(kFlag); });
  exact.quietInputs = true;
  return exact;
}

} // namespace

std::string mathOf(const Options &options) {
  std::string math = "f32";
  for (const std::string &flag : options.compileFlags)
    if (flag.starts_with(kFlag))
      math = flag.substr(kFlag.size());
  return math;
}

Expected<bool> compareMath(const Options &options, Execution &rounded, GivenArrays inputs,
                           const StateValues &state) {
  auto prepared = Prepared::from(inF32(options), std::move(inputs));
  if (!prepared)
    return prepared.status();
  Execution &exact = prepared->execution;
  if (!options.loadState.empty())
    GANTRY_RETURN_IF_ERROR(loadState(exact, state, options.loadState));
  for (uint64_t i = 0; i < options.repeat; ++i)
    GANTRY_RETURN_IF_ERROR(exact.run());
  bool agree = true;
  const auto &outputs = exact.function().outputs;
  for (unsigned i = 0; i < outputs.size(); ++i) {
    auto ours = rounded.output(i), theirs = exact.output(i);
    if (!ours || !theirs)
      return !ours ? ours.status() : theirs.status();
    agree &= compareOne(options, outputs[i].name, *ours, *theirs);
  }
  return agree;
}

} // namespace gantry::tool
