#include "ReplicaCheck.h"

#include "Console.h"
#include "StateFile.h"

#include "gantry/Arrays/Values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gantry::tool {

using arrays::ArrayView;

namespace {

/// Sums of shards are rounded in another order than those of the whole.
constexpr double tolerance = 1e-5;

double largestOf(const ArrayView &array) {
  double largest = 0;
  for (uint64_t i = 0; i < array.count(); ++i)
    if (const double value = std::fabs(arrays::valueAt(array, i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

/// One line; false when they are further apart than is allowed.
bool compareOne(const std::string &what, const ArrayView &replicated, const ArrayView &single) {
  if (std::memcmp(replicated.data, single.data, single.size()) == 0) {
    printNote(what + " of the replicas equals that of one device bit for bit");
    return true;
  }
  const double largest = largestOf(single);
  const auto difference = arrays::compare(replicated, single, 0, tolerance * largest);
  const std::string far =
      format("max abs difference %.3g, the largest value is %.3g", difference.maxAbsolute, largest);
  if (arrays::isFloat(single.element) && difference.close()) {
    printNote(what +
              " of the replicas agrees with that of one device to 1e-5 of the largest "
              "value: " +
              far);
    return true;
  }
  printError(what + " of the replicas differs from that of one device: " + far);
  return false;
}

Expected<bool> compareOutputs(Execution &replicated, Execution &single) {
  bool agree = true;
  const auto &outputs = single.function().outputs;
  for (unsigned i = 0; i < outputs.size(); ++i) {
    auto many = replicated.output(i), one = single.output(i);
    if (!many || !one)
      return !many ? many.status() : one.status();
    agree &= compareOne("output '" + outputs[i].name + "'", *many, *one);
  }
  return agree;
}

Expected<bool> compareVariables(Execution &replicated, Execution &single) {
  bool agree = true;
  if (!single.state())
    return agree;
  for (const auto &variable : single.state()->variables()) {
    auto one = readVariable(*single.state(), variable);
    if (!one)
      return one.status();
    // Of a mirrored variable every mirror.
    for (const auto &other : replicated.state()->variables()) {
      if (other.name != variable.name && other.mirrorOf != variable.name)
        continue;
      auto many = readVariable(*replicated.state(), other);
      if (!many)
        return many.status();
      agree &= compareOne("variable '" + other.name + "'", many->view(), one->view());
    }
  }
  return agree;
}

} // namespace

Expected<bool> checkReplicas(const Options &options, Execution &replicated) {
  Options alone = options;
  const size_t flags = std::erase_if(
      alone.compileFlags, [](const auto &flag) { return flag.starts_with("replicate="); });
  if (!flags)
    return Status::invalidArgument("--check-replicas compares a run with --replicate with one on a "
                                   "single device; give --replicate");
  alone.quietInputs = true;
  auto prepared = Prepared::from(alone);
  if (!prepared)
    return prepared.status();
  Execution &single = prepared->execution;
  if (!options.loadState.empty())
    GANTRY_RETURN_IF_ERROR(loadState(single, options.loadState));
  for (uint64_t i = 0; i < options.repeat; ++i)
    GANTRY_RETURN_IF_ERROR(single.run());
  auto outputs = compareOutputs(replicated, single);
  if (!outputs)
    return outputs;
  auto variables = compareVariables(replicated, single);
  if (!variables)
    return variables;
  return *outputs && *variables;
}

} // namespace gantry::tool
