// Operands of instructions; see Parser.h.

#include "Parser.h"

#include "gantry/Support/Names.h"

#include <cctype>

using namespace gantry;
using namespace gantry::ptx;

Operand Parser::operand() {
  if (token.is('['))
    return address();
  if (token.is('{'))
    return listOf('}', Operand::Kind::vector);
  if (token.is('('))
    return listOf(')', Operand::Kind::list);
  if (accept('!')) {
    Operand made = operand();
    made.negated = !made.negated;
    return made;
  }
  if (token.kind == Token::Kind::word)
    return wordOperand();
  return numberOperand();
}

Operand Parser::listOf(char close, Operand::Kind kind) {
  Operand made;
  made.kind = kind;
  advance();
  if (++depth > maxDepth)
    fail("operands are nested too deeply");
  while (!failed() && !token.is(close)) {
    made.elements.push_back(operand());
    if (!token.is(close))
      expect(',');
  }
  --depth;
  expect(close);
  return made;
}

/// `[%rd1+4]`, `[name+8]`, `[128]`
Operand Parser::address() {
  Operand made;
  made.kind = Operand::Kind::address;
  const char *begin = token.text.data();
  expect('[');
  if (token.kind == Token::Kind::word) {
    if (std::optional<uint32_t> found = findRegister(token.text)) {
      made.hasBase = true;
      made.index = *found;
    } else {
      made.symbol = findSymbol(token.text);
      made.text = token.text;
    }
    advance();
  } else {
    made.value = int64_t(expectInteger("an address"));
  }
  while (!failed() && (token.is('+') || token.is('-'))) {
    bool minus = token.is('-');
    advance();
    int64_t offset = int64_t(expectInteger("an offset"));
    made.value += minus ? -offset : offset;
  }
  if (token.is(',')) {
    failAt(token.place, "addresses with coordinates are not supported", StatusCode::unsupported);
    return made;
  }
  if (made.hasBase || made.symbol.scope != SymbolRef::Scope::none)
    made.text = std::string_view(begin, size_t(token.text.data() + token.text.size() - begin));
  expect(']');
  return made;
}

Operand Parser::wordOperand() {
  Operand made;
  made.text = token.text;
  if (token.text == "_") {
    made.kind = Operand::Kind::sink;
    advance();
    return made;
  }
  if (token.text == "WARP_SZ") {
    made.kind = Operand::Kind::integer;
    made.value = 32;
    advance();
    return made;
  }
  if (std::optional<uint32_t> found = findRegister(token.text)) {
    made.kind = Operand::Kind::reg;
    made.index = *found;
    advance();
    return made;
  }
  if (token.text.front() == '%') {
    made.kind = Operand::Kind::special;
    Place place = token.place;
    advance();
    if (token.kind == Token::Kind::dotted && !token.afterSpace) {
      made.text = std::string_view(made.text.data(), made.text.size() + token.text.size());
      advance();
    } else if (made.text.size() > 2 && std::isdigit(static_cast<unsigned char>(made.text.back())) &&
               made.text.substr(0, 4) != "%pm0" && made.text.substr(0, 5) != "%envr" &&
               made.text.substr(0, 6) != "%clock") {
      failAt(place, "no register '" + printable(made.text) + "'");
    }
    return made;
  }
  SymbolRef symbol = findSymbol(token.text);
  bool isFunction = functions.count(token.text);
  advance();
  // What is not declared yet may be a label below, a variable or a function: labels are told apart
  // by the instruction, when they are resolved.
  made.kind = Operand::Kind::symbol;
  made.symbol = symbol;
  if (symbol.scope == SymbolRef::Scope::none && !isFunction)
    made.kind = Operand::Kind::label;
  if (accept('+')) {
    made.value = int64_t(expectInteger("an offset"));
    if (made.kind == Operand::Kind::label)
      made.kind = Operand::Kind::symbol;
  }
  return made;
}

Operand Parser::numberOperand() {
  Operand made;
  const char *begin = token.text.data();
  bool minus = accept('-');
  bool invert = !minus && accept('~');
  made.value = int64_t(token.value);
  if (token.kind == Token::Kind::integer) {
    made.kind = Operand::Kind::integer;
    if (minus)
      made.value = int64_t(0 - token.value);
    if (invert)
      made.value = ~made.value;
  } else if (token.kind == Token::Kind::real || token.kind == Token::Kind::single) {
    made.kind = Operand::Kind::real;
    made.single = token.kind == Token::Kind::single;
    if (minus)
      made.value = int64_t(token.value ^ (uint64_t(1) << (made.single ? 31 : 63)));
  } else {
    fail("expected an operand, not " + describeToken());
    return made;
  }
  made.text = std::string_view(begin, size_t(token.text.data() + token.text.size() - begin));
  advance();
  return made;
}
