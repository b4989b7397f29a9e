// The rules of a plan that FlatBuffers' verifier does not know. A Checker walks the plan once, top
// down; each check relies on those before it. A budget bounds the walk: in a hostile file many
// tables may share one long vector, which would make a small file take hours.
#include "gantry/Plan/Validate.h"

#include "gantry/Device/DeviceName.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace gantry::plan {

// One enum in memory, in the file and in the C API.
#define GANTRY_ELEMENT_TYPE(name, value, bytes)                                                    \
  static_assert(static_cast<int>(fb::ElementType::name) == value);
#include "gantry/Support/ElementTypes.def"

Expected<const fb::Plan *> verifyMetadata(std::span<const uint8_t> metadata) {
  // FlatBuffers reads the root's offset and identifier before it looks at the size.
  if (metadata.size() < 16 || metadata.size() > maxMetadataSize)
    return Status::corrupt("plan metadata: a size of " + std::to_string(metadata.size()) +
                           " bytes");
  if (reinterpret_cast<uintptr_t>(metadata.data()) % 8 != 0)
    return Status::corrupt("plan metadata: it does not start at a multiple of 8");
  // A table takes at least 4 bytes, so an honest file never has more of them than this.
  auto maxTables = static_cast<flatbuffers::uoffset_t>(metadata.size() / 4);
  flatbuffers::Verifier verifier(metadata.data(), metadata.size(), /*max_depth=*/32, maxTables);
  if (!fb::VerifyPlanBuffer(verifier))
    return Status::corrupt("plan metadata: the FlatBuffer's structure is damaged");
  return fb::GetPlan(metadata.data());
}

fb::CopyKind copyKindBetween(uint32_t source, fb::DeviceType sourceType, uint32_t destination,
                             fb::DeviceType destinationType) {
  if (source == destination)
    return fb::CopyKind::sameDevice;
  if (sourceType == fb::DeviceType::cpu && destinationType == fb::DeviceType::gpu)
    return fb::CopyKind::hostToDevice;
  if (sourceType == fb::DeviceType::gpu && destinationType == fb::DeviceType::cpu)
    return fb::CopyKind::deviceToHost;
  return fb::CopyKind::deviceToDevice;
}

namespace {

constexpr const char *opcodeNames[] = {"launch", "copy", "branch", "loop",
                                       "signal", "wait", "fill"};
static_assert(std::size(opcodeNames) == static_cast<size_t>(fb::Opcode::MAX) + 1);

std::string number(uint64_t value) { return std::to_string(value); }

template <typename Enum>
bool inEnum(Enum value) {
  return value >= Enum::MIN && value <= Enum::MAX;
}

/// What a command does with a buffer.
enum class Access { read, write };

class Checker {
public:
  Checker(const fb::Plan &plan, std::span<const SegmentInfo> segments, uint64_t budget)
      : plan(plan), segments(segments), budget(budget) {}

  Status run() {
    GANTRY_RETURN_IF_ERROR(checkDevices());
    GANTRY_RETURN_IF_ERROR(checkArenas());
    GANTRY_RETURN_IF_ERROR(checkConstants());
    GANTRY_RETURN_IF_ERROR(checkVariables());
    GANTRY_RETURN_IF_ERROR(checkCode());
    GANTRY_RETURN_IF_ERROR(checkKernels());
    GANTRY_RETURN_IF_ERROR(checkTexts());
    return checkFunctions();
  }

private:
  const fb::Plan &plan;
  std::span<const SegmentInfo> segments;
  uint64_t budget; ///< bytes of vectors that may still be walked

  // Of the function and place that are being checked.
  const fb::Function *function = nullptr;
  std::string place;
  std::vector<char> blockUsed;
  std::vector<char> signalled;  ///< per semaphore: signalled on every way to here
  std::vector<char> signalSeen; ///< per semaphore: some command signals it
  uint64_t numCommands = 0;
  std::vector<uint64_t> inputSizes, outputSizes; ///< bytes

  Status fail(const std::string &what) const {
    return Status::corrupt("plan metadata: " + place + ": " + what);
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

  const fb::Device &deviceAt(uint32_t index) const { return *plan.devices()->Get(index); }

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

  // ---- what all functions share ----

  Status checkDevices() {
    place = "devices";
    if (countOf(plan.devices()) == 0)
      return fail("there is none");
    GANTRY_RETURN_IF_ERROR(visit(plan.devices()));
    std::unordered_set<std::string_view> names;
    uint32_t index = 0;
    for (const fb::Device *device : each(plan.devices())) {
      place = "devices[" + number(index++) + "]";
      if (!inEnum(device->type()))
        return fail("unknown type " + number(static_cast<uint8_t>(device->type())));
      Expected<DeviceName> name = DeviceName::parse(textOf(device->name()));
      if (!name)
        return fail(name.status().message());
      // The canonical form only: placement logs and errors print the name as it stands here.
      if (!name->isFull() || name->physical || name->str() != textOf(device->name()))
        return fail("'" + device->name()->str() + "' is not a full device name");
      bool isGPU = device->type() == fb::DeviceType::gpu;
      if (isGPU != (*name->type == DeviceType::GPU))
        return fail("'" + device->name()->str() + "' is given as of another type");
      if (!names.insert(textOf(device->name())).second)
        return fail("'" + device->name()->str() + "' is there twice");
      std::string_view driver = textOf(device->driver());
      if (!driver.empty() && driver != "host" && driver != "sim" && driver != "cuda")
        return fail("unknown driver '" + std::string(driver) +
                    "'; the drivers are host, sim and cuda");
    }
    return {};
  }

  Status checkArenas() {
    place = "arenas";
    GANTRY_RETURN_IF_ERROR(visit(plan.arenas()));
    uint32_t index = 0;
    for (const fb::Arena *arena : each(plan.arenas())) {
      place = "arenas[" + number(index++) + "]";
      GANTRY_RETURN_IF_ERROR(checkDeviceIndex(arena->device()));
      if (!inEnum(arena->kind()))
        return fail("unknown kind " + number(static_cast<uint8_t>(arena->kind())));
      if (arena->size() > INT64_MAX)
        return fail("a size of " + number(arena->size()) + " bytes");
      if (arena->lower_bound() > arena->size())
        return fail("the lower bound " + number(arena->lower_bound()) + " is over the size " +
                    number(arena->size()));
    }
    return {};
  }

  /// [offset, offset + size) in an arena of that kind, aligned.
  Status checkInArena(uint32_t arena, fb::ArenaKind kind, uint64_t offset, uint64_t size) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(arena, countOf(plan.arenas()), "arena"));
    if (plan.arenas()->Get(arena)->kind() != kind)
      return fail("arena " + number(arena) + " is of another kind");
    GANTRY_RETURN_IF_ERROR(checkAligned(offset));
    return checkRange(offset, size, plan.arenas()->Get(arena)->size(), "arena " + number(arena));
  }

  Status checkInSegment(uint32_t segment, SegmentKind kind, uint64_t offset, uint64_t size) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(segment, segments.size(), "segment"));
    if (segments[segment].kind != kind)
      return fail("segment " + number(segment) + " is of another kind");
    GANTRY_RETURN_IF_ERROR(checkAligned(offset));
    return checkRange(offset, size, segments[segment].size, "segment " + number(segment));
  }

  struct ArenaRange {
    uint32_t arena;
    uint64_t offset, size;
    uint32_t index;
  };

  /// Ranges that were found to lie inside their arenas share no byte.
  Status checkDisjoint(std::vector<ArenaRange> ranges, const char *what) {
    std::erase_if(ranges, [](const ArenaRange &range) { return range.size == 0; });
    std::sort(ranges.begin(), ranges.end(), [](const ArenaRange &a, const ArenaRange &b) {
      return std::pair(a.arena, a.offset) < std::pair(b.arena, b.offset);
    });
    for (size_t i = 1; i < ranges.size(); ++i) {
      const ArenaRange &a = ranges[i - 1], &b = ranges[i];
      if (a.arena == b.arena && a.offset + a.size > b.offset) {
        place = std::string(what) + "[" + number(b.index) + "]";
        return fail("it overlaps " + std::string(what) + "[" + number(a.index) + "] in arena " +
                    number(a.arena));
      }
    }
    return {};
  }

  Status checkConstants() {
    place = "constants";
    GANTRY_RETURN_IF_ERROR(visit(plan.constants()));
    std::vector<ArenaRange> ranges;
    uint32_t index = 0;
    for (const fb::Constant *constant : each(plan.constants())) {
      place = "constants[" + number(index) + "]";
      GANTRY_RETURN_IF_ERROR(checkInArena(constant->arena(), fb::ArenaKind::constants,
                                          constant->offset(), constant->size()));
      GANTRY_RETURN_IF_ERROR(checkInSegment(constant->segment(), SegmentKind::constants,
                                            constant->segment_offset(), constant->size()));
      ranges.push_back({constant->arena(), constant->offset(), constant->size(), index++});
    }
    return checkDisjoint(std::move(ranges), "constants");
  }

  Status checkVariables() {
    place = "variables";
    GANTRY_RETURN_IF_ERROR(visit(plan.variables()));
    std::vector<ArenaRange> ranges;
    std::unordered_set<std::string_view> names;
    uint32_t index = 0;
    for (const fb::Variable *variable : each(plan.variables())) {
      place = "variables[" + number(index) + "]";
      GANTRY_RETURN_IF_ERROR(checkName(textOf(variable->name()), names));
      GANTRY_RETURN_IF_ERROR(checkInArena(variable->arena(), fb::ArenaKind::variables,
                                          variable->offset(), variable->size()));
      uint64_t bytes;
      GANTRY_RETURN_IF_ERROR(checkType(variable->type(), &bytes));
      if (bytes != variable->size())
        return fail("its type has " + number(bytes) + " bytes, its place " +
                    number(variable->size()));
      ranges.push_back({variable->arena(), variable->offset(), variable->size(), index++});
    }
    return checkDisjoint(std::move(ranges), "variables");
  }

  Status checkName(std::string_view name, std::unordered_set<std::string_view> &names) const {
    if (name.empty())
      return fail("it has no name");
    if (!names.insert(name).second)
      return fail("the name '" + std::string(name) + "' is there twice");
    return {};
  }

  Status checkCode() {
    place = "code";
    GANTRY_RETURN_IF_ERROR(visit(plan.code()));
    uint32_t index = 0;
    for (const fb::Code *code : each(plan.code())) {
      place = "code[" + number(index++) + "]";
      if (!inEnum(code->kind()))
        return fail("unknown kind " + number(static_cast<uint8_t>(code->kind())));
      GANTRY_RETURN_IF_ERROR(
          checkInSegment(code->segment(), SegmentKind::code, code->segment_offset(), code->size()));
      GANTRY_RETURN_IF_ERROR(visit(code->features()));
    }
    return {};
  }

  Status checkKernels() {
    place = "kernels";
    GANTRY_RETURN_IF_ERROR(visit(plan.kernels()));
    uint32_t index = 0;
    for (const fb::Kernel *kernel : each(plan.kernels())) {
      place = "kernels[" + number(index++) + "]";
      if (textOf(kernel->symbol()).empty())
        return fail("it has no symbol");
      if (!kernel->custom())
        GANTRY_RETURN_IF_ERROR(checkIndex(kernel->code(), countOf(plan.code()), "code"));
    }
    return {};
  }

  Status checkTexts() {
    place = "plan";
    GANTRY_RETURN_IF_ERROR(visit(plan.strings()));
    GANTRY_RETURN_IF_ERROR(visit(plan.constraints()));
    std::string_view math = textOf(plan.math());
    if (!math.empty() && math != "f32" && math != "tf32" && math != "bf16" && math != "f16")
      return fail("unknown math '" + std::string(math) + "'; known are f32, tf32, bf16 and f16");
    return {};
  }

  // ---- functions ----

  Status checkFunctions() {
    place = "functions";
    if (countOf(plan.functions()) == 0)
      return fail("there is none");
    GANTRY_RETURN_IF_ERROR(visit(plan.functions()));
    std::unordered_set<std::string_view> names;
    for (uint32_t i = 0; i < plan.functions()->size(); ++i) {
      function = plan.functions()->Get(i);
      place = "functions[" + number(i) + "]";
      GANTRY_RETURN_IF_ERROR(checkName(textOf(function->name()), names));
      GANTRY_RETURN_IF_ERROR(checkFunction("function '" + function->name()->str() + "'"));
    }
    return {};
  }

  Status checkFunction(const std::string &name) {
    place = name;
    GANTRY_RETURN_IF_ERROR(checkBindings(function->inputs(), name + ", input ", inputSizes));
    GANTRY_RETURN_IF_ERROR(checkBindings(function->outputs(), name + ", output ", outputSizes));
    place = name;
    GANTRY_RETURN_IF_ERROR(checkQueuesAndSemaphores());
    GANTRY_RETURN_IF_ERROR(checkBlocks(name));
    GANTRY_RETURN_IF_ERROR(checkValues(name));
    return checkPlacedOps(name);
  }

  Status checkBindings(const flatbuffers::Vector<flatbuffers::Offset<fb::Binding>> *bindings,
                       const std::string &prefix, std::vector<uint64_t> &sizes) {
    place = prefix + "list";
    GANTRY_RETURN_IF_ERROR(visit(bindings));
    sizes.clear();
    std::unordered_set<std::string_view> names;
    uint32_t index = 0;
    for (const fb::Binding *binding : each(bindings)) {
      place = prefix + number(index++);
      GANTRY_RETURN_IF_ERROR(checkName(textOf(binding->name()), names));
      GANTRY_RETURN_IF_ERROR(checkDeviceIndex(binding->device()));
      uint64_t bytes;
      GANTRY_RETURN_IF_ERROR(checkType(binding->type(), &bytes));
      sizes.push_back(bytes);
    }
    return {};
  }

  /// Both make the runtime allocate, so both are bounded by what the file has room to use.
  Status checkQueuesAndSemaphores() {
    uint64_t most = 0;
    GANTRY_RETURN_IF_ERROR(visit(function->blocks()));
    for (const fb::Block *block : each(function->blocks()))
      most += countOf(block->commands());
    numCommands = most;
    if (function->num_semaphores() > most)
      return fail(number(function->num_semaphores()) + " semaphores for " + number(most) +
                  " commands");
    if (function->num_queues() == 0 || function->num_queues() > std::max<uint64_t>(most, 64))
      return fail(number(function->num_queues()) + " queues for " + number(most) + " commands");
    return {};
  }

  Status checkBlocks(const std::string &name) {
    uint32_t count = countOf(function->blocks());
    if (count == 0)
      return fail("it has no blocks");
    blockUsed.assign(count, 0);
    signalled.assign(function->num_semaphores(), 0);
    signalSeen.assign(function->num_semaphores(), 0);
    GANTRY_RETURN_IF_ERROR(checkBlock(name, 0, 0));
    for (uint32_t i = 0; i < count; ++i)
      if (!blockUsed[i]) {
        place = name + ", block " + number(i);
        return fail("no branch or loop uses it");
      }
    return {};
  }

  /// Recursive, at most maxBlockDepth deep. A block is used once, so the blocks are a tree.
  Status checkBlock(const std::string &name, uint32_t index, unsigned depth) {
    if (depth > maxBlockDepth)
      return fail("branches and loops are nested over " + number(maxBlockDepth) + " deep");
    if (blockUsed[index])
      return fail("block " + number(index) + " is used twice");
    blockUsed[index] = 1;

    const auto *commands = function->blocks()->Get(index)->commands();
    GANTRY_RETURN_IF_ERROR(visit(commands));
    std::vector<uint32_t> signalledHere;
    for (uint32_t i = 0; i < countOf(commands); ++i) {
      const fb::Command &command = *commands->Get(i);
      place = name + ", block " + number(index) + ", command " + number(i);
      GANTRY_RETURN_IF_ERROR(checkCommand(command));
      if (command.opcode() == fb::Opcode::signal)
        signalledHere.push_back(command.signal());
      for (uint32_t block : each(command.blocks())) {
        GANTRY_RETURN_IF_ERROR(checkIndex(block, countOf(function->blocks()), "block"));
        GANTRY_RETURN_IF_ERROR(checkBlock(name, block, depth + 1));
      }
    }
    // Whoever comes after this block cannot rely on its having run.
    for (uint32_t semaphore : signalledHere)
      signalled[semaphore] = 0;
    return {};
  }

  Status checkCommand(const fb::Command &command) {
    if (!inEnum(command.opcode()))
      return fail("unknown opcode " + number(static_cast<uint8_t>(command.opcode())));
    place += std::string(" (") + opcodeNames[static_cast<size_t>(command.opcode())];
    if (command.name())
      place += " '" + command.name()->str() + "'";
    place += ")";
    GANTRY_RETURN_IF_ERROR(checkDeviceIndex(command.device()));
    GANTRY_RETURN_IF_ERROR(checkIndex(command.queue(), function->num_queues(), "queue"));
    GANTRY_RETURN_IF_ERROR(visit(command.buffers()));
    GANTRY_RETURN_IF_ERROR(visit(command.blocks()));
    GANTRY_RETURN_IF_ERROR(visit(command.log_names()));
    GANTRY_RETURN_IF_ERROR(checkShape(command));
    switch (command.opcode()) {
    case fb::Opcode::launch:
      return checkLaunch(command);
    case fb::Opcode::copy:
      return checkCopy(command);
    case fb::Opcode::branch:
    case fb::Opcode::loop:
      return checkCondition(command);
    case fb::Opcode::signal:
      return checkSignal(command);
    case fb::Opcode::wait:
      return checkWait(command);
    case fb::Opcode::fill:
      return checkBuffer(*command.buffers()->Get(0), Access::write, command.device());
    }
    return {};
  }

  /// How many buffers and blocks a command of its opcode has, and whether it has a condition.
  Status checkShape(const fb::Command &command) const {
    uint64_t buffers = countOf(command.buffers()), blocks = countOf(command.blocks());
    bool nests = command.opcode() == fb::Opcode::branch || command.opcode() == fb::Opcode::loop;
    uint64_t wantedBuffers = 0;
    if (command.opcode() == fb::Opcode::launch)
      wantedBuffers = buffers;
    else if (command.opcode() == fb::Opcode::copy)
      wantedBuffers = 2;
    else if (command.opcode() == fb::Opcode::fill)
      wantedBuffers = 1;
    if (buffers != wantedBuffers)
      return fail(number(buffers) + " buffers, expected " + number(wantedBuffers));
    if (blocks != (nests ? 2 : 0))
      return fail(number(blocks) + " blocks, expected " + (nests ? "2" : "0"));
    if (nests != (command.condition() != nullptr))
      return fail(nests ? "it has no condition" : "it has a condition");
    return {};
  }

  Status checkLaunch(const fb::Command &command) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(command.kernel(), countOf(plan.kernels()), "kernel"));
    uint32_t count = countOf(command.buffers());
    if (command.num_results() > count)
      return fail(number(command.num_results()) + " results among " + number(count) + " buffers");
    if (command.items() > INT64_MAX || command.grain() == 0 || command.grain() > INT64_MAX)
      return fail(number(command.items()) + " work items in grains of " + number(command.grain()));
    for (uint32_t i = 0; i < count; ++i) {
      const fb::BufferRef &buffer = *command.buffers()->Get(i);
      Access access = i < count - command.num_results() ? Access::read : Access::write;
      GANTRY_RETURN_IF_ERROR(checkBuffer(buffer, access, command.device()));
      GANTRY_RETURN_IF_ERROR(checkAligned(buffer.offset())); // kernels use aligned loads
    }
    return checkKernelRunsOn(command);
  }

  /// Simulated devices run host code. Without a driver the plan leaves it open.
  Status checkKernelRunsOn(const fb::Command &command) const {
    const fb::Kernel &kernel = *plan.kernels()->Get(command.kernel());
    std::string_view driver = textOf(deviceAt(command.device()).driver());
    if (kernel.custom() || driver.empty())
      return {};
    bool hostCode = plan.code()->Get(kernel.code())->kind() == fb::CodeKind::elfSharedObject;
    if (hostCode != (driver != "cuda"))
      return fail("kernel '" + kernel.symbol()->str() + "' has no code for the driver '" +
                  std::string(driver) + "'");
    return {};
  }

  Status checkCopy(const fb::Command &command) const {
    const fb::BufferRef &source = *command.buffers()->Get(0);
    const fb::BufferRef &destination = *command.buffers()->Get(1);
    GANTRY_RETURN_IF_ERROR(checkBuffer(source, Access::read));
    GANTRY_RETURN_IF_ERROR(checkBuffer(destination, Access::write));
    if (source.size() != destination.size())
      return fail("from " + number(source.size()) + " to " + number(destination.size()) + " bytes");
    uint32_t from = deviceOf(source), to = deviceOf(destination);
    if (command.device() != from && command.device() != to)
      return fail("device " + number(command.device()) + " has neither of the buffers");
    if (command.copy_kind() !=
        copyKindBetween(from, deviceAt(from).type(), to, deviceAt(to).type()))
      return fail("the copy kind is not that of devices " + number(from) + " and " + number(to));
    bool sameBytes = source.space() == destination.space() && source.index() == destination.index();
    // A copy onto itself does nothing; a shifted one depends on the order of its bytes.
    if (sameBytes && source.offset() != destination.offset() &&
        rangesOverlap(source.offset(), source.size(), destination.offset(), destination.size()))
      return fail("source and destination overlap");
    // 0 stands for "no cause" in a plan without strings.
    return checkIndex(command.cause(), std::max<uint64_t>(1, countOf(plan.strings())), "cause");
  }

  Status checkCondition(const fb::Command &command) const {
    const fb::BufferRef &condition = *command.condition();
    GANTRY_RETURN_IF_ERROR(checkBuffer(condition, Access::read));
    if (condition.size() != 1)
      return fail("the condition has " + number(condition.size()) + " bytes, expected 1");
    if (deviceAt(deviceOf(condition)).type() != fb::DeviceType::cpu)
      return fail("the condition is not on the host");
    return {};
  }

  /// A semaphore has one signal, and each wait comes after it on every way there. The order of the
  /// commands is then an order in which all of them can run: no wait can be part of a cycle.
  Status checkSignal(const fb::Command &command) {
    GANTRY_RETURN_IF_ERROR(checkIndex(command.signal(), function->num_semaphores(), "semaphore"));
    if (signalSeen[command.signal()])
      return fail("semaphore " + number(command.signal()) + " is signalled twice");
    signalSeen[command.signal()] = signalled[command.signal()] = 1;
    return {};
  }

  Status checkWait(const fb::Command &command) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(command.signal(), function->num_semaphores(), "semaphore"));
    if (!signalled[command.signal()])
      return fail("nothing signals semaphore " + number(command.signal()) + " before this wait");
    return {};
  }

  // ---- buffers ----

  /// The device of a buffer that was found to exist.
  uint32_t deviceOf(const fb::BufferRef &buffer) const {
    switch (buffer.space()) {
    case fb::Space::arena:
      return plan.arenas()->Get(buffer.index())->device();
    case fb::Space::input:
      return function->inputs()->Get(buffer.index())->device();
    case fb::Space::output:
      return function->outputs()->Get(buffer.index())->device();
    }
    return 0;
  }

  Status checkBufferExists(const fb::BufferRef &buffer) const {
    switch (buffer.space()) {
    case fb::Space::arena:
      GANTRY_RETURN_IF_ERROR(checkIndex(buffer.index(), countOf(plan.arenas()), "arena"));
      return checkRange(buffer.offset(), buffer.size(), plan.arenas()->Get(buffer.index())->size(),
                        "arena " + number(buffer.index()));
    case fb::Space::input:
      return checkBound(buffer, inputSizes, "input");
    case fb::Space::output:
      return checkBound(buffer, outputSizes, "output");
    }
    return fail("unknown space " + number(static_cast<uint8_t>(buffer.space())));
  }

  Status checkBound(const fb::BufferRef &buffer, const std::vector<uint64_t> &sizes,
                    const char *what) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(buffer.index(), sizes.size(), what));
    return checkRange(buffer.offset(), buffer.size(), sizes[buffer.index()],
                      std::string(what) + " " + number(buffer.index()));
  }

  /// In range, and writable where it is written: constants and inputs never are.
  Status checkBuffer(const fb::BufferRef &buffer, Access access) const {
    GANTRY_RETURN_IF_ERROR(checkBufferExists(buffer));
    if (access == Access::read)
      return {};
    if (buffer.space() == fb::Space::input)
      return fail("it writes input " + number(buffer.index()));
    if (buffer.space() != fb::Space::arena)
      return {};
    fb::ArenaKind kind = plan.arenas()->Get(buffer.index())->kind();
    if (kind == fb::ArenaKind::constants)
      return fail("it writes the constants in arena " + number(buffer.index()));
    // The runtime locks the state of functions that say so, and of no others.
    if (kind == fb::ArenaKind::variables && !function->writes_variables())
      return fail("it writes the variables in arena " + number(buffer.index()) +
                  ", but the function has no writes_variables");
    return {};
  }

  Status checkBuffer(const fb::BufferRef &buffer, Access access, uint32_t device) const {
    GANTRY_RETURN_IF_ERROR(checkBuffer(buffer, access));
    if (deviceOf(buffer) != device)
      return fail("a buffer is on device " + number(deviceOf(buffer)) + ", the command on device " +
                  number(device));
    return {};
  }

  // ---- what explain and the log read ----

  Status checkValues(const std::string &name) {
    place = name + ", values";
    GANTRY_RETURN_IF_ERROR(visit(function->values()));
    uint32_t index = 0;
    for (const fb::Value *value : each(function->values())) {
      place = name + ", values[" + number(index++) + "]";
      if (!value->buffer())
        return fail("it has no buffer");
      GANTRY_RETURN_IF_ERROR(checkBuffer(*value->buffer(), Access::read));
      if (value->first() > value->last() || value->last() > numCommands)
        return fail("it lives in commands " + number(value->first()) + " to " +
                    number(value->last()) + " of " + number(numCommands));
      if (!value->type())
        continue;
      uint64_t bytes;
      GANTRY_RETURN_IF_ERROR(checkType(value->type(), &bytes));
      if (bytes != value->buffer()->size())
        return fail("its type has " + number(bytes) + " bytes, its buffer " +
                    number(value->buffer()->size()));
    }
    return {};
  }

  Status checkPlacedOps(const std::string &name) {
    place = name + ", placed_ops";
    GANTRY_RETURN_IF_ERROR(visit(function->placed_ops()));
    uint32_t index = 0;
    for (const fb::PlacedOp *op : each(function->placed_ops())) {
      place = name + ", placed_ops[" + number(index++) + "]";
      if (textOf(op->log_name()).empty())
        return fail("it has no log name");
      GANTRY_RETURN_IF_ERROR(checkDeviceIndex(op->device()));
      GANTRY_RETURN_IF_ERROR(visit(op->rejected()));
    }
    return {};
  }
};

} // namespace

Status validatePlan(const fb::Plan &plan, std::span<const SegmentInfo> segments,
                    uint64_t metadataSize) {
  return Checker(plan, segments, metadataSize).run();
}

} // namespace gantry::plan
