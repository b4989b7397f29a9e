// Declarations of variables, with their initial values, and of registers; see Parser.h.

#include "Parser.h"

#include "gantry/Support/Names.h"

#include <bit>

using namespace gantry;
using namespace gantry::ptx;

static constexpr uint64_t maxVariableBytes = uint64_t(1) << 32;
static constexpr uint32_t maxRegisters = 1u << 20;

/// What stands after the space: `.align 4 .v2 .f32 name[4][2] = {…}, name2;`
void Parser::variables(Space space, bool isExtern, std::vector<Variable> &into, bool inFunction) {
  const VariableType type = variableType();
  if (failed())
    return;
  do {
    Variable made = variable(type);
    if (failed())
      return;
    made.space = space;
    made.isExtern = isExtern;
    into.push_back(std::move(made));
    if (inFunction)
      scopes[open.back()].variables[into.back().name] = uint32_t(into.size() - 1);
  } while (space != Space::param && accept(','));
  if (space != Space::param || inFunction)
    expect(';');
}

Parser::VariableType Parser::variableType() {
  VariableType made;
  while (!failed() && token.kind == Token::Kind::dotted) {
    std::string_view word = token.text;
    advance();
    if (word == ".align") {
      uint64_t value = expectInteger("an alignment");
      if (!std::has_single_bit(value) || value > 4096)
        fail("an alignment is a power of two of at most 4096");
      made.align = uint32_t(value);
    } else if (word == ".ptr") { // .param .u64 .ptr .global .align 4: what it points to
      while (token.kind == Token::Kind::dotted && spaceNamed(token.text) != Space::generic)
        advance();
      if (acceptDotted(".align"))
        expectInteger("an alignment");
    } else if (word == ".v2" || word == ".v4" || word == ".v8") {
      made.vector = unsigned(word[2] - '0');
    } else if (word == ".attribute") {
      expect('(');
      while (!failed() && !token.is(')') && token.kind != Token::Kind::end)
        advance();
      expect(')');
    } else if (auto known = typeNamed(word.substr(1))) {
      made.type = *known;
    } else {
      fail("'" + printable(word) + "' is no type and no property of a variable");
    }
  }
  if (!failed() && made.type == Type::none)
    fail("expected a type before " + describeToken());
  return made;
}

/// `name[4][2] = {…}`
Variable Parser::variable(const VariableType &of) {
  Variable made;
  made.place = token.place;
  made.name = expectWord("the name of a variable");
  made.type = of.type;
  if (token.is('<')) // name<4>: several of them
    fail("numbered variables are not supported");
  const unsigned element = std::max(1u, typeBytes(of.type));
  uint64_t count = of.vector;
  bool isUnsized = false, isTooLarge = false;
  while (!failed() && !isTooLarge && accept('[')) {
    isUnsized |= token.is(']');
    uint64_t extent = token.is(']') ? 0 : expectInteger("the size of an array");
    expect(']');
    isTooLarge = extent > maxVariableBytes || count * extent > maxVariableBytes;
    count *= extent;
  }
  made.size = count * element;
  if (isTooLarge || made.size > maxVariableBytes)
    fail("variable '" + printable(made.name) + "' is too large");
  made.align = of.align ? of.align : element * of.vector;
  if (!failed() && accept('=')) {
    initialiser(made);
    if (isUnsized)
      made.size = made.bytes.size();
  }
  return made;
}

void Parser::initialiser(Variable &variable) {
  uint64_t offset = 0;
  unsigned element = std::max(1u, typeBytes(variable.type));
  unsigned braces = 0;
  do {
    if (accept('{')) {
      if (++braces > maxDepth)
        return fail("an initialiser is nested too deeply");
      continue;
    }
    if (accept('}')) {
      --braces;
      accept(',');
      continue;
    }
    initialValue(variable, offset, element);
    if (!token.is('}') && braces)
      expect(',');
  } while (!failed() && braces);
  if (!failed() && variable.size && variable.bytes.size() > variable.size)
    fail("variable '" + printable(variable.name) + "' has more initial values than elements");
}

/// A number, or an address: `sym`, `sym+4`, `generic(sym)`.
void Parser::initialValue(Variable &variable, uint64_t &offset, unsigned bytes) {
  uint64_t value = 0;
  if (token.kind == Token::Kind::word) {
    Relocation relocation;
    relocation.offset = offset;
    relocation.width = bytes;
    std::string_view name = expectWord("a name");
    bool generic = name == "generic" && accept('(');
    if (generic)
      name = expectWord("a name");
    lateRelocations.push_back(
        {name, token.place, module.variables.size(), variable.relocations.size()});
    if (accept('+'))
      relocation.addend = int64_t(expectInteger("an offset"));
    if (generic)
      expect(')');
    if (accept('+'))
      relocation.addend += int64_t(expectInteger("an offset"));
    if (current)
      return fail("initialisers with addresses are supported in the module only");
    variable.relocations.push_back(relocation);
  } else {
    bool minus = accept('-');
    value = token.value;
    if (token.kind == Token::Kind::real && bytes == 4)
      value = std::bit_cast<uint32_t>(float(std::bit_cast<double>(value)));
    else if (token.kind == Token::Kind::single && bytes == 8)
      value = std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(value))));
    else if (token.kind != Token::Kind::integer && token.kind != Token::Kind::single &&
             token.kind != Token::Kind::real)
      return fail("expected a number or a name in an initialiser, not " + describeToken());
    bool real = token.kind != Token::Kind::integer;
    advance();
    if (minus)
      value = real ? value ^ (uint64_t(1) << (bytes * 8 - 1)) : 0 - value;
  }
  variable.bytes.resize(offset + bytes);
  for (unsigned i = 0; i < bytes && i < 8; ++i)
    variable.bytes[offset + i] = uint8_t(value >> (8 * i));
  offset += bytes;
}

void Parser::registers() {
  Type type = Type::none;
  while (token.kind == Token::Kind::dotted) {
    auto known = typeNamed(token.text.substr(1));
    if (!known)
      return fail("registers of type " + describeToken() + " are not supported");
    type = *known;
    advance();
  }
  if (type == Type::none)
    return fail("expected the type of registers before " + describeToken());
  Scope &scope = scopes[open.back()];
  do {
    std::string_view name = expectWord("the name of a register");
    uint64_t count = 1;
    bool numbered = accept('<');
    if (numbered) {
      count = expectInteger("the number of registers");
      expect('>');
    }
    if (failed())
      return;
    if (current->registers.size() + count > maxRegisters)
      return fail("function '" + printable(current->name) + "' has more than " +
                  std::to_string(maxRegisters) + " registers");
    scope.registers[name] = uint32_t(ranges.size());
    ranges.push_back({uint32_t(current->registers.size()), uint32_t(numbered ? count : 0)});
    for (uint64_t i = 0; i < count; ++i)
      current->registers.push_back({name, numbered ? int32_t(i) : -1, type});
  } while (accept(','));
  expect(';');
}
