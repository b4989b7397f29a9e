// One function per table of the schema, in the schema's order.
#include "gantry/Runtime/Describe.h"

#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Tensor.h"
#include "gantry/Support/JSONWriter.h"

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::each;
using plan::textOf;

namespace {

class Describer {
public:
  std::string run(const fb::Plan &plan) {
    json.beginObject();
    text("producer", plan.producer());
    text("source", plan.source());
    number("source_hash", plan.source_hash());
    text("math", plan.math());
    text("placement", plan.placement());
    texts("constraints", plan.constraints());
    texts("remarks", plan.remarks());
    list("devices", plan.devices(), [&](auto &device) { describe(device); });
    list("links", plan.links(), [&](auto &link) { describe(link); });
    if (plan::countOf(plan.tasks()) != 0) {
      list("tasks", plan.tasks(), [&](auto &task) {
        text("name", task.name());
        number("host", task.host());
      });
      list("hosts", plan.hosts(), [&](auto &host) { text("name", host.name()); });
    }
    if (plan::countOf(plan.exchanges()) != 0) {
      list("groups", plan.groups(), [&](auto &group) { numbers("devices", group.devices()); });
      list("exchanges", plan.exchanges(), [&](auto &exchange) { describe(exchange); });
    }
    list("arenas", plan.arenas(), [&](auto &arena) { describe(arena); });
    list("constants", plan.constants(), [&](auto &constant) { describe(constant); });
    list("variables", plan.variables(), [&](auto &variable) { describe(variable); });
    list("code", plan.code(), [&](auto &code) { describe(code); });
    list("kernels", plan.kernels(), [&](auto &kernel) { describe(kernel); });
    texts("strings", plan.strings());
    list("functions", plan.functions(), [&](auto &function) { describe(function); });
    json.endObject();
    return json.text();
  }

private:
  JSONWriter json;

  void text(const char *key, const flatbuffers::String *value) {
    if (textOf(value).empty())
      return;
    json.key(key);
    json.value(textOf(value));
  }
  void name(const char *key, const char *enumName) {
    json.key(key);
    json.value(enumName);
  }
  void number(const char *key, uint64_t value) {
    json.key(key);
    json.value(value);
  }
  /// 0 stands for "not known" in rates and times.
  void known(const char *key, double value) {
    if (value > 0)
      json.member(key, value);
  }
  /// 0 stands for "as elsewhere" or "no bound".
  void some(const char *key, uint64_t value) {
    if (value != 0)
      number(key, value);
  }
  /// An index that may be absent.
  void said(const char *key, uint32_t index) {
    if (index != plan::nothingSaid)
      number(key, index);
  }
  void flag(const char *key, bool value) {
    json.key(key);
    json.boolean(value);
  }

  template <typename Vector>
  void texts(const char *key, const Vector *values) {
    if (plan::countOf(values) == 0)
      return;
    json.key(key);
    json.beginArray();
    for (const flatbuffers::String *value : each(values))
      json.value(textOf(value));
    json.endArray();
  }

  template <typename Vector>
  void numbers(const char *key, const Vector *values) {
    json.key(key);
    json.beginArray();
    for (int64_t value : each(values))
      json.value(value);
    json.endArray();
  }

  template <typename Vector, typename Item>
  void list(const char *key, const Vector *values, Item item) {
    json.key(key);
    json.beginArray();
    for (const auto *value : each(values)) {
      json.beginObject();
      item(*value);
      json.endObject();
    }
    json.endArray();
  }

  void type(const fb::TensorType *tensor) {
    if (!tensor)
      return;
    auto shape = plan::shapeOf(*tensor);
    TensorType readable{plan::elementOf(*tensor), {shape.begin(), shape.end()}};
    json.key("type");
    json.value(readable.str());
    name("element", fb::EnumNameElementType(tensor->element()));
    json.key("shape");
    json.beginArray();
    for (int64_t dim : shape)
      json.value(dim);
    json.endArray();
  }

  void buffer(const fb::BufferRef &ref) {
    name("space", fb::EnumNameSpace(ref.space()));
    number("index", ref.index());
    number("offset", ref.offset());
    number("size", ref.size());
  }

  void describe(const fb::Device &device) {
    text("name", device.name());
    name("type", fb::EnumNameDeviceType(device.type()));
    text("driver", device.driver());
    number("physical", device.physical());
    number("memory_limit", device.memory_limit());
    known("peak_flops", device.peak_flops());
    known("bandwidth", device.bandwidth());
    known("launch", device.launch());
    texts("also", device.also());
  }

  void describe(const fb::Link &link) {
    number("from", link.from());
    number("to", link.to());
    known("bandwidth", link.bandwidth());
    known("latency", link.latency());
  }

  void describe(const fb::Exchange &exchange) {
    name("kind", fb::EnumNameExchangeKind(exchange.kind()));
    number("group", exchange.group());
    numbers("sizes", exchange.sizes());
    if (plan::countOf(exchange.rows()) != 0)
      numbers("rows", exchange.rows());
    text("name", exchange.name());
    number("cause", exchange.cause());
  }

  void describe(const fb::Arena &arena) {
    number("device", arena.device());
    name("kind", fb::EnumNameArenaKind(arena.kind()));
    number("size", arena.size());
    number("lower_bound", arena.lower_bound());
    if (arena.load_size())
      number("load_size", arena.load_size());
  }

  void describe(const fb::Constant &constant) {
    text("name", constant.name());
    number("arena", constant.arena());
    number("offset", constant.offset());
    number("size", constant.size());
    said("home", constant.home());
    said("cause", constant.cause());
    said("made", constant.made());
  }

  void describe(const fb::Variable &variable) {
    text("name", variable.name());
    type(variable.type());
    number("arena", variable.arena());
    number("offset", variable.offset());
    number("size", variable.size());
    text("mirror_of", variable.mirror_of());
  }

  void describe(const fb::Code &code) {
    name("kind", fb::EnumNameCodeKind(code.kind()));
    number("size", code.size());
    text("target", code.target());
    texts("features", code.features());
  }

  void describe(const fb::Kernel &kernel) {
    text("symbol", kernel.symbol());
    if (plan::countOf(kernel.variants()) != 0) {
      list("variants", kernel.variants(), [&](auto &variant) { describe(variant); });
      return;
    }
    if (!kernel.custom())
      number("code", kernel.code());
    flag("custom", kernel.custom());
  }

  void describe(const fb::Variant &variant) {
    text("driver", variant.driver());
    name("source", fb::EnumNameKernelSource(variant.source()));
    if (variant.source() == fb::KernelSource::code)
      number("code", variant.code());
    text("library", variant.library());
    text("library_version", variant.library_version());
    text("symbol", variant.symbol());
    texts("features", variant.features());
    some("arch_min", variant.arch_min());
    some("arch_max", variant.arch_max());
    some("items", variant.items());
    some("grain", variant.grain());
    extent("grid", variant.grid());
    extent("block", variant.block());
    some("shared_memory", variant.shared_memory());
    some("scratch", variant.scratch());
  }

  void extent(const char *key, const fb::Extent *value) {
    if (!value)
      return;
    json.key(key);
    json.beginArray();
    for (uint32_t side : {value->x(), value->y(), value->z()})
      json.value(uint64_t(side));
    json.endArray();
  }

  void describe(const fb::Function &function) {
    text("name", function.name());
    flag("writes_variables", function.writes_variables());
    number("num_queues", function.num_queues());
    number("num_semaphores", function.num_semaphores());
    known("predicted_seconds", function.predicted_seconds());
    known("lower_bound_seconds", function.lower_bound_seconds());
    list("inputs", function.inputs(), [&](auto &binding) { describe(binding); });
    list("outputs", function.outputs(), [&](auto &binding) { describe(binding); });
    list("blocks", function.blocks(), [&](const fb::Block &block) {
      list("commands", block.commands(), [&](auto &command) { describe(command); });
    });
    list("values", function.values(), [&](auto &value) { describe(value); });
    list("placed_ops", function.placed_ops(), [&](auto &op) { describe(op); });
  }

  void describe(const fb::Binding &binding) {
    text("name", binding.name());
    type(binding.type());
    number("device", binding.device());
    if (binding.over() != plan::nothingSaid)
      number("over", binding.over());
    if (const fb::End *end = binding.end()) {
      json.key("end");
      json.beginObject();
      text("of", end->of());
      number("axis", end->axis());
      number("begin", end->begin());
      number("size", end->size());
      json.endObject();
    }
  }

  void describe(const fb::Command &command) {
    name("opcode", fb::EnumNameOpcode(command.opcode()));
    text("name", command.name());
    text("location", command.location());
    number("device", command.device());
    number("queue", command.queue());
    buffers(command);
    switch (command.opcode()) {
    case fb::Opcode::launch:
      number("kernel", command.kernel());
      number("items", command.items());
      number("grain", command.grain());
      number("num_results", command.num_results());
      if (command.has_scratch())
        flag("has_scratch", true);
      texts("log_names", command.log_names());
      break;
    case fb::Opcode::copy:
      name("copy_kind", fb::EnumNameCopyKind(command.copy_kind()));
      number("cause", command.cause());
      list("also", command.also(), [&](const fb::CopiedValue &value) {
        text("name", value.name());
        text("location", value.location());
        number("cause", value.cause());
      });
      break;
    case fb::Opcode::fill:
      number("value", command.value());
      break;
    case fb::Opcode::check:
      indexCheck(*command.index_check());
      break;
    case fb::Opcode::signal:
    case fb::Opcode::wait:
      number("signal", command.signal());
      break;
    case fb::Opcode::branch:
    case fb::Opcode::loop:
      if (command.library())
        text("library", command.library());
      nested(command);
      break;
    case fb::Opcode::send:
    case fb::Opcode::receive:
    case fb::Opcode::part:
      number("exchange", command.exchange());
      number("rank", command.rank());
      break;
    }
  }

  void indexCheck(const fb::IndexCheck &about) {
    json.key("index_check");
    json.beginObject();
    text("operand", about.operand());
    text("source_op", about.source_op());
    numbers("shape", about.shape());
    numbers("sizes", about.sizes());
    text("says", about.says());
    json.endObject();
  }

  void buffers(const fb::Command &command) {
    if (plan::countOf(command.buffers()) != 0)
      list("buffers", command.buffers(), [&](const fb::BufferRef &ref) { buffer(ref); });
  }

  void nested(const fb::Command &command) {
    json.key("condition");
    json.beginObject();
    buffer(*command.condition());
    json.endObject();
    if (plan::countOf(command.conditions()) != 0)
      list("conditions", command.conditions(), [&](const fb::BufferRef &ref) { buffer(ref); });
    json.key("blocks");
    json.beginArray();
    for (uint32_t block : each(command.blocks()))
      json.value(uint64_t(block));
    json.endArray();
  }

  void describe(const fb::Value &value) {
    text("name", value.name());
    type(value.type());
    json.key("buffer");
    json.beginObject();
    buffer(*value.buffer());
    json.endObject();
    number("first", value.first());
    number("last", value.last());
  }

  void describe(const fb::PlacedOp &op) {
    text("log_name", op.log_name());
    text("name", op.name());
    text("location", op.location());
    number("device", op.device());
    text("rule", op.rule());
    text("reason", op.reason());
    texts("rejected", op.rejected());
    flag("fall_back", op.fall_back());
    flag("once", op.once());
    text("kernel_name", op.kernel_name());
    number("flops", op.flops());
    number("bytes", op.bytes());
    known("predicted_seconds", op.predicted_seconds());
    text("node", op.node());
    text("source_op", op.source_op());
    text("kind", op.kind());
    if (op.part() != fb::StepPart::forward)
      name("part", fb::EnumNameStepPart(op.part()));
    flag("again", op.again());
    list("operands", op.operands(), [&](auto &operand) { describe(operand); });
    list("results", op.results(), [&](auto &result) { type(&result); });
    texts("attributes", op.attributes());
  }

  void describe(const fb::Operand &operand) {
    text("name", operand.name());
    type(operand.type());
    flag("constant", operand.constant());
    text("value", operand.value());
  }
};

} // namespace

std::string describePlanJSON(const fb::Plan &plan) { return Describer().run(plan); }

} // namespace gantry::runtime
