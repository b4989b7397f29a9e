// A PTX file as it was written: variables, functions, instructions, with names resolved to indices
// and a place for each. Nothing is known yet of what an opcode does; that is KernelProgram.h.
#pragma once

#include "gantry/PTX/Types.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::ptx {

struct Place {
  uint32_t line = 0, column = 0;
};

/// Where an instruction comes from: the `.loc` before it. File 0: nowhere.
struct SourceLocation {
  uint32_t file = 0, line = 0, column = 0;
  uint32_t callerFile = 0, callerLine = 0; ///< of what was inlined
};

/// A variable that an operand or an initialiser names.
struct SymbolRef {
  enum class Scope : uint8_t { none, module, function, code } scope = Scope::none;
  uint32_t index = 0;
};

struct Operand {
  enum class Kind : uint8_t {
    none,
    reg,     ///< index is the function's register
    special, ///< text is its name: "%tid.x"
    integer, ///< value
    real,    ///< value holds the bits of an f64, or of an f32 when `single`
    symbol,  ///< symbol + value
    address, ///< [base + value]: base a register (index), a symbol, or nothing
    vector,  ///< elements
    label,   ///< index is the function's label
    sink,    ///< "_"
    list     ///< the parenthesised lists of a call
  };
  Kind kind = Kind::none;
  bool negated = false; ///< "!%p1"
  bool single = false;
  bool hasBase = false;
  uint32_t index = 0;
  int64_t value = 0;
  SymbolRef symbol;
  std::string_view text; ///< as it was written, for messages
  std::vector<Operand> elements;
};

struct Instruction {
  std::string_view opcode; ///< in full: "ld.global.nc.f32"
  Place place;
  SourceLocation source;
  std::vector<Operand> operands;
  /// The `%p` of `%r1|%p` or `%p1|%p2`, for the first operand.
  Operand second;
  int32_t guard = -1; ///< register of `@%p`, or -1
  bool guardNegated = false;
};

struct Register {
  std::string_view name; ///< of `%r<5>`: "%r"
  int32_t number = -1;   ///< of `%r<5>`: 0 … 4
  Type type = Type::none;
};

/// What an initialiser puts at `offset`: bytes are in Variable::bytes, addresses of symbols are
/// here.
struct Relocation {
  uint64_t offset = 0;
  uint32_t width = 8;
  SymbolRef symbol;
  int64_t addend = 0;
};

struct Variable {
  std::string_view name;
  Space space = Space::global;
  Type type = Type::b8;
  uint64_t size = 0; ///< bytes; 0 for `.extern .shared .b8 x[]`
  uint32_t align = 1;
  bool isExtern = false;
  Place place;
  std::vector<uint8_t> bytes; ///< the initialiser; shorter than size: zeros follow
  std::vector<Relocation> relocations;
};

struct Function {
  std::string_view name;
  bool isKernel = false;
  bool isDefined = false;
  Place place;
  std::vector<uint32_t> parameters; ///< indices into variables
  std::vector<uint32_t> results;
  std::vector<Variable> variables; ///< parameters, .local, .shared and the .param of calls
  std::vector<Register> registers;
  std::vector<std::string_view> labels;
  std::vector<uint32_t> labelTargets; ///< index of an instruction; may be one past the last
  std::vector<Instruction> instructions;
  std::map<uint32_t, std::vector<uint32_t>> branchTargets; ///< label of a .branchtargets: labels
  uint32_t requiredThreads[3] = {0, 0, 0};                 ///< .reqntid
  uint32_t maxThreads[3] = {0, 0, 0};                      ///< .maxntid
};

struct Module {
  std::string file;                  ///< for messages
  std::unique_ptr<std::string> text; ///< what all names point into
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::map<uint32_t, std::string> sourceFiles; ///< of `.file`

  const Function *find(std::string_view name) const;
  /// "model.onnx:12", or "" for nowhere.
  std::string describe(SourceLocation location) const;
};

/// Reads a whole PTX file. Errors: INVALID_ARGUMENT with FILE:LINE:COLUMN; UNSUPPORTED what PTX has
/// and this does not.
Expected<Module> parse(std::string text, std::string file);

/// A register as it was written: "%r12".
std::string registerName(const Register &reg);

} // namespace gantry::ptx
