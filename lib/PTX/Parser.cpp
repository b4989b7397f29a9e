// PTX's text to a Module: directives, declarations with their scopes, instructions.
//
// A scope is a pair of braces: registers, variables and labels that are declared in it hide those
// outside (inline assembly declares the same names again and again). Names of code are resolved
// here; variables of the module and functions may be used before they are declared, so those that
// are not known yet are found when the file has ended. Opcodes are taken as they are.
#include "gantry/PTX/Module.h"

#include "Lexer.h"

#include "gantry/Support/Names.h"

#include <bit>
#include <cctype>
#include <cstring>

using namespace gantry;
using namespace gantry::ptx;

namespace {

/// Parsing stops at the first error: every reading function returns at once when there is one.
class Parser {
public:
  Parser(Module &module) : module(module), lexer(*module.text) { advance(); }
  Status run();

private:
  struct Scope {
    std::map<std::string_view, uint32_t> registers; ///< name, or prefix of a numbered range
    std::map<std::string_view, uint32_t> variables;
    std::map<std::string_view, uint32_t> labels;
  };
  struct Range {
    uint32_t first, count;
  };
  struct PendingLabel {
    std::string_view name;
    Place place;
    size_t instruction; ///< or branch targets of the label `targetsOf`
    uint32_t targetsOf;
    std::vector<uint32_t> scopes; ///< from inside to outside
  };

  // Tokens.
  void advance() { token = lexer.next(); }
  bool failed() const { return !failure.ok(); }
  void fail(std::string message) { failAt(token.place, std::move(message)); }
  void failAt(Place place, std::string message, StatusCode code = StatusCode::invalidArgument);
  std::string describeToken() const;
  bool accept(char c);
  void expect(char c);
  bool acceptDotted(std::string_view text);
  std::string_view expectWord(const char *what);
  uint64_t expectInteger(const char *what);

  // Declarations.
  void topLevel();
  void skipSection();
  void file();
  void function(bool isKernel, bool isExtern);
  void parameters(Function &function, std::vector<uint32_t> &list);
  void tuning(Function &function);
  void variables(Space space, bool isExtern, std::vector<Variable> &into, bool inFunction);
  void initialiser(Variable &variable);
  void initialValue(Variable &variable, uint64_t &offset, unsigned elementBytes);
  void registers();

  // Code.
  void body();
  void statement();
  void location();
  void label(std::string_view name, Place place);
  void branchTargets(uint32_t label);
  void instruction(int32_t guard, bool negated, std::string_view first, Place place);
  Operand operand();
  Operand address();
  Operand listOf(char close, Operand::Kind kind);
  Operand wordOperand();
  Operand numberOperand();
  const uint32_t *findRegister(std::string_view name, uint32_t &storage);
  SymbolRef findSymbol(std::string_view name);
  void resolveLabels();
  void resolveLate();

  Module &module;
  Lexer lexer;
  Token token;
  Status failure;

  Function *current = nullptr;
  std::vector<Scope> scopes; ///< of the current function, all that were ever open
  std::vector<uint32_t> open;
  std::vector<Range> ranges;
  std::vector<PendingLabel> pendingLabels;
  SourceLocation source;
  unsigned depth = 0;
  /// Symbols that are not declared yet: filled in at the end.
  std::map<std::string_view, uint32_t> moduleVariables, functions;
  struct Late {
    std::string_view name;
    Place place;
    size_t function, instruction, operand;
    int element;
    bool isAddress;
  };
  struct LateRelocation {
    std::string_view name;
    Place place;
    size_t variable, relocation;
  };
  std::vector<Late> late;
  std::vector<LateRelocation> lateRelocations;
};

constexpr unsigned maxDepth = 64;
constexpr uint64_t maxVariableBytes = uint64_t(1) << 32;
constexpr uint32_t maxRegisters = 1u << 20;

void Parser::failAt(Place place, std::string message, StatusCode code) {
  if (failed())
    return;
  failure = Status(code, printable(module.file) + ":" + std::to_string(place.line) + ":" +
                             std::to_string(place.column) + ": error: " + std::move(message));
  token = Token();
}

std::string Parser::describeToken() const {
  if (token.kind == Token::Kind::end)
    return "the end of the file";
  return "'" + printable(token.text.substr(0, 60)) + "'";
}

bool Parser::accept(char c) {
  if (!token.is(c))
    return false;
  advance();
  return true;
}

void Parser::expect(char c) {
  if (failed() || accept(c))
    return;
  fail(std::string("expected '") + c + "' before " + describeToken());
}

bool Parser::acceptDotted(std::string_view text) {
  if (token.kind != Token::Kind::dotted || token.text != text)
    return false;
  advance();
  return true;
}

std::string_view Parser::expectWord(const char *what) {
  std::string_view text = token.text;
  if (token.kind != Token::Kind::word) {
    if (!failed())
      fail(std::string("expected ") + what + ", not " + describeToken());
    return {};
  }
  advance();
  return text;
}

uint64_t Parser::expectInteger(const char *what) {
  bool minus = accept('-');
  uint64_t value = token.value;
  if (token.kind != Token::Kind::integer) {
    if (!failed())
      fail(std::string("expected ") + what + ", not " + describeToken());
    return 0;
  }
  advance();
  return minus ? 0 - value : value;
}

Status Parser::run() {
  while (!failed() && token.kind != Token::Kind::end)
    topLevel();
  if (!failed())
    resolveLate();
  return failure;
}

/// `.section .debug_info { … }`: what is between the braces is for debuggers.
void Parser::skipSection() {
  while (!failed() && !token.is('{')) {
    if (token.kind == Token::Kind::end)
      return fail("expected '{' of a section before the end of the file");
    advance();
  }
  unsigned braces = 0;
  do {
    if (token.kind == Token::Kind::end)
      return fail("a section does not end");
    braces += token.is('{');
    braces -= token.is('}');
    advance();
  } while (braces);
}

/// `.file 1 "path" [, time, size]`
void Parser::file() {
  uint64_t index = expectInteger("the number of a file");
  if (token.kind != Token::Kind::string)
    return fail("expected the path of a file, not " + describeToken());
  module.sourceFiles[uint32_t(index)] = std::string(token.text);
  advance();
  while (accept(','))
    expectInteger("a number");
}

Space spaceNamed(std::string_view dotted) {
  if (dotted == ".global")
    return Space::global;
  if (dotted == ".shared" || dotted == ".shared::cta")
    return Space::shared;
  if (dotted == ".local")
    return Space::local;
  if (dotted == ".const")
    return Space::constant;
  if (dotted == ".param")
    return Space::param;
  return Space::generic;
}

void Parser::topLevel() {
  if (accept(';'))
    return;
  if (token.is('@')) { // @@DWARF of old compilers, to the end of the line
    uint32_t line = token.place.line;
    while (token.kind != Token::Kind::end && token.place.line == line)
      advance();
    return;
  }
  if (token.kind != Token::Kind::dotted)
    return fail("expected a directive, not " + describeToken());
  if (acceptDotted(".version")) {
    module.version = token.text;
    return advance();
  }
  if (acceptDotted(".target")) {
    module.target = expectWord("a target");
    while (accept(','))
      expectWord("an option of the target");
    return;
  }
  if (acceptDotted(".address_size")) {
    Place place = token.place;
    if (expectInteger("the address size") != 64)
      failAt(place, "only addresses of 64 bits are supported", StatusCode::unsupported);
    return;
  }
  if (acceptDotted(".file"))
    return file();
  if (acceptDotted(".section"))
    return skipSection();
  if (acceptDotted(".pragma")) {
    while (!failed() && token.kind == Token::Kind::string) {
      advance();
      accept(',');
    }
    return expect(';');
  }
  bool isExtern = false;
  while (token.kind == Token::Kind::dotted &&
         (token.text == ".visible" || token.text == ".extern" || token.text == ".weak" ||
          token.text == ".common")) {
    isExtern |= token.text == ".extern";
    advance();
  }
  if (acceptDotted(".entry"))
    return function(true, isExtern);
  if (acceptDotted(".func"))
    return function(false, isExtern);
  Space space = spaceNamed(token.text);
  if (space == Space::generic || space == Space::param)
    return fail("unknown directive " + describeToken());
  advance();
  size_t first = module.variables.size();
  variables(space, isExtern, module.variables, false);
  for (size_t i = first; i < module.variables.size(); ++i)
    moduleVariables[module.variables[i].name] = uint32_t(i);
}

/// What stands after the space: `.align 4 .v2 .f32 name[4][2] = {…}, name2;`
void Parser::variables(Space space, bool isExtern, std::vector<Variable> &into, bool inFunction) {
  uint32_t align = 0;
  unsigned vector = 1;
  Type type = Type::none;
  while (!failed() && token.kind == Token::Kind::dotted) {
    std::string_view word = token.text;
    advance();
    if (word == ".align") {
      uint64_t value = expectInteger("an alignment");
      if (!std::has_single_bit(value) || value > 4096)
        return fail("an alignment is a power of two of at most 4096");
      align = uint32_t(value);
    } else if (word == ".ptr") { // .param .u64 .ptr .global .align 4: what it points to
      while (token.kind == Token::Kind::dotted && spaceNamed(token.text) != Space::generic)
        advance();
      if (acceptDotted(".align"))
        expectInteger("an alignment");
    } else if (word == ".v2" || word == ".v4" || word == ".v8") {
      vector = unsigned(word[2] - '0');
    } else if (word == ".attribute") {
      expect('(');
      while (!failed() && !token.is(')') && token.kind != Token::Kind::end)
        advance();
      expect(')');
    } else if (auto known = typeNamed(word.substr(1))) {
      type = *known;
    } else {
      return fail("'" + printable(word) + "' is no type and no property of a variable");
    }
  }
  if (!failed() && type == Type::none)
    return fail("expected a type before " + describeToken());
  do {
    Variable variable;
    variable.place = token.place;
    variable.name = expectWord("the name of a variable");
    variable.space = space;
    variable.type = type;
    variable.isExtern = isExtern;
    uint64_t count = vector;
    if (token.is('<')) { // name<4>: several of them
      return fail("numbered variables are not supported");
    }
    bool unsized = false;
    while (!failed() && accept('[')) {
      uint64_t extent = 0;
      if (token.is(']'))
        unsized = true;
      else
        extent = expectInteger("the size of an array");
      expect(']');
      if (extent > maxVariableBytes || count * extent > maxVariableBytes)
        return fail("variable '" + printable(variable.name) + "' is too large");
      count *= extent;
    }
    unsigned element = std::max(1u, typeBytes(type));
    variable.size = count * element;
    if (variable.size > maxVariableBytes)
      return fail("variable '" + printable(variable.name) + "' is too large");
    variable.align = align ? align : element * vector;
    if (accept('=')) {
      initialiser(variable);
      if (unsized)
        variable.size = variable.bytes.size();
    }
    if (failed())
      return;
    into.push_back(std::move(variable));
    if (inFunction)
      scopes[open.back()].variables[into.back().name] = uint32_t(into.size() - 1);
  } while (space != Space::param && accept(','));
  if (space != Space::param || inFunction)
    expect(';');
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

void Parser::parameters(Function &function, std::vector<uint32_t> &list) {
  expect('(');
  if (accept(')'))
    return;
  do {
    bool inRegister = token.text == ".reg";
    if (!acceptDotted(".param")) {
      if (inRegister)
        return failAt(token.place, "parameters in registers are not supported",
                      StatusCode::unsupported);
      return fail("expected '.param' before " + describeToken());
    }
    std::vector<Variable> one;
    variables(Space::param, false, one, false);
    if (failed())
      return;
    list.push_back(uint32_t(function.variables.size()));
    function.variables.push_back(std::move(one.front()));
  } while (accept(','));
  expect(')');
}

/// The directives between a signature and its body.
void Parser::tuning(Function &function) {
  while (!failed() && token.kind == Token::Kind::dotted) {
    std::string_view word = token.text;
    advance();
    if (word == ".pragma") {
      while (token.kind == Token::Kind::string)
        advance();
      expect(';');
      continue;
    }
    uint32_t *three = word == ".reqntid"   ? function.requiredThreads
                      : word == ".maxntid" ? function.maxThreads
                                           : nullptr;
    if (three)
      three[0] = three[1] = three[2] = 1;
    for (unsigned i = 0; token.kind == Token::Kind::integer; ++i) {
      if (three && i < 3)
        three[i] = uint32_t(token.value);
      advance();
      if (!accept(','))
        break;
    }
    if (word == ".abi_preserve" || word == ".abi_preserve_control")
      continue;
  }
}

void Parser::function(bool isKernel, bool isExtern) {
  Function made;
  made.isKernel = isKernel;
  scopes.assign(1, {});
  open.assign(1, 0);
  ranges.clear();
  pendingLabels.clear();
  source = {};
  if (token.is('('))
    parameters(made, made.results);
  made.place = token.place;
  made.name = expectWord("the name of a function");
  if (token.is('('))
    parameters(made, made.parameters);
  tuning(made);
  if (failed())
    return;
  for (size_t i = 0; i < made.variables.size(); ++i)
    scopes[0].variables[made.variables[i].name] = uint32_t(i);

  // A declaration and the definition are one function.
  auto [entry, isNew] = functions.try_emplace(made.name, uint32_t(module.functions.size()));
  uint32_t index = entry->second;
  if (isNew)
    module.functions.push_back({});
  if (accept(';') || isExtern) {
    if (isNew)
      module.functions[index] = std::move(made);
    return;
  }
  if (module.functions[index].isDefined)
    return failAt(made.place, "function '" + printable(made.name) + "' is defined twice");
  made.isDefined = true;
  current = &made;
  expect('{');
  body();
  if (!failed())
    resolveLabels();
  current = nullptr;
  // What is found at the end of the file was noted with the index to come.
  for (Late &entry : late)
    if (entry.function == SIZE_MAX)
      entry.function = index;
  if (!failed())
    module.functions[index] = std::move(made);
}

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
    uint32_t storage;
    const uint32_t *found = findRegister(name, storage);
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

/// The register of that name in the innermost scope; ranges by their number.
const uint32_t *Parser::findRegister(std::string_view name, uint32_t &storage) {
  size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])))
    --digits;
  for (size_t i = open.size(); i-- > 0;) {
    const Scope &scope = scopes[open[i]];
    if (auto found = scope.registers.find(name);
        found != scope.registers.end() && !ranges[found->second].count) {
      storage = ranges[found->second].first;
      return &storage;
    }
    // The prefix of %rd12 is %rd, but a range may itself be named with digits: %f1<3>.
    for (size_t cut = digits; cut < name.size(); ++cut) {
      auto found = scope.registers.find(name.substr(0, cut));
      if (found == scope.registers.end() || name.size() - cut > 9)
        continue;
      uint32_t value = 0;
      for (char c : name.substr(cut))
        value = value * 10 + uint32_t(c - '0');
      if (value < ranges[found->second].count) {
        storage = ranges[found->second].first + value;
        return &storage;
      }
    }
  }
  return nullptr;
}

SymbolRef Parser::findSymbol(std::string_view name) {
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
  uint32_t storage;
  if (const uint32_t *found = findRegister(token.text, storage)) {
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

/// `[%rd1+4]`, `[name+8]`, `[128]`
Operand Parser::address() {
  Operand made;
  made.kind = Operand::Kind::address;
  const char *begin = token.text.data();
  expect('[');
  if (token.kind == Token::Kind::word) {
    uint32_t storage;
    if (const uint32_t *found = findRegister(token.text, storage)) {
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

} // namespace

Expected<Module> gantry::ptx::parse(std::string text, std::string file) {
  Module module;
  module.file = std::move(file);
  module.text = std::make_unique<std::string>(std::move(text));
  Parser parser(module);
  GANTRY_RETURN_IF_ERROR(parser.run());
  return module;
}
