#include "gantry/Runtime/StateFile.h"

#include <algorithm>
#include <set>

namespace gantry::runtime {

namespace {

using Variable = State::Variable;

std::string describe(const State &state, const std::set<std::string_view> &without = {}) {
  std::string text;
  for (const Variable &variable : state.variables())
    if (variable.mirrorOf.empty() && !without.contains(variable.name))
      text += (text.empty() ? "" : ", ") + variable.name + ": " + variable.type.str();
  return text.empty() ? "none" : text;
}

const Variable *lookUp(const State &state, std::string_view name) {
  for (const Variable &variable : state.variables())
    if (variable.name == name)
      return &variable;
  return nullptr;
}

/// The variable that a value is for; null when it is to be passed over.
Expected<const Variable *> findTarget(const State &state, const NamedView &value,
                                      const std::string &file, const StateLoad &how) {
  const auto mapped = how.names.find(value.first);
  if (mapped != how.names.end() && !mapped->second)
    return nullptr;
  const std::string &name = mapped == how.names.end() ? value.first : *mapped->second;
  const Variable *variable = lookUp(state, name);
  if (!variable && how.skipUnknown && mapped == how.names.end())
    return nullptr;
  const std::string from = name == value.first ? "" : " as '" + value.first + "'";
  if (!variable)
    return Status::notFound("no variable is called '" + name + "', which is in '" + file + "'" +
                            from + "; the variables are " + describe(state));
  if (!variable->mirrorOf.empty())
    return Status::invalidArgument("variable '" + name + "', which is in '" + file + "'" + from +
                                   ", is a mirror of '" + variable->mirrorOf +
                                   "' and gets its value");
  const TensorType given{value.second.element,
                         {value.second.shape.begin(), value.second.shape.end()}};
  if (given != variable->type)
    return Status::invalidArgument("variable '" + name + "' is " + variable->type.str() +
                                   ", but '" + file + "' holds " + given.str() + from);
  return variable;
}

Status checkMap(std::span<const NamedView> values, const std::string &file,
                const arrays::TensorNames &names) {
  std::set<std::string_view> there;
  for (const NamedView &value : values)
    there.insert(value.first);
  for (const auto &[name, variable] : names)
    if (!there.contains(name))
      return Status::notFound("the map names '" + name + "', which is not in '" + file + "'");
  return {};
}

} // namespace

Status saveState(const State &state, const std::string &path, const arrays::Metadata &metadata) {
  std::vector<arrays::SafetensorsWriter::Entry> entries;
  for (const Variable &variable : state.variables())
    if (variable.mirrorOf.empty())
      entries.push_back({variable.name, variable.type.element, variable.type.shape});
  std::vector<std::string> names;
  for (const auto &entry : entries)
    names.push_back(entry.name);
  auto writer = arrays::SafetensorsWriter::create(path, std::move(entries), metadata);
  if (!writer)
    return writer.status();
  std::vector<std::string_view> inOrder;
  for (size_t i : writer->order())
    inOrder.push_back(names[i]);
  GANTRY_RETURN_IF_ERROR(state.readEach(
      inOrder, [&](std::span<const uint8_t> bytes) { return writer->write(bytes); }));
  return writer->commit();
}

Status loadState(State &state, std::span<const NamedView> values, const std::string &file,
                 const StateLoad &how) {
  GANTRY_RETURN_IF_ERROR(checkMap(values, file, how.names));
  std::vector<State::Value> found;
  std::set<std::string_view> given;
  for (const NamedView &value : values) {
    Expected<const Variable *> target = findTarget(state, value, file, how);
    if (!target)
      return target.status();
    if (!*target)
      continue;
    if (!given.insert((*target)->name).second)
      return Status::invalidArgument("variable '" + (*target)->name + "' gets two values of '" +
                                     file + "'");
    // A tensor's memory is written only where it is an output.
    void *data = const_cast<uint8_t *>(value.second.data);
    found.push_back({(*target)->name, Tensor::borrow((*target)->type, data)});
  }
  const bool isWhole =
      std::all_of(state.variables().begin(), state.variables().end(), [&](const Variable &each) {
        return !each.mirrorOf.empty() || given.contains(each.name);
      });
  if (!isWhole && !how.keepMissing)
    return Status::notFound("'" + file + "' has no values for the variables " +
                            describe(state, given));
  return state.write(found);
}

Status loadState(State &state, const std::string &path, const StateLoad &how) {
  auto file = arrays::SafetensorsFile::open(path);
  if (!file)
    return file.status();
  std::vector<NamedView> values;
  for (const arrays::Safetensors::Tensor &tensor : file->content().tensors())
    values.emplace_back(tensor.name, tensor.view());
  return loadState(state, values, path, how);
}

} // namespace gantry::runtime
