#include "ShapeInputs.h"

#include "Console.h"

#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Arrays/Values.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace gantry::tool {

namespace {

bool isInteger(const arrays::Array &array) { return !arrays::isFloat(array.element); }

bool isGivenByFlag(const Options &options, const std::string &name) {
  return std::any_of(
      options.compileFlags.begin(), options.compileFlags.end(),
      [&](const std::string &flag) { return flag.starts_with("value=" + name + "="); });
}

} // namespace

HeldValues::~HeldValues() {
  for (int descriptor : descriptors)
    ::close(descriptor);
}

Expected<std::string> HeldValues::hold(const arrays::Array &array) {
  const int descriptor = ::memfd_create("value.npy", MFD_CLOEXEC);
  if (descriptor < 0)
    return Status::internal("cannot hold a value: " + arrays::systemReason(errno));
  descriptors.push_back(descriptor);
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  // Written through the descriptor: a rename, as for files, would lead away from it.
  const std::string header = arrays::npyHeader(array.element, array.shape);
  if (::write(descriptor, header.data(), header.size()) != static_cast<ssize_t>(header.size()) ||
      ::write(descriptor, array.bytes.data(), array.bytes.size()) !=
          static_cast<ssize_t>(array.bytes.size()))
    return Status::internal("cannot hold a value: " + arrays::systemReason(errno));
  return path;
}

std::vector<std::string> stringsOfJson(std::string_view json, std::string_view key) {
  std::vector<std::string> strings;
  const std::string quoted = "\"" + std::string(key) + "\"";
  size_t at = json.find(quoted);
  if (at == std::string_view::npos)
    return strings;
  at = json.find_first_not_of(" \t\n:", at + quoted.size());
  if (at == std::string_view::npos || json[at] != '[')
    return strings;
  while (++at < json.size() && json[at] != ']') {
    if (json[at] != '"')
      continue;
    std::string text;
    while (++at < json.size() && json[at] != '"') {
      at += json[at] == '\\'; // an escaped quote or backslash stands for itself
      if (at < json.size())
        text += json[at];
    }
    strings.push_back(std::move(text));
  }
  return strings;
}

Expected<HeldValues> takeShapeInputs(Options &options, GivenArrays &inputs) {
  HeldValues held;
  const bool mayMatter = std::any_of(inputs.begin(), inputs.end(), [&](const GivenArray &input) {
    return isInteger(input.array) && !isGivenByFlag(options, input.name);
  });
  // Standard input can be read by the compiler once only, and a missing file is told there.
  if (!mayMatter || options.file == "-" || isPlanFile(options.file))
    return held;
  auto compiler = Compiler::open();
  if (!compiler)
    return compiler.status();
  std::vector<std::string> flags = options.compileFlags;
  flags.push_back("json");
  // Whatever is wrong with the graph will be told when it is compiled.
  const Outcome outcome = compiler->check(options.file, flags, Diagnostics::discard);
  if (!outcome.artifact)
    return held;
  const std::vector<std::string> names = stringsOfJson(outcome.artifact->text(), "shape_inputs");
  for (size_t i = 0; i < inputs.size();) {
    const GivenArray &input = inputs[i];
    if (std::find(names.begin(), names.end(), input.name) == names.end() ||
        isGivenByFlag(options, input.name)) {
      ++i;
      continue;
    }
    auto path = held.hold(input.array);
    if (!path)
      return path.status();
    options.compileFlags.push_back("value=" + input.name + "=" + *path);
    if (!options.quietInputs)
      printNote("input '" + input.name + "' decides shapes: its value " +
                arrays::formatValues(input.array.view()) + " is compiled in");
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return held;
}

} // namespace gantry::tool
