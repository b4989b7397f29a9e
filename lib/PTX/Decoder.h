// From instructions as they are written to ops: operands become slots, opcodes handlers.
//
// Each family of opcodes has a file (Decode*.cpp) and adds its entries to the table of opcodes
// there; an entry reads the modifiers that it knows, and what is left over is an error that names
// the opcode.
#pragma once

#include "Compute.h"
#include "KernelProgram.h"

#include <map>
#include <optional>

namespace gantry::ptx {

class Decoder;

/// An opcode that is known.
struct OpcodeEntry {
  std::string_view name;
  void (Decoder::*decode)();
};
std::span<const OpcodeEntry> arithmeticOpcodes();
std::span<const OpcodeEntry> memoryOpcodes();
std::span<const OpcodeEntry> controlOpcodes();
std::span<const OpcodeEntry> matrixOpcodes();

/// "ld.global.nc.f32" in parts.
class Opcode {
public:
  explicit Opcode(std::string_view text);
  std::string_view name;
  /// Whether the modifier is there; it counts as understood from then on.
  bool take(std::string_view modifier);
  /// The same for all that begin so: ".L2::".
  void skipPrefix(std::string_view prefix);
  /// The next type, from left to right; none when there is no further one.
  Type takeType();
  /// One of several: its index, or none.
  std::optional<unsigned> takeOneOf(std::initializer_list<std::string_view> names);
  /// A modifier that nobody took, or "".
  std::string_view left() const;

private:
  struct Part {
    std::string_view text;
    bool used;
  };
  std::vector<Part> parts;
};

class Decoder {
public:
  Decoder(const Image &image, KernelProgram &program)
      : image(image), module(image.module()), program(program) {}
  Status run(const Function &kernel);

  // Families, by file. Arithmetic:
  void decodeSimple();
  void decodeMultiply();
  void decodeCarry();
  void decodeLogic();
  void decodeShift();
  void decodeSetp();
  void decodeSet();
  void decodeTestp();
  void decodeSelp();
  void decodeSlct();
  void decodeMove();
  void decodeConvert();
  void decodeBits();
  void decodePermute();
  void decodeLop3();
  void decodeFunnel();
  void decodeDot();
  // Memory:
  void decodeLoad();
  void decodeStore();
  void decodeAtomic();
  void decodeCvta();
  void decodeIsspacep();
  void decodeCopyAsync();
  void decodeIgnored();
  void decodeFence();
  void decodeMbarrier();
  void decodeMapa();
  // Control:
  void decodeBranch();
  void decodeBranchIndexed();
  void decodeCall();
  void decodeReturn();
  void decodeExit();
  void decodeTrap();
  void decodeBarrier();
  void decodeShuffle();
  void decodeVote();
  void decodeMatch();
  void decodeRedux();
  void decodeActiveMask();
  void decodeElect();
  // Matrices:
  void decodeLoadMatrix();
  void decodeStoreMatrix();
  void decodeMma();
  void decodeWmma();

private:
  /// Where a variable of a function lives during one expansion of it.
  struct Home {
    Space space = Space::local;
    int64_t offset = -1;
  };
  struct Frame {
    const Function *function;
    std::vector<Slot> registers;
    std::vector<uint8_t> definitions; ///< of each register, at most 2
    std::vector<Home> variables;
    std::vector<uint32_t> firstOp;                       ///< of each instruction, and the end
    std::vector<std::pair<uint32_t, uint32_t>> branches; ///< op, label
    std::vector<std::pair<uint32_t, uint32_t>> tables;   ///< branch table, label
    std::vector<uint32_t> returns;                       ///< ops that jump to the end
    Frame *caller;
  };

  void placeParameters(Frame &kernel);
  void placeShared(const Function &kernel);
  void expand(Frame &frame);
  void bind(Frame &callee, const std::vector<Operand> &actual, const std::vector<uint32_t> &formal);
  void expandCall(Frame &callee);
  void instruction();
  void fail(std::string message, StatusCode code = StatusCode::unsupported);
  void failOpcode();
  bool failed() const { return !failure.ok(); }

  // Slots.
  Slot allocate(unsigned bytes);
  Slot registerSlot(uint32_t reg);
  void countDefinitions(Frame &frame);
  bool becomes(const Operand &operand, Slot constant);
  Slot constantSlot(unsigned bytes, uint64_t value);
  Slot specialSlot(std::string_view name, unsigned bytes);
  Type registerType(const Operand &operand) const;

  // Operands.
  size_t operands() const { return current->operands.size(); }
  bool expectOperands(size_t least, size_t most);
  const Operand &operand(size_t index) const { return current->operands[index]; }
  uint32_t use(const Operand &operand, Type type);
  uint32_t use(size_t index, Type type);
  uint32_t usePredicate(const Operand &operand);
  uint32_t define(size_t index, Type type);
  uint32_t defineOperand(const Operand &operand, Type type);
  uint32_t definePredicate(const Operand &operand);
  std::optional<int64_t> integerOperand(size_t index);
  uint64_t immediateBits(const Operand &operand, Type type);
  int64_t symbolAddress(const Operand &operand);
  Home homeOf(const SymbolRef &symbol);
  int64_t sharedAddress(bool ofModule, uint32_t index, const Variable &variable);

  // Ops.
  Op &emit(OpKind kind, OpClass opClass);
  Op &emitCompute(const Compute &request, OpClass opClass, uint32_t dst,
                  std::initializer_list<uint32_t> sources, uint64_t constant = 0);
  void emitCarry(Fn fn, Type type, uint32_t dst, std::pair<uint32_t, uint32_t> sources, bool in,
                 bool out);
  /// An op with details in a table of the program.
  template <class Detail>
  Op &emitWith(OpKind kind, OpClass opClass, std::vector<Detail> &table, const Detail &detail) {
    table.push_back(detail);
    Op &op = emit(kind, opClass);
    op.detail = uint32_t(table.size() - 1);
    return op;
  }
  void emitSync(OpKind kind, const SyncDetail &detail) {
    emitWith(kind, OpClass::sync, program.syncs, detail);
  }
  void emitMatrix(OpKind kind, const MatrixDetail &detail) {
    emitWith(kind, OpClass::matrix, program.matrices, detail);
  }
  bool takeRounding(Compute &request);
  void takeMemoryModifiers(Access &access);
  Access takeAccess(const Operand &address, bool spaceTaken = false);
  void vectorValues(Access &access, const Operand &operand, Type type, bool store);
  void noteAccess(const Access &access);
  bool loadConstantParameter(const Access &access);
  Slot memberMask(size_t index);
  std::vector<Slot> fragment(const Operand &operand, unsigned bytes);
  void decodeWmmaMultiply(MatrixDetail &detail);
  void decodeWmmaMove(MatrixDetail &detail, OpKind kind);
  uint32_t truncated(const Operand &operand, Type type);
  void pack(Type type);
  void unpack(Type type);

  const Image &image;
  const Module &module;
  KernelProgram &program;
  const Instruction *current = nullptr;
  Opcode opcode{""};
  Frame *frame = nullptr;
  Status failure;
  std::map<std::pair<unsigned, uint64_t>, Slot> constants;
  std::map<std::pair<Special, unsigned>, Slot> specials;
  std::map<std::pair<bool, uint32_t>, int64_t>
      sharedHomes; ///< module variables; false: of functions
  std::map<std::pair<const Function *, uint32_t>, int64_t> functionShared;
  uint32_t predicateBlock = 0, predicatesUsed = 16;
  uint32_t carrySlot = noSlot;
  uint64_t sharedBytes = 0, localBytes = 0;
  bool expandingCall = false;
};

} // namespace gantry::ptx
