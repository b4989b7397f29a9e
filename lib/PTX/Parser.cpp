// Tokens, and what stands outside the braces of functions; see Parser.h.

#include "Parser.h"

#include "gantry/Support/Names.h"

using namespace gantry;
using namespace gantry::ptx;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// The module and its functions
//===----------------------------------------------------------------------===//

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

Space ptx::spaceNamed(std::string_view dotted) {
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

Expected<Module> gantry::ptx::parse(std::string text, std::string file) {
  Module module;
  module.file = std::move(file);
  module.text = std::make_unique<std::string>(std::move(text));
  Parser parser(module);
  GANTRY_RETURN_IF_ERROR(parser.run());
  return module;
}
