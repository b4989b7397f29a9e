// Reads PTX's text: directives, declarations with their scopes, instructions.
//
// A scope is a pair of braces: registers, variables and labels that are declared in it hide those
// outside (inline assembly declares the same names again and again). Names of code are resolved
// here; variables of the module and functions may be used before they are declared, so those that
// are not known yet are found when the file has ended. Opcodes are taken as they are.
#pragma once

#include "Lexer.h"

#include "gantry/PTX/Module.h"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace gantry::ptx {

/// Of scopes, operands and initialisers within each other.
inline constexpr unsigned maxDepth = 64;

/// The space of ".global" and its like; generic for other words.
Space spaceNamed(std::string_view dotted);

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
  struct IndexRange {
    uint32_t first, count;
  };
  struct PendingLabel {
    std::string_view name;
    Place place;
    size_t instruction; ///< or branch targets of the label `targetsOf`
    uint32_t targetsOf;
    std::vector<uint32_t> scopes; ///< from inside to outside
  };

  //===--- Tokens (Parser.cpp) ---===//

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

  //===--- The module and its functions (Parser.cpp) ---===//

  void topLevel();
  void skipSection();
  void file();
  void function(bool isKernel, bool isExtern);
  void parameters(Function &function, std::vector<uint32_t> &list);
  void tuning(Function &function);

  //===--- Variables and registers (ParserVariables.cpp) ---===//

  struct VariableType {
    uint32_t align = 0; ///< 0: that of the type
    unsigned vector = 1;
    Type type = Type::none;
  };
  VariableType variableType();
  Variable variable(const VariableType &of);
  void variables(Space space, bool isExtern, std::vector<Variable> &into, bool inFunction);
  void initialiser(Variable &variable);
  void initialValue(Variable &variable, uint64_t &offset, unsigned elementBytes);
  void registers();

  //===--- Code (ParserCode.cpp) ---===//

  void body();
  void statement();
  void location();
  void label(std::string_view name, Place place);
  void branchTargets(uint32_t label);
  void instruction(int32_t guard, bool negated, std::string_view first, Place place);

  //===--- Operands (ParserOperands.cpp) ---===//

  Operand operand();
  Operand address();
  Operand listOf(char close, Operand::Kind kind);
  Operand wordOperand();
  Operand numberOperand();

  //===--- Names (ParserNames.cpp) ---===//

  std::optional<uint32_t> findRegister(std::string_view name) const;
  SymbolRef findSymbol(std::string_view name) const;
  void resolveLabels();
  void resolveLate();

  Module &module;
  Lexer lexer;
  Token token;
  Status failure;

  Function *current = nullptr;
  std::vector<Scope> scopes; ///< of the current function, all that were ever open
  std::vector<uint32_t> open;
  std::vector<IndexRange> ranges;
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

} // namespace gantry::ptx
