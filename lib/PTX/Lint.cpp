#include "gantry/PTX/Lint.h"

#include "Decoder.h"

#include "gantry/Support/Names.h"

#include <algorithm>

using namespace gantry;
using namespace gantry::ptx;

namespace {

/// Whether ".approx" is a modifier of the opcode.
bool hasModifier(std::string_view opcode, std::string_view modifier) {
  for (size_t at = opcode.find(modifier); at != opcode.npos; at = opcode.find(modifier, at + 1)) {
    size_t end = at + modifier.size();
    if (end == opcode.size() || opcode[end] == '.')
      return true;
  }
  return false;
}

bool isAllowed(std::string_view rule, std::string_view opcode,
               std::span<const std::string> allowed) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string &each) {
    bool begins = opcode.substr(0, each.size()) == each;
    return each == rule || (begins && (opcode.size() == each.size() || opcode[each.size()] == '.'));
  });
}

} // namespace

std::vector<std::string_view> gantry::ptx::knownOpcodes() {
  std::vector<std::string_view> names;
  for (auto list : {arithmeticOpcodes(), memoryOpcodes(), controlOpcodes(), matrixOpcodes()})
    for (const OpcodeEntry &entry : list)
      names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Finding> gantry::ptx::lint(const Module &module, std::span<const std::string> allowed) {
  const std::vector<std::string_view> known = knownOpcodes();
  std::vector<Finding> findings;
  for (const Function &function : module.functions)
    for (const Instruction &instruction : function.instructions) {
      auto find = [&](std::string_view rule) {
        if (!isAllowed(rule, instruction.opcode, allowed))
          findings.push_back({rule, std::string(function.name), instruction.place,
                              module.describe(instruction.source),
                              std::string(instruction.opcode)});
      };
      std::string_view name = instruction.opcode.substr(0, instruction.opcode.find('.'));
      if (!std::binary_search(known.begin(), known.end(), name))
        find("opcode");
      if (hasModifier(instruction.opcode, ".approx") || hasModifier(instruction.opcode, ".full"))
        find("approx");
      if (hasModifier(instruction.opcode, ".ftz"))
        find("ftz");
      if (hasModifier(instruction.opcode, ".local"))
        find("local");
    }
  return findings;
}

std::string Finding::text(std::string_view file) const {
  std::string made = printable(file) + ":" + std::to_string(place.line) + ":" +
                     std::to_string(place.column) + ": error: '" + printable(opcode) + "' in '" +
                     printable(function) + "'";
  if (!source.empty())
    made += ", from " + source + ",";
  if (rule == "approx")
    return made + " is approximate; allow it with --allow=approx or --allow=" + printable(opcode);
  if (rule == "ftz")
    return made +
           " flushes subnormal numbers; allow it with --allow=ftz or --allow=" + printable(opcode);
  if (rule == "local")
    return made +
           " uses local memory, which is global memory of each thread; allow it with "
           "--allow=local or --allow=" +
           printable(opcode);
  return made + " is no opcode that is known";
}
