// The body of a function: scopes, labels, instructions; see Parser.h.

#include "Parser.h"

#include "gantry/Support/Names.h"

using namespace gantry;
using namespace gantry::ptx;

/// Up to the brace that closes the function or scope.
void Parser::body() {
  if (++depth > maxDepth)
    return fail("scopes are nested too deeply");
  while (!failed() && !token.is('}')) {
    if (token.kind == Token::Kind::end)
      return fail("function '" + printable(current->name) + "' does not end");
    statement();
  }
  --depth;
  expect('}');
}

void Parser::statement() {
  if (accept(';'))
    return;
  if (accept('{')) {
    open.push_back(uint32_t(scopes.size()));
    scopes.push_back({});
    body();
    if (!failed())
      open.pop_back();
    return;
  }
  if (token.kind == Token::Kind::dotted) {
    if (acceptDotted(".reg"))
      return registers();
    if (acceptDotted(".loc"))
      return location();
    if (acceptDotted(".pragma")) {
      while (token.kind == Token::Kind::string || token.is(','))
        advance();
      return expect(';');
    }
    Space space = spaceNamed(token.text);
    if (space == Space::generic)
      return fail("unknown directive " + describeToken());
    advance();
    return variables(space, false, current->variables, true);
  }
  int32_t guard = -1;
  bool negated = false;
  if (accept('@')) {
    negated = accept('!');
    Place place = token.place;
    std::string_view name = expectWord("a predicate");
    std::optional<uint32_t> found = findRegister(name);
    if (!found)
      return failAt(place, "no register '" + printable(name) + "'");
    guard = int32_t(*found);
    if (current->registers[*found].type != Type::pred)
      return failAt(place, "register '" + printable(name) + "' is no predicate");
  }
  Place place = token.place;
  std::string_view first = expectWord("an instruction");
  if (failed())
    return;
  if (guard < 0 && accept(':'))
    return label(first, place);
  instruction(guard, negated, first, place);
}

/// `.loc file line column [, function_name $L, inlined_at file line column]`
void Parser::location() {
  source = {};
  source.file = uint32_t(expectInteger("the number of a file"));
  source.line = uint32_t(expectInteger("a line"));
  source.column = token.kind == Token::Kind::integer ? uint32_t(expectInteger("a column")) : 0;
  while (accept(',')) {
    std::string_view word = expectWord("'function_name' or 'inlined_at'");
    if (word == "function_name") {
      expectWord("a label");
      if (accept('+'))
        expectInteger("an offset");
    } else {
      source.callerFile = uint32_t(expectInteger("the number of a file"));
      source.callerLine = uint32_t(expectInteger("a line"));
      expectInteger("a column");
    }
  }
}

void Parser::label(std::string_view name, Place place) {
  uint32_t index = uint32_t(current->labels.size());
  if (!scopes[open.back()].labels.try_emplace(name, index).second)
    return failAt(place, "label '" + printable(name) + "' is there twice");
  current->labels.push_back(name);
  current->labelTargets.push_back(uint32_t(current->instructions.size()));
  if (acceptDotted(".branchtargets"))
    branchTargets(index);
  else if (acceptDotted(".callprototype")) {
    while (!failed() && !token.is(';') && token.kind != Token::Kind::end)
      advance();
    expect(';');
  }
}

void Parser::branchTargets(uint32_t label) {
  current->branchTargets[label];
  do {
    Place place = token.place;
    std::string_view name = expectWord("a label");
    pendingLabels.push_back({name, place, SIZE_MAX, label, {open.rbegin(), open.rend()}});
  } while (accept(','));
  expect(';');
}

void Parser::instruction(int32_t guard, bool negated, std::string_view first, Place place) {
  Instruction made;
  made.place = place;
  made.source = source;
  made.guard = guard;
  made.guardNegated = negated;
  const char *end = first.data() + first.size();
  while (token.kind == Token::Kind::dotted && !token.afterSpace) {
    end = token.text.data() + token.text.size();
    advance();
  }
  made.opcode = std::string_view(first.data(), size_t(end - first.data()));
  size_t index = current->instructions.size();
  while (!failed() && !token.is(';')) {
    if (token.kind == Token::Kind::end)
      return fail("expected ';' before the end of the file");
    Place where = token.place;
    Operand read = operand();
    if (accept('|')) {
      made.second = operand();
    }
    if (failed())
      return;
    size_t position = made.operands.size();
    auto note = [&](const Operand &one, int element) {
      if (one.kind == Operand::Kind::label)
        pendingLabels.push_back({one.text,
                                 where,
                                 index,
                                 uint32_t(position) * 1024 + uint32_t(element + 1),
                                 {open.rbegin(), open.rend()}});
      else if ((one.kind == Operand::Kind::symbol || one.kind == Operand::Kind::address) &&
               one.symbol.scope == SymbolRef::Scope::none && !one.hasBase && !one.text.empty())
        late.push_back({one.text, where, SIZE_MAX, index, position, element,
                        one.kind == Operand::Kind::address});
    };
    note(read, -1);
    for (size_t i = 0; i < read.elements.size() && i < 1000; ++i)
      note(read.elements[i], int(i));
    made.operands.push_back(std::move(read));
    if (!token.is(';'))
      expect(',');
  }
  expect(';');
  if (!failed())
    current->instructions.push_back(std::move(made));
}
