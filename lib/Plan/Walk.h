// What both halves of the validator walk with: the place for messages, the budget, and the checks
// of numbers that stand everywhere.
#pragma once

#include "KernelSignatures.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace gantry::plan {

inline std::string number(uint64_t value) { return std::to_string(value); }
/// For %llu in texts that format() makes, which takes half the code of putting strings together.
using Number = unsigned long long;

template <typename Enum>
bool inEnum(Enum value) {
  return value >= Enum::MIN && value <= Enum::MAX;
}

/// The budget bounds the walk: in a hostile file many tables may share one long vector, which would
/// make a small file take hours.
class Walk {
public:
  Walk(const fb::Plan &plan, std::span<const SegmentInfo> segments, uint64_t budget)
      : plan(plan), segments(segments), budget(budget) {}

protected:
  const fb::Plan &plan;
  std::span<const SegmentInfo> segments;
  uint64_t budget;   ///< bytes of vectors that may still be walked
  std::string place; ///< of what is being checked, for messages

  Status fail(const std::string &what) const {
    return Status::corrupt("plan metadata: " + place + ": " + what);
  }

  /// " (launch 'add')", behind the place of a command whose opcode is one.
  static std::string titleOf(const fb::Command &command) {
    std::string title = std::string(" (") + fb::EnumNameOpcode(command.opcode());
    if (command.name())
      title += " '" + command.name()->str() + "'";
    return title + ")";
  }

  /// To be called before a vector is walked: takes its bytes off the budget, and checks what
  /// FlatBuffers 2 does not, that elements of 8 bytes lie at multiples of 8.
  template <typename T>
  Status visit(const flatbuffers::Vector<T> *vector) {
    if (!vector)
      return {};
    using Access = flatbuffers::IndirectHelper<T>;
    uint64_t bytes = uint64_t(vector->size()) * Access::element_stride;
    if (bytes > budget)
      return fail("its parts are shared too often");
    budget -= bytes;
    constexpr size_t alignment = elementAlignment(static_cast<const T *>(nullptr));
    if (reinterpret_cast<uintptr_t>(vector->Data()) % alignment != 0)
      return fail("a list is not aligned");
    return {};
  }

  /// To be called before a text is looked up by what it says; a plan may do so a few times with
  /// each of its texts.
  Status visitText(std::string_view text) {
    const uint64_t cost = text.size() / 64;
    if (cost > budget)
      return fail("its parts are shared too often");
    budget -= cost;
    return {};
  }

  // Tables and strings are kept as 4-byte offsets, structs and numbers as themselves.
  template <typename T>
  static constexpr size_t elementAlignment(const flatbuffers::Offset<T> *) {
    return sizeof(flatbuffers::uoffset_t);
  }
  template <typename T>
  static constexpr size_t elementAlignment(const T *) {
    return alignof(std::remove_pointer_t<T>);
  }

  Status checkIndex(uint64_t index, uint64_t count, const char *what) const {
    if (index < count)
      return {};
    return fail(std::string(what) + " " + number(index) + " of " + number(count));
  }

  Status checkDeviceIndex(uint32_t device) const {
    return checkIndex(device, countOf(plan.devices()), "device");
  }

  Status checkDriver(std::string_view driver) const {
    if (driver == "host" || driver == "sim" || driver == "cuda")
      return {};
    return fail("unknown driver '" + std::string(driver) + "'; the drivers are host, sim and cuda");
  }

  /// Type of a tensor: element type, dimensions, size.
  Status checkType(const fb::TensorType *type, uint64_t *bytes) {
    if (!type)
      return fail("the tensor type is missing");
    if (!inEnum(type->element()))
      return fail("unknown element type " + number(static_cast<uint8_t>(type->element())));
    GANTRY_RETURN_IF_ERROR(visit(type->shape()));
    std::optional<uint64_t> size = byteSizeOf(*type);
    if (!size)
      return fail("a dimension is negative, or the tensor has over 2^63 bytes");
    *bytes = *size;
    return {};
  }

  Status checkAligned(uint64_t offset) const {
    if (offset % bufferAlignment == 0)
      return {};
    return fail("offset " + number(offset) + " is not a multiple of 64");
  }

  Status checkRange(uint64_t offset, uint64_t size, uint64_t limit, const std::string &in) const {
    if (rangeFits(offset, size, limit))
      return {};
    return fail(number(size) + " bytes at " + number(offset) + " of " + in + ", which has " +
                number(limit));
  }

  /// Of a constant, an initial value or code: in a segment of that kind, aligned.
  Status checkInSegment(uint32_t segment, SegmentKind kind, uint64_t offset, uint64_t size) const {
    if (segment == nothingSaid && segments.empty()) // of an outline
      return {};
    GANTRY_RETURN_IF_ERROR(checkIndex(segment, segments.size(), "segment"));
    if (segments[segment].kind != kind)
      return fail("segment " + number(segment) + " is of another kind");
    GANTRY_RETURN_IF_ERROR(checkAligned(offset));
    return checkRange(offset, size, segments[segment].size, "segment " + number(segment));
  }

  /// By arena: where the constants begin that are computed at load, at its end if there are none.
  std::vector<uint64_t> beginsOfMade() const {
    std::vector<uint64_t> begins;
    for (const fb::Arena *arena : each(plan.arenas()))
      begins.push_back(arena->size());
    for (const fb::Constant *constant : each(plan.constants()))
      if (constant->made() != nothingSaid)
        begins[constant->arena()] = std::min(begins[constant->arena()], constant->offset());
    return begins;
  }

  /// Of a list whose other names are in `names`.
  Status checkName(std::string_view name, std::unordered_set<std::string_view> &names) const {
    if (name.empty())
      return fail("it has no name");
    if (!names.insert(name).second)
      return fail("the name '" + std::string(name) + "' is there twice");
    return {};
  }
};

/// Devices, arenas, constants, variables, kernels and what they refer to: ValidateTables.cpp.
/// `signatures` are found on the way.
Status checkTables(const Walk &walk, KernelSignatures &signatures);

/// Code, kernels and their variants: ValidateKernels.cpp.
Status checkKernels(const Walk &walk, KernelSignatures &signatures);

/// A launch on a device, whose buffers lie where they may, against what the code of its kernel
/// relies on: ValidateLaunches.cpp.
Status checkSignatures(const Walk &walk, const fb::Device &device, const fb::Command &launch,
                       std::span<const SignedVariant> variants);

/// The first block of a branch that `library` decides, whose commands are sound:
/// ValidateCollectives.cpp.
Status checkLibraryBlock(const Walk &walk, const fb::Block &block, std::string_view library);

/// Outputs that may be an input's array, of a function whose commands are sound: ValidateOver.cpp.
Status checkOutputsOverInputs(const Walk &walk, const fb::Function &function,
                              const std::string &name);

/// Groups and exchanges; then the functions that have them, whose commands are sound by themselves:
/// ValidateExchanges.cpp.
Status checkExchangeTables(const Walk &walk);
Status checkExchanges(const Walk &walk);

/// Functions, over tables that are sound: ValidateFunctions.cpp.
Status checkFunctions(const Walk &walk, const KernelSignatures &signatures);

} // namespace gantry::plan
