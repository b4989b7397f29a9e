// A small plan with every kind of command, for tests that round-trip, damage and refuse plans; and
// the tools to damage one on purpose.
#pragma once

#include "gantry/Plan/FileFormat.h"
#include "gantry/Plan/PlanFile.h"
#include "gantry/Plan/PlanWriter.h"

#include <cstring>
#include <memory>
#include <vector>

namespace gantry::plan::test {

using Bytes = std::vector<uint8_t>;

inline fb::BufferRef inArena(uint32_t arena, uint64_t offset, uint64_t size) {
  return {fb::Space::arena, arena, offset, size};
}
inline fb::BufferRef inInput(uint32_t index, uint64_t offset, uint64_t size) {
  return {fb::Space::input, index, offset, size};
}
inline fb::BufferRef inOutput(uint32_t index, uint64_t offset, uint64_t size) {
  return {fb::Space::output, index, offset, size};
}

/// A plan's metadata with the writer that holds its blobs.
struct Sample {
  PlanWriter writer;
  fb::PlanT plan;

  fb::FunctionT &function() { return *plan.functions[0]; }
  fb::BlockT &block(size_t index) { return *function().blocks[index]; }
  fb::CommandT &command(size_t block, size_t index) {
    return *function().blocks[block]->commands[index];
  }

  /// The whole file; empty when the writer refuses the plan.
  Bytes bytes() const {
    Expected<AlignedBuffer> buffer = writer.toBytes(plan);
    return buffer ? Bytes(buffer->data(), buffer->data() + buffer->size()) : Bytes();
  }
};

inline std::unique_ptr<fb::TensorTypeT> tensor(fb::ElementType element,
                                               std::vector<int64_t> shape) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = element;
  type->shape = std::move(shape);
  return type;
}

inline std::unique_ptr<fb::BindingT> binding(const char *name, std::vector<int64_t> shape) {
  auto result = std::make_unique<fb::BindingT>();
  result->name = name;
  result->type = tensor(fb::ElementType::f32, std::move(shape));
  return result;
}

inline std::unique_ptr<fb::CommandT> command(fb::Opcode opcode,
                                             std::vector<fb::BufferRef> buffers = {}) {
  auto result = std::make_unique<fb::CommandT>();
  result->opcode = opcode;
  result->buffers = std::move(buffers);
  return result;
}

inline std::unique_ptr<fb::CommandT> launch(std::vector<fb::BufferRef> buffers, uint32_t results) {
  auto result = command(fb::Opcode::launch, std::move(buffers));
  result->num_results = results;
  result->items = 8;
  result->name = "add";
  result->log_names = {"Add"};
  return result;
}

inline std::unique_ptr<fb::CommandT> copy(fb::BufferRef from, fb::BufferRef to, fb::CopyKind kind,
                                          uint32_t device) {
  auto result = command(fb::Opcode::copy, {from, to});
  result->copy_kind = kind;
  result->device = device;
  return result;
}

/// A variant of the kernel that runs code 0; the first one replaces what the kernel was before.
inline fb::VariantT &addVariant(fb::KernelT &kernel, const char *driver) {
  kernel.variants.push_back(std::make_unique<fb::VariantT>());
  kernel.variants.back()->driver = driver;
  return *kernel.variants.back();
}

/// One more value in the transfer.
inline void addToCopy(fb::CommandT &copy, fb::BufferRef from, fb::BufferRef to) {
  copy.buffers.push_back(from);
  copy.buffers.push_back(to);
  copy.also.push_back(std::make_unique<fb::CopiedValueT>());
  copy.also.back()->location = "graph:2";
}

inline std::unique_ptr<fb::CommandT> nested(fb::Opcode opcode, fb::BufferRef condition,
                                            std::vector<uint32_t> blocks) {
  auto result = command(opcode);
  result->condition = std::make_unique<fb::BufferRef>(condition);
  result->blocks = std::move(blocks);
  return result;
}

inline std::unique_ptr<fb::CommandT> order(fb::Opcode opcode, uint32_t semaphore, uint32_t queue) {
  auto result = command(opcode);
  result->signal = semaphore;
  result->queue = queue;
  return result;
}

inline void addDevices(fb::PlanT &plan) {
  const char *names[] = {"/job:localhost/replica:0/task:0/device:CPU:0",
                         "/job:localhost/replica:0/task:0/device:GPU:0"};
  for (int i = 0; i < 2; ++i) {
    auto device = std::make_unique<fb::DeviceT>();
    device->name = names[i];
    device->type = i == 0 ? fb::DeviceType::cpu : fb::DeviceType::gpu;
    device->driver = i == 0 ? "host" : "sim";
    plan.devices.push_back(std::move(device));
  }
}

inline void addArena(fb::PlanT &plan, uint32_t device, fb::ArenaKind kind, uint64_t size) {
  auto arena = std::make_unique<fb::ArenaT>();
  arena->device = device;
  arena->kind = kind;
  arena->size = size;
  arena->lower_bound = size / 2;
  plan.arenas.push_back(std::move(arena));
}

/// Arenas: 0 constants (CPU, 256), 1 variables (CPU, 128), 2 transient (CPU, 512), 3 transient
/// (GPU, 256). Blocks: 0 body, 1 then, 2 else, 3 loop condition, 4 loop body. Inputs and outputs:
/// f32[8].
inline Sample makeSample() {
  Sample sample;
  fb::PlanT &plan = sample.plan;
  plan.producer = "gantry test";
  plan.math = "f32";
  plan.strings = {"operand 0 of 'add'"};
  addDevices(plan);
  addArena(plan, 0, fb::ArenaKind::constants, 256);
  addArena(plan, 0, fb::ArenaKind::variables, 128);
  addArena(plan, 0, fb::ArenaKind::transient, 512);
  addArena(plan, 1, fb::ArenaKind::transient, 256);

  uint32_t weights = sample.writer.addSegment(SegmentKind::constants);
  for (uint8_t i = 0; i < 2; ++i) {
    BlobRef blob = sample.writer.addBlob(weights, Bytes(100, uint8_t(i + 1)));
    auto constant = std::make_unique<fb::ConstantT>();
    constant->name = i == 0 ? "w" : "b";
    constant->offset = 128 * i;
    constant->size = blob.size;
    constant->segment = blob.segment;
    constant->segment_offset = blob.offset;
    constant->content_hash = blob.hash;
    plan.constants.push_back(std::move(constant));
  }
  BlobRef object =
      sample.writer.addBlob(sample.writer.addSegment(SegmentKind::code), Bytes(1000, 0x90));
  auto code = std::make_unique<fb::CodeT>();
  code->segment = object.segment;
  code->size = object.size;
  code->target = "x86-64";
  code->features = {"avx2", "fma"};
  plan.code.push_back(std::move(code));
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->symbol = "add_0";
  plan.kernels.push_back(std::move(kernel));
  auto variable = std::make_unique<fb::VariableT>();
  variable->name = "counter";
  variable->type = tensor(fb::ElementType::f32, {2, 4});
  variable->arena = 1;
  variable->size = 32;
  plan.variables.push_back(std::move(variable));

  auto function = std::make_unique<fb::FunctionT>();
  function->name = "main";
  function->inputs.push_back(binding("x", {8}));
  function->outputs.push_back(binding("y", {8}));
  function->writes_variables = true;
  function->num_queues = 2;
  function->num_semaphores = 1;
  for (int i = 0; i < 5; ++i)
    function->blocks.push_back(std::make_unique<fb::BlockT>());
  auto &body = function->blocks[0]->commands;
  body.push_back(launch({inInput(0, 0, 32), inArena(0, 0, 32), inArena(2, 64, 32)}, 1));
  body.push_back(copy(inArena(2, 64, 32), inArena(3, 0, 32), fb::CopyKind::hostToDevice, 1));
  body.push_back(order(fb::Opcode::signal, 0, 0));
  body.push_back(order(fb::Opcode::wait, 0, 1));
  body.push_back(copy(inArena(3, 0, 32), inArena(2, 128, 32), fb::CopyKind::deviceToHost, 0));
  body.push_back(nested(fb::Opcode::branch, inArena(2, 0, 1), {1, 2}));
  body.push_back(nested(fb::Opcode::loop, inArena(2, 0, 1), {3, 4}));
  body.push_back(copy(inArena(2, 128, 32), inOutput(0, 0, 32), fb::CopyKind::sameDevice, 0));
  function->blocks[1]->commands.push_back(launch({inArena(2, 64, 32), inArena(1, 0, 32)}, 1));
  function->blocks[2]->commands.push_back(command(fb::Opcode::fill, {inArena(2, 128, 32)}));
  function->blocks[3]->commands.push_back(command(fb::Opcode::fill, {inArena(2, 0, 1)}));
  function->blocks[4]->commands.push_back(launch({inArena(2, 128, 32), inArena(2, 192, 32)}, 1));
  auto value = std::make_unique<fb::ValueT>();
  value->name = "add";
  value->type = tensor(fb::ElementType::f32, {8});
  value->buffer = std::make_unique<fb::BufferRef>(inArena(2, 64, 32));
  value->last = 4;
  function->values.push_back(std::move(value));
  auto op = std::make_unique<fb::PlacedOpT>();
  op->log_name = "Add";
  op->rule = "default";
  op->rejected = {"GPU:0: no kernel"};
  function->placed_ops.push_back(std::move(op));
  plan.functions.push_back(std::move(function));
  return sample;
}

/// Computes all checksums again, where the places are inside the file, so that the checks behind
/// them are reached with damaged contents.
inline void reseal(std::span<uint8_t> file) {
  FileHeader header;
  if (file.size() < sizeof header)
    return;
  std::memcpy(&header, file.data(), sizeof header);
  auto inFile = [&](uint64_t offset, uint64_t size) {
    return size <= file.size() && offset <= file.size() - size;
  };
  uint64_t tableSize = uint64_t(header.segmentCount) * sizeof(SegmentEntry);
  if (!inFile(header.segmentTableOffset, tableSize) ||
      !inFile(header.metadataOffset, header.metadataSize))
    return;
  for (uint32_t i = 0; i < header.segmentCount; ++i) {
    SegmentEntry entry;
    uint8_t *place = file.data() + header.segmentTableOffset + i * sizeof entry;
    std::memcpy(&entry, place, sizeof entry);
    if (!inFile(entry.offset, entry.size))
      continue;
    entry.checksum = hashBytes(file.subspan(entry.offset, entry.size));
    std::memcpy(place, &entry, sizeof entry);
  }
  header.checksum = 0;
  Hasher hasher;
  hasher.update({reinterpret_cast<const uint8_t *>(&header), sizeof header});
  hasher.update(file.subspan(header.segmentTableOffset, tableSize));
  hasher.update(file.subspan(header.metadataOffset, header.metadataSize));
  header.checksum = hasher.digest();
  std::memcpy(file.data(), &header, sizeof header);
}

/// Touches everything that a runtime would use of a plan that was accepted, so that a sanitizer
/// sees what the validator let through. Gives a sum, so that nothing is optimised away.
uint64_t useEverything(const PlanFile &file);

} // namespace gantry::plan::test
