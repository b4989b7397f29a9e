#include "StateFile.h"

#include "Console.h"

#include "gantry/Formats/Archive.h"

#include <algorithm>

namespace gantry::tool {

using arrays::Array;
using Variable = runtime::State::Variable;

namespace {

std::string describe(const runtime::State &state) {
  std::string text;
  for (const Variable &variable : state.variables())
    if (variable.mirrorOf.empty())
      text += (text.empty() ? "" : ", ") + variable.name + ": " + variable.type.str();
  return text;
}

/// The variables that an array is for: the one of its name and that one's mirrors.
Expected<std::vector<const Variable *>>
findTargets(const runtime::State &state, const arrays::NamedArray &given, const std::string &file) {
  std::vector<const Variable *> targets;
  for (const Variable &variable : state.variables()) {
    const bool isMirror = variable.mirrorOf == given.name;
    if (!isMirror && (variable.name != given.name || !variable.mirrorOf.empty()))
      continue;
    ElementType element = given.array.element;
    // NumPy has no bfloat16, so its bits come as uint16.
    if (element == ElementType::u16 && variable.type.element == ElementType::bf16)
      element = ElementType::bf16;
    if (element != variable.type.element || given.array.shape != variable.type.shape)
      return Status::invalidArgument("variable '" + variable.name + "' is " + variable.type.str() +
                                     ", but '" + file + "' holds " + given.array.type());
    targets.push_back(&variable);
  }
  if (targets.empty())
    return Status::notFound("no variable is called '" + given.name + "', which is in '" + file +
                            "'; the variables are " + describe(state));
  return targets;
}

Expected<runtime::State *> stateOf(Execution &execution, const char *flag) {
  runtime::State *state = execution.state();
  if (!state || state->variables().empty())
    return Status::invalidArgument(std::string(flag) + ": the plan has no variables");
  return state;
}

} // namespace

Status loadState(Execution &execution, const std::vector<arrays::NamedArray> &given,
                 const std::string &file) {
  auto state = stateOf(execution, "--load-state");
  if (!state)
    return state.status();
  // All are looked at before the first is written: an archive is loaded whole or not at all.
  std::vector<std::vector<const Variable *>> targets;
  for (const arrays::NamedArray &array : given) {
    auto found = findTargets(**state, array, file);
    if (!found)
      return found.status();
    targets.push_back(found.take());
  }
  for (size_t i = 0; i < targets.size(); ++i)
    for (const Variable *variable : targets[i])
      GANTRY_RETURN_IF_ERROR((*state)->write(variable->name, given[i].array.bytes.data()));
  for (const Variable &variable : (*state)->variables())
    if (variable.mirrorOf.empty() &&
        std::none_of(given.begin(), given.end(),
                     [&](const auto &array) { return array.name == variable.name; }))
      printNote("variable '" + variable.name + "' is not in '" + file +
                "' and keeps its initial value");
  return {};
}

Expected<Array> readVariable(const runtime::State &state, const Variable &variable) {
  auto array = Array::make(variable.type.element, variable.type.shape);
  if (!array)
    return array.status();
  GANTRY_RETURN_IF_ERROR(state.read(variable.name, array->bytes.data()));
  return array.take();
}

Status saveState(Execution &execution, const std::string &file) {
  auto state = stateOf(execution, "--save-state");
  if (!state)
    return state.status();
  std::vector<Array> values;
  std::vector<std::string> names;
  for (const Variable &variable : (*state)->variables()) {
    if (!variable.mirrorOf.empty())
      continue;
    auto array = readVariable(**state, variable);
    if (!array)
      return array.status();
    values.push_back(array.take());
    names.push_back(variable.name);
  }
  std::vector<std::pair<std::string, arrays::ArrayView>> content;
  for (size_t i = 0; i < values.size(); ++i)
    content.emplace_back(names[i], values[i].view());
  return arrays::writeNpz(file, content);
}

} // namespace gantry::tool
