// The rules of functions: blocks that form a tree, commands whose every index and range holds,
// order between queues that cannot deadlock. The tables they refer to were found to be sound.
#include "Walk.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/KernelVariants.h"
#include "gantry/Plan/MatrixProduct.h"
#include "gantry/Support/Format.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

namespace gantry::plan {

namespace {

/// What a command does with a buffer.
enum class Access { read, write };

class FunctionChecker : Walk {
public:
  FunctionChecker(const Walk &walk, const KernelSignatures &signatures)
      : Walk(walk), signatures(signatures) {}

  Status run() {
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
    return plan.load() ? checkLoad() : Status();
  }

private:
  const KernelSignatures &signatures;
  // Of the function that is being checked.
  const fb::Function *function = nullptr;
  std::vector<char> blockUsed;
  std::vector<char> signalled;  ///< per semaphore: signalled on every way to here
  std::vector<char> signalSeen; ///< per semaphore: some command signals it
  uint64_t numCommands = 0;
  bool inLibrary = false;                        ///< in a block that a library may do
  std::vector<uint64_t> inputSizes, outputSizes; ///< bytes
  std::vector<uint64_t> readAtLoad; ///< by arena: bytes that are there when the plan is loaded

  /// What runs at load has nothing but constants of the file to read.
  Status checkLoad() {
    function = plan.load();
    place = "the function at load";
    if (textOf(function->name()).empty() || countOf(function->inputs()) != 0 ||
        function->writes_variables())
      return fail("it has no name, or inputs, or variables");
    readAtLoad = beginsOfMade();
    return checkFunction("the function at load");
  }

  const fb::Device &deviceAt(uint32_t index) const { return *plan.devices()->Get(index); }

  Status checkFunction(const std::string &name) {
    place = name;
    GANTRY_RETURN_IF_ERROR(checkBindings(function->inputs(), name + ", input ", inputSizes));
    GANTRY_RETURN_IF_ERROR(checkBindings(function->outputs(), name + ", output ", outputSizes));
    place = name;
    GANTRY_RETURN_IF_ERROR(checkQueuesAndSemaphores());
    GANTRY_RETURN_IF_ERROR(checkBlocks(name));
    GANTRY_RETURN_IF_ERROR(checkOutputsOverInputs(*this, *function, name));
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
      uint64_t bytes = 0;
      GANTRY_RETURN_IF_ERROR(checkType(binding->type(), &bytes));
      sizes.push_back(bytes);
      if (binding->end())
        GANTRY_RETURN_IF_ERROR(checkEnd(*binding->end(), shapeOf(*binding->type())));
    }
    return {};
  }

  /// A binding of that shape as a part of a whole end.
  Status checkEnd(const fb::End &end, std::span<const int64_t> shape) const {
    if (textOf(end.of()).empty())
      return fail("it is a part of an end without a name");
    if (end.axis() >= shape.size())
      return fail(
          format("it is a part along axis %llu of %llu", Number(end.axis()), Number(shape.size())));
    const auto size = static_cast<uint64_t>(shape[end.axis()]);
    if (end.size() != size)
      return fail(
          format("it is a part of %llu elements, and has %llu", Number(end.size()), Number(size)));
    if (end.begin() > INT64_MAX - size)
      return fail(format("it is a part that begins at %llu", Number(end.begin())));
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
      return fail(format("%llu semaphores for %llu commands", Number(function->num_semaphores()),
                         Number(most)));
    if (function->num_queues() == 0 || function->num_queues() > std::max<uint64_t>(most, 64))
      return fail(
          format("%llu queues for %llu commands", Number(function->num_queues()), Number(most)));
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
      return fail(format("branches and loops are nested over %llu deep", Number(maxBlockDepth)));
    if (blockUsed[index])
      return fail(format("block %llu is used twice", Number(index)));
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
        const bool isLibrarys = isDecidedByLibrary(command) && block == command.blocks()->Get(0);
        inLibrary = isLibrarys;
        GANTRY_RETURN_IF_ERROR(checkBlock(name, block, depth + 1));
        if (isLibrarys)
          GANTRY_RETURN_IF_ERROR(
              checkLibraryBlock(*this, *function->blocks()->Get(block), textOf(command.library())));
        inLibrary = false;
      }
    }
    // Whoever comes after this block cannot rely on its having run.
    for (uint32_t semaphore : signalledHere)
      signalled[semaphore] = 0;
    return {};
  }

  Status checkCommand(const fb::Command &command) {
    if (!inEnum(command.opcode()))
      return fail(format("unknown opcode %llu", Number(static_cast<uint8_t>(command.opcode()))));
    place += titleOf(command);
    GANTRY_RETURN_IF_ERROR(checkDeviceIndex(command.device()));
    GANTRY_RETURN_IF_ERROR(checkIndex(command.queue(), function->num_queues(), "queue"));
    GANTRY_RETURN_IF_ERROR(visit(command.buffers()));
    GANTRY_RETURN_IF_ERROR(visit(command.blocks()));
    GANTRY_RETURN_IF_ERROR(visit(command.conditions()));
    GANTRY_RETURN_IF_ERROR(visit(command.log_names()));
    GANTRY_RETURN_IF_ERROR(visit(command.also()));
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
    case fb::Opcode::check:
      return checkCheck(command);
    case fb::Opcode::send:
    case fb::Opcode::receive:
    case fb::Opcode::part:
      return checkMember(command);
    }
    return {};
  }

  /// How many buffers and blocks a command of its opcode has, and whether it has a condition.
  Status checkShape(const fb::Command &command) const {
    uint64_t buffers = countOf(command.buffers()), blocks = countOf(command.blocks());
    bool nests = command.opcode() == fb::Opcode::branch || command.opcode() == fb::Opcode::loop;
    uint64_t wantedBuffers = 0;
    uint64_t also = countOf(command.also());
    if (command.opcode() == fb::Opcode::launch)
      wantedBuffers = buffers;
    else if (command.opcode() == fb::Opcode::copy)
      wantedBuffers = 2 * (also + 1);
    else if (command.opcode() == fb::Opcode::fill || command.opcode() == fb::Opcode::send ||
             command.opcode() == fb::Opcode::receive)
      wantedBuffers = 1;
    else if (command.opcode() == fb::Opcode::part)
      wantedBuffers = std::clamp<uint64_t>(buffers, 1, 2);
    else if (command.opcode() == fb::Opcode::check)
      wantedBuffers = std::max<uint64_t>(buffers, 1); // and what it holds
    if (buffers != wantedBuffers)
      return fail(format("%llu buffers, expected %llu", Number(buffers), Number(wantedBuffers)));
    if (also != 0 && command.opcode() != fb::Opcode::copy)
      return fail(format("it names %llu further values, and is not a copy", Number(also)));
    if (command.index_check() && command.opcode() != fb::Opcode::check)
      return fail("it says what indices it checks, and is not a check");
    if (isDecidedByLibrary(command) && command.opcode() != fb::Opcode::branch)
      return fail("a library decides it, and it is not a branch");
    if (blocks != (nests ? 2 : 0))
      return fail(number(blocks) + " blocks, expected " + (nests ? "2" : "0"));
    if (nests != (command.condition() != nullptr) || (!nests && countOf(command.conditions()) != 0))
      return fail(nests ? "it has no condition" : "it has a condition");
    return {};
  }

  Status checkLaunch(const fb::Command &command) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(command.kernel(), countOf(plan.kernels()), "kernel"));
    uint32_t count = countOf(command.buffers());
    if (command.num_results() > count)
      return fail(
          format("%llu results among %llu buffers", Number(command.num_results()), Number(count)));
    if (command.has_scratch() && command.num_results() == 0)
      return fail("it has scratch memory, and writes no buffer");
    if (command.items() > INT64_MAX || command.grain() == 0 || command.grain() > INT64_MAX)
      return fail(format("%llu work items in grains of %llu", Number(command.items()),
                         Number(command.grain())));
    for (uint32_t i = 0; i < count; ++i) {
      const fb::BufferRef &buffer = *command.buffers()->Get(i);
      Access access = i < count - command.num_results() ? Access::read : Access::write;
      GANTRY_RETURN_IF_ERROR(checkBuffer(buffer, access, command.device()));
      GANTRY_RETURN_IF_ERROR(checkAligned(buffer.offset())); // kernels use aligned loads
    }
    GANTRY_RETURN_IF_ERROR(checkCollectives(command));
    GANTRY_RETURN_IF_ERROR(checkProducts(command));
    GANTRY_RETURN_IF_ERROR(checkKernelRunsOn(command));
    return checkSignatures(*this, deviceAt(command.device()), command,
                           signatures.of(command.kernel()));
  }

  /// A part of a collective waits for the others, which are there in a library's block alone.
  Status checkCollectives(const fb::Command &command) const {
    const fb::Kernel &kernel = *plan.kernels()->Get(command.kernel());
    for (const fb::Variant *variant : each(kernel.variants()))
      if (isCollective(*variant) && !inLibrary)
        return fail(
            format("kernel '%s' is a part of a collective, outside of a block of the library '%s'",
                   kernel.symbol()->c_str(), variant->library()->c_str()));
    return {};
  }

  /// A library reads and writes as much of the launch's buffers as its symbol says.
  Status checkProducts(const fb::Command &command) const {
    for (const fb::Variant *variant : each(plan.kernels()->Get(command.kernel())->variants())) {
      if (!isMatrixProduct(*variant))
        continue;
      const MatrixProduct product = MatrixProduct::parse(textOf(variant->symbol())).take();
      const uint32_t end = countOf(command.buffers()) - (command.has_scratch() ? 1 : 0);
      const uint32_t results = countOf(command.buffers()) - command.num_results();
      auto isThere = [&](const StoredMatrix &matrix, uint64_t bytes, uint32_t from, uint32_t to) {
        return matrix.buffer >= from && matrix.buffer < to &&
               bytes <= command.buffers()->Get(matrix.buffer)->size();
      };
      if (!isThere(product.left, product.leftBytes(), 0, results) ||
          !isThere(product.right, product.rightBytes(), 0, results) ||
          !isThere(product.result, product.resultBytes(), results, end))
        return fail("its buffers are not those of the product '" + product.text() + "'");
    }
    return {};
  }

  static bool isDecidedByLibrary(const fb::Command &command) {
    return !textOf(command.library()).empty();
  }

  /// Every driver that its device may have can run the kernel. Where registered kernels run is
  /// known at load, and plans that name no driver leave it open.
  Status checkKernelRunsOn(const fb::Command &command) const {
    const fb::Kernel &kernel = *plan.kernels()->Get(command.kernel());
    const fb::Device &device = deviceAt(command.device());
    if (inLibrary || kernel.custom() || textOf(device.driver()).empty())
      return {};
    for (std::string_view driver : driversOf(device)) {
      GANTRY_RETURN_IF_ERROR(checkScratch(command, kernel, driver));
      if (!hasVariantFor(kernel, driver))
        return fail("kernel '" + kernel.symbol()->str() + "' has no code for the driver '" +
                    std::string(driver) + "'");
    }
    return {};
  }

  bool hasVariantFor(const fb::Kernel &kernel, std::string_view driver) const {
    if (countOf(kernel.variants()) == 0)
      return runsOn(plan.code()->Get(kernel.code())->kind(), driver);
    for (const fb::Variant *variant : each(kernel.variants()))
      if (textOf(variant->driver()) == driver)
        return true;
    return false;
  }

  /// The plan has taken memory for the variant that needs most.
  Status checkScratch(const fb::Command &command, const fb::Kernel &kernel,
                      std::string_view driver) const {
    const uint32_t count = countOf(command.buffers());
    const uint64_t there = command.has_scratch() ? command.buffers()->Get(count - 1)->size() : 0;
    for (const fb::Variant *variant : each(kernel.variants()))
      if (textOf(variant->driver()) == driver && variant->scratch() > there)
        return fail(format("kernel '%s' needs %llu bytes of scratch memory, the launch has %llu",
                           kernel.symbol()->c_str(), Number(variant->scratch()), Number(there)));
    return {};
  }

  Status checkCopy(const fb::Command &command) const {
    for (uint32_t i = 0; i < numCopied(command); ++i)
      GANTRY_RETURN_IF_ERROR(checkCopied(copiedBy(command, i)));
    const Copied first = copiedBy(command, 0);
    uint32_t from = deviceOf(first.source), to = deviceOf(first.target);
    if (command.device() != from && command.device() != to)
      return fail(format("device %llu has neither of the buffers", Number(command.device())));
    if (command.copy_kind() !=
        copyKindBetween(from, deviceAt(from).type(), to, deviceAt(to).type()))
      return fail(
          format("the copy kind is not that of devices %llu and %llu", Number(from), Number(to)));
    return numCopied(command) == 1 ? Status() : checkTransfer(command, from, to);
  }

  Status checkCopied(const Copied &value) const {
    const fb::BufferRef &source = value.source, &target = value.target;
    GANTRY_RETURN_IF_ERROR(checkBuffer(source, Access::read));
    GANTRY_RETURN_IF_ERROR(checkBuffer(target, Access::write));
    if (source.size() != target.size())
      return fail(format("from %llu to %llu bytes", Number(source.size()), Number(target.size())));
    bool sameBytes = source.space() == target.space() && source.index() == target.index();
    // A copy onto itself does nothing; a shifted one depends on the order of its bytes.
    if (sameBytes && source.offset() != target.offset() &&
        rangesOverlap(source.offset(), source.size(), target.offset(), target.size()))
      return fail("source and destination overlap");
    // 0 stands for "no cause" in a plan without strings.
    return checkIndex(value.cause, std::max<uint64_t>(1, countOf(plan.strings())), "cause");
  }

  /// The values of one transfer go the same way, in any order: no target shares a byte with another
  /// buffer of it.
  Status checkTransfer(const fb::Command &command, uint32_t from, uint32_t to) const {
    struct TransferRange {
      std::tuple<fb::Space, uint32_t, uint64_t> begin;
      uint64_t end;
      bool written;
    };
    std::vector<TransferRange> ranges;
    for (uint32_t i = 0; i < countOf(command.buffers()); ++i) {
      const fb::BufferRef &buffer = *command.buffers()->Get(i);
      const bool written = i % 2 == 1;
      if (deviceOf(buffer) != (written ? to : from))
        return fail(format("its values do not all go from device %llu to device %llu", Number(from),
                           Number(to)));
      if (buffer.size() != 0)
        ranges.push_back({{buffer.space(), buffer.index(), buffer.offset()},
                          buffer.offset() + buffer.size(),
                          written});
    }
    std::ranges::sort(ranges, {}, &TransferRange::begin);
    uint64_t readEnd = 0, writtenEnd = 0; // of the space at hand
    for (size_t i = 0; i < ranges.size(); ++i) {
      const auto &[space, index, begin] = ranges[i].begin;
      if (i == 0 || std::tie(space, index) != std::tie(std::get<0>(ranges[i - 1].begin),
                                                       std::get<1>(ranges[i - 1].begin)))
        readEnd = writtenEnd = 0;
      if (begin < writtenEnd || (ranges[i].written && begin < readEnd))
        return fail("buffers that it writes overlap others that it uses");
      uint64_t &end = ranges[i].written ? writtenEnd : readEnd;
      end = std::max(end, ranges[i].end);
    }
    return {};
  }

  /// That it exists and may do with its buffers what it does; ValidateExchanges.cpp has the rest.
  Status checkMember(const fb::Command &command) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(command.exchange(), countOf(plan.exchanges()), "exchange"));
    const fb::Exchange &exchange = exchangeOf(plan, command);
    GANTRY_RETURN_IF_ERROR(checkIndex(command.rank(), membersOf(plan, exchange).size(), "member"));
    for (uint32_t i = 0; i < countOf(command.buffers()); ++i)
      GANTRY_RETURN_IF_ERROR(checkBuffer(*command.buffers()->Get(i),
                                         writes(command, i) ? Access::write : Access::read));
    return {};
  }

  /// One, or one for each task.
  Status checkCondition(const fb::Command &command) const {
    GANTRY_RETURN_IF_ERROR(checkCondition(*command.condition()));
    for (const fb::BufferRef *condition : each(command.conditions()))
      GANTRY_RETURN_IF_ERROR(checkCondition(*condition));
    if (countOf(command.conditions()) != 0 &&
        std::memcmp(command.conditions()->Get(0), command.condition(), sizeof(fb::BufferRef)) != 0)
      return fail("its condition is not the first of its conditions");
    if (countOf(command.conditions()) > 1 && countOf(plan.exchanges()) == 0)
      return fail("it has conditions of several tasks, and nothing is exchanged between them");
    return {};
  }

  Status checkCondition(const fb::BufferRef &condition) const {
    GANTRY_RETURN_IF_ERROR(checkBuffer(condition, Access::read));
    if (condition.size() != 1)
      return fail(format("the condition has %llu bytes, expected 1", Number(condition.size())));
    if (deviceAt(deviceOf(condition)).type() != fb::DeviceType::cpu)
      return fail("the condition is not on the host");
    return {};
  }

  /// What its error says can be said of any position that was found.
  Status checkCheck(const fb::Command &command) {
    const fb::IndexCheck *about = command.index_check();
    if (!about)
      return fail("it does not say what it checks");
    GANTRY_RETURN_IF_ERROR(visit(about->shape()));
    GANTRY_RETURN_IF_ERROR(visit(about->sizes()));
    if (countOf(about->sizes()) == 0)
      return fail("it has no size for indices to be in");
    for (const auto *list : {about->shape(), about->sizes()})
      for (uint32_t i = 0; i < countOf(list); ++i)
        if (list->Get(i) < (list == about->shape() ? 1 : 0))
          return fail("a dimension is " + std::to_string(list->Get(i)));
    const fb::BufferRef &first = *command.buffers()->Get(0);
    for (const fb::BufferRef *buffer : each(command.buffers()))
      GANTRY_RETURN_IF_ERROR(checkBuffer(*buffer, Access::read));
    if (first.size() != 2 * sizeof(int64_t))
      return fail(format("it reads %llu bytes, expected 16", Number(first.size())));
    if (deviceOf(first) != command.device() ||
        deviceAt(command.device()).type() != fb::DeviceType::cpu)
      return fail("what it reads is not on the host");
    return {};
  }

  /// A semaphore has one signal, and each wait comes after it on every way there. The order of the
  /// commands is then an order in which all of them can run: no wait can be part of a cycle.
  Status checkSignal(const fb::Command &command) {
    GANTRY_RETURN_IF_ERROR(checkIndex(command.signal(), function->num_semaphores(), "semaphore"));
    if (signalSeen[command.signal()])
      return fail(format("semaphore %llu is signalled twice", Number(command.signal())));
    signalSeen[command.signal()] = signalled[command.signal()] = 1;
    return {};
  }

  Status checkWait(const fb::Command &command) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(command.signal(), function->num_semaphores(), "semaphore"));
    if (!signalled[command.signal()])
      return fail(
          format("nothing signals semaphore %llu before this wait", Number(command.signal())));
    return {};
  }

  // ---- buffers ----

  /// The device of a buffer that was found to exist.
  uint32_t deviceOf(const fb::BufferRef &buffer) const {
    return plan::deviceOf(plan, *function, buffer);
  }

  Status checkBufferExists(const fb::BufferRef &buffer) const {
    switch (buffer.space()) {
    case fb::Space::arena:
      GANTRY_RETURN_IF_ERROR(checkIndex(buffer.index(), countOf(plan.arenas()), "arena"));
      return checkRange(buffer.offset(), buffer.size(), bytesOfArena(buffer.index()),
                        "arena " + number(buffer.index()));
    case fb::Space::input:
      return checkBound(buffer, inputSizes, "input");
    case fb::Space::output:
      return checkBound(buffer, outputSizes, "output");
    }
    return fail(format("unknown space %llu", Number(static_cast<uint8_t>(buffer.space()))));
  }

  /// Bytes of an arena that the function may use.
  uint64_t bytesOfArena(uint32_t index) const {
    const fb::Arena &arena = *plan.arenas()->Get(index);
    if (function != plan.load())
      return arena.size();
    if (arena.kind() == fb::ArenaKind::transient)
      return arena.load_size();
    return arena.kind() == fb::ArenaKind::variables ? 0 : readAtLoad[index];
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
      return fail(format("it writes input %llu", Number(buffer.index())));
    if (buffer.space() != fb::Space::arena)
      return {};
    fb::ArenaKind kind = plan.arenas()->Get(buffer.index())->kind();
    if (kind == fb::ArenaKind::constants)
      return fail(format("it writes the constants in arena %llu", Number(buffer.index())));
    // The runtime locks the state of functions that say so, and of no others.
    if (kind == fb::ArenaKind::variables && !function->writes_variables())
      return fail(
          format("it writes the variables in arena %llu, but the function has no writes_variables",
                 Number(buffer.index())));
    return {};
  }

  Status checkBuffer(const fb::BufferRef &buffer, Access access, uint32_t device) const {
    GANTRY_RETURN_IF_ERROR(checkBuffer(buffer, access));
    if (deviceOf(buffer) != device)
      return fail(format("a buffer is on device %llu, the command on device %llu",
                         Number(deviceOf(buffer)), Number(device)));
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
        return fail(format("it lives in commands %llu to %llu of %llu", Number(value->first()),
                           Number(value->last()), Number(numCommands)));
      if (!value->type())
        continue;
      uint64_t bytes = 0;
      GANTRY_RETURN_IF_ERROR(checkType(value->type(), &bytes));
      if (bytes != value->buffer()->size())
        return fail(format("its type has %llu bytes, its buffer %llu", Number(bytes),
                           Number(value->buffer()->size())));
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
      if (op->part() > fb::StepPart::MAX)
        return fail(format("it is of part %llu of a step; there are 0 to %llu",
                           Number(static_cast<uint64_t>(op->part())),
                           Number(static_cast<uint64_t>(fb::StepPart::MAX))));
      GANTRY_RETURN_IF_ERROR(checkDeviceIndex(op->device()));
      GANTRY_RETURN_IF_ERROR(visit(op->rejected()));
      GANTRY_RETURN_IF_ERROR(visit(op->attributes()));
      GANTRY_RETURN_IF_ERROR(visit(op->operands()));
      GANTRY_RETURN_IF_ERROR(visit(op->results()));
      uint64_t bytes = 0;
      for (const fb::Operand *operand : each(op->operands()))
        GANTRY_RETURN_IF_ERROR(checkType(operand->type(), &bytes));
      for (const fb::TensorType *result : each(op->results()))
        GANTRY_RETURN_IF_ERROR(checkType(result, &bytes));
    }
    return {};
  }
};

} // namespace

Status checkFunctions(const Walk &walk, const KernelSignatures &signatures) {
  return FunctionChecker(walk, signatures).run();
}

} // namespace gantry::plan
