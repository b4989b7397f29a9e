#include "ReplicaCheck.h"
#include "Agreement.h"
#include "Print.h"

#include "Console.h"
#include "StateFile.h"

#include <cstring>

namespace gantry::tool {

using arrays::ArrayView;
using arrays::Tolerance;
using Variable = runtime::State::Variable;

namespace {

bool sameBits(const ArrayView &a, const ArrayView &b) {
  return a.size() == 0 || std::memcmp(a.data, b.data, a.size()) == 0;
}

/// One line; false when they are further apart than is allowed.
bool compareOne(const std::string &what, const ArrayView &replicated, const ArrayView &single,
                const Tolerance &tolerance) {
  if (sameBits(replicated, single)) {
    printNote(what + " of the replicas equals that of one device bit for bit");
    return true;
  }
  const auto difference = arrays::compare(replicated, single, tolerance);
  const std::string far = format("max abs difference %.3g, the largest value is %.3g",
                                 difference.maxAbsolute, arrays::largestOf(single));
  if (difference.close()) {
    printNote(what + " of the replicas agrees with that of one device to " + tolerance.text +
              " of the largest value: " + far);
    return true;
  }
  const std::string allowed =
      arrays::isFloat(single.element)
          ? std::string(" by more than ") + tolerance.text + " of the largest value"
          : "";
  printError(what + " of the replicas differs from that of one device" + allowed + ": " + far);
  return false;
}

Expected<bool> compareOutputs(Execution &replicated, Execution &single,
                              const Tolerance &tolerance) {
  bool agree = true;
  const auto &outputs = single.function().outputs;
  for (unsigned i = 0; i < outputs.size(); ++i) {
    auto many = replicated.output(i), one = single.output(i);
    if (!many || !one)
      return !many ? many.status() : one.status();
    agree &= compareOne("output '" + outputs[i].name + "'", *many, *one, tolerance);
  }
  return agree;
}

/// A variable's values on each replica, the variable itself first.
struct Mirrors {
  std::vector<const Variable *> variables;
  std::vector<arrays::Array> values;

  static Expected<Mirrors> of(const std::string &name, const runtime::State &state) {
    Mirrors mirrors;
    for (const Variable &variable : state.variables()) {
      if (variable.name != name && variable.mirrorOf != name)
        continue;
      auto values = readVariable(state, variable);
      if (!values)
        return values.status();
      const bool isFirst = variable.name == name;
      mirrors.variables.insert(isFirst ? mirrors.variables.begin() : mirrors.variables.end(),
                               &variable);
      mirrors.values.insert(isFirst ? mirrors.values.begin() : mirrors.values.end(), values.take());
    }
    return mirrors;
  }
};

/// One line for all of them; false when replicas went apart. Other drivers have other kernels,
/// whose roundings are not told from what the graph does.
bool compareMirrors(const Mirrors &mirrors, const Tolerance &tolerance) {
  bool isBitwise = true;
  const Variable &first = *mirrors.variables.front();
  const ArrayView expected = mirrors.values.front().view();
  for (size_t i = 1; i < mirrors.values.size(); ++i) {
    const ArrayView view = mirrors.values[i].view();
    if (sameBits(view, expected))
      continue;
    isBitwise = false;
    const auto difference = arrays::compare(view, expected, tolerance);
    const bool hasOtherKernels =
        mirrors.variables[i]->device->driver().name() != first.device->driver().name();
    if (hasOtherKernels && difference.close())
      continue;
    printError(
        "variable '" + first.name +
        "' went apart on the replicas: " + shortDeviceName(mirrors.variables[i]->device->name()) +
        " and " + shortDeviceName(first.device->name()) +
        format(" differ by up to %.3g, the largest value is %.3g; assign what is the same on "
               "every replica, as gantry.all_reduce gives it",
               difference.maxAbsolute, arrays::largestOf(expected)));
    return false;
  }
  printNote("variable '" + first.name + "' is the same on all " +
            std::to_string(mirrors.values.size()) + " replicas" +
            (isBitwise ? ", bit for bit"
                       : std::string(" to ") + tolerance.text + " of the largest value"));
  return true;
}

Expected<bool> compareVariables(Execution &replicated, Execution &single,
                                const Tolerance &tolerance) {
  bool agree = true;
  if (!single.state() || !replicated.state())
    return agree;
  for (const Variable &variable : single.state()->variables()) {
    if (!variable.mirrorOf.empty())
      continue;
    auto one = readVariable(*single.state(), variable);
    if (!one)
      return one.status();
    auto mirrors = Mirrors::of(variable.name, *replicated.state());
    if (!mirrors)
      return mirrors.status();
    for (size_t i = 0; i < mirrors->values.size(); ++i)
      agree &= compareOne("variable '" + mirrors->variables[i]->name + "'",
                          mirrors->values[i].view(), one->view(), tolerance);
    if (mirrors->values.size() > 1)
      agree &= compareMirrors(*mirrors, tolerance);
  }
  return agree;
}

/// The same graph for one device: without --replicate, or with each gantry.replicate on the first
/// of its devices only. What was asked of the placement of the replicas does not hold there.
Options forOneDevice(const Options &options) {
  Options alone = options;
  const auto drop = [&](std::string_view flag) {
    return std::erase_if(alone.compileFlags,
                         [&](const std::string &given) { return given.starts_with(flag); });
  };
  if (!drop("replicate="))
    alone.compileFlags.push_back("first-replica");
  drop("placement-lock=");
  drop("write-placement-lock=");
  drop("max-copy=");
  alone.quietInputs = true;
  return alone;
}

} // namespace

Expected<bool> checkReplicas(const Options &options, Execution &replicated, GivenArrays inputs,
                             const StateValues &state) {
  auto prepared = Prepared::from(forOneDevice(options), std::move(inputs));
  if (!prepared) {
    printNote("this error is in the program for one device that --check-replicas compares with");
    return prepared.status();
  }
  Execution &single = prepared->execution;
  if (!options.loadState.empty())
    GANTRY_RETURN_IF_ERROR(loadState(single, state, options.loadState));
  for (uint64_t i = 0; i < options.repeat; ++i)
    GANTRY_RETURN_IF_ERROR(single.run());
  const Tolerance tolerance = toleranceOf(single);
  auto outputs = compareOutputs(replicated, single, tolerance);
  if (!outputs)
    return outputs;
  auto variables = compareVariables(replicated, single, tolerance);
  if (!variables)
    return variables;
  return *outputs && *variables;
}

} // namespace gantry::tool
