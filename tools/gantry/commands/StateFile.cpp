#include "StateFile.h"

#include "Console.h"

#include "gantry/Formats/Archive.h"

#include <algorithm>

namespace gantry::tool {

using arrays::Array;
using Variable = runtime::State::Variable;

namespace {

bool isSafetensors(const std::string &file) { return file.ends_with(".safetensors"); }

Expected<runtime::State *> stateOf(Execution &execution, const char *flag) {
  runtime::State *state = execution.state();
  if (!state || state->variables().empty())
    return Status::invalidArgument(std::string(flag) + ": the plan has no variables");
  return state;
}

} // namespace

Expected<StateValues> StateValues::read(const std::string &file) {
  StateValues values;
  if (isSafetensors(file)) {
    auto mapped = arrays::SafetensorsFile::open(file);
    if (!mapped)
      return mapped.status();
    values.mapped = mapped.take();
    return values;
  }
  auto archive = arrays::readArrays(file);
  if (!archive)
    return archive.status();
  values.archive = archive.take();
  return values;
}

std::vector<runtime::NamedView> StateValues::views() const {
  std::vector<runtime::NamedView> all;
  for (const arrays::NamedArray &array : archive)
    all.emplace_back(array.name, array.array.view());
  if (mapped)
    for (const arrays::Safetensors::Tensor &tensor : mapped->content().tensors())
      all.emplace_back(tensor.name, tensor.view());
  return all;
}

/// NumPy has no bfloat16, so its bits come from archives as uint16.
static void readAsBFloat(runtime::NamedView &value, const runtime::State &state) {
  for (const Variable &variable : state.variables())
    if (variable.name == value.first && variable.type.element == ElementType::bf16 &&
        value.second.element == ElementType::u16)
      value.second.element = ElementType::bf16;
}

Status loadState(Execution &execution, const StateValues &given, const std::string &file) {
  auto state = stateOf(execution, "--load-state");
  if (!state)
    return state.status();
  std::vector<runtime::NamedView> values = given.views();
  if (!isSafetensors(file))
    for (runtime::NamedView &value : values)
      readAsBFloat(value, **state);
  runtime::StateLoad how;
  how.keepMissing = true;
  GANTRY_RETURN_IF_ERROR(runtime::loadState(**state, values, file, how));
  for (const Variable &variable : (*state)->variables())
    if (variable.mirrorOf.empty() &&
        std::none_of(values.begin(), values.end(),
                     [&](const auto &value) { return value.first == variable.name; }))
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
  if (isSafetensors(file))
    return runtime::saveState(**state, file, {});
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
