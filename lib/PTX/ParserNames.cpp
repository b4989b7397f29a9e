// What names mean: registers and symbols where they are read, labels at the end of a function, the
// rest at the end of the file; see Parser.h.

#include "Parser.h"

#include "gantry/Support/Names.h"

#include <cctype>

using namespace gantry;
using namespace gantry::ptx;

/// The register of that name in the innermost scope; ranges by their number.
std::optional<uint32_t> Parser::findRegister(std::string_view name) const {
  size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])))
    --digits;
  for (size_t i = open.size(); i-- > 0;) {
    const Scope &scope = scopes[open[i]];
    if (auto found = scope.registers.find(name);
        found != scope.registers.end() && !ranges[found->second].count)
      return ranges[found->second].first;
    // The prefix of %rd12 is %rd, but a range may itself be named with digits: %f1<3>.
    for (size_t cut = digits; cut < name.size(); ++cut) {
      auto found = scope.registers.find(name.substr(0, cut));
      if (found == scope.registers.end() || name.size() - cut > 9)
        continue;
      uint32_t value = 0;
      for (char c : name.substr(cut))
        value = value * 10 + uint32_t(c - '0');
      if (value < ranges[found->second].count)
        return ranges[found->second].first + value;
    }
  }
  return std::nullopt;
}

SymbolRef Parser::findSymbol(std::string_view name) const {
  for (size_t i = open.size(); i-- > 0;) {
    auto found = scopes[open[i]].variables.find(name);
    if (found != scopes[open[i]].variables.end())
      return {SymbolRef::Scope::function, found->second};
  }
  if (auto found = moduleVariables.find(name); found != moduleVariables.end())
    return {SymbolRef::Scope::module, found->second};
  if (auto found = functions.find(name); found != functions.end())
    return {SymbolRef::Scope::code, found->second};
  return {};
}

/// Labels of the function; what is none may be a variable or function that is declared below.
void Parser::resolveLabels() {
  for (const PendingLabel &pending : pendingLabels) {
    const uint32_t *target = nullptr;
    for (uint32_t scope : pending.scopes)
      if (auto found = scopes[scope].labels.find(pending.name);
          found != scopes[scope].labels.end()) {
        target = &found->second;
        break;
      }
    if (pending.instruction == SIZE_MAX) {
      if (!target)
        return failAt(pending.place, "no label '" + printable(pending.name) + "'");
      current->branchTargets[pending.targetsOf].push_back(*target);
      continue;
    }
    size_t position = pending.targetsOf / 1024;
    int element = int(pending.targetsOf % 1024) - 1;
    Operand &whole = current->instructions[pending.instruction].operands[position];
    Operand &one = element < 0 ? whole : whole.elements[size_t(element)];
    if (target) {
      one.index = *target;
    } else {
      one.kind = Operand::Kind::symbol;
      late.push_back(
          {pending.name, pending.place, SIZE_MAX, pending.instruction, position, element, false});
    }
  }
}

/// Names that were used before they were declared.
void Parser::resolveLate() {
  auto find = [&](std::string_view name, Place place) {
    SymbolRef found;
    if (auto variable = moduleVariables.find(name); variable != moduleVariables.end())
      found = {SymbolRef::Scope::module, variable->second};
    else if (auto code = functions.find(name); code != functions.end())
      found = {SymbolRef::Scope::code, code->second};
    else
      failAt(place, "no register, label, variable or function '" + printable(name) + "'");
    return found;
  };
  for (const Late &entry : late) {
    Operand &whole =
        module.functions[entry.function].instructions[entry.instruction].operands[entry.operand];
    Operand &one = entry.element < 0 ? whole : whole.elements[size_t(entry.element)];
    one.symbol = find(entry.name, entry.place);
    if (failed())
      return;
  }
  for (const LateRelocation &entry : lateRelocations) {
    SymbolRef found = find(entry.name, entry.place);
    if (failed())
      return;
    module.variables[entry.variable].relocations[entry.relocation].symbol = found;
  }
}
