// An explanation for programs.
#include "gantry/Show/CommandNames.h"
#include "gantry/Show/Explain.h"

#include "gantry/Support/JSONWriter.h"

namespace gantry::show {

using namespace plan;

namespace {

std::string_view device(const Subject &subject, uint32_t index) {
  return fullDeviceName(subject.plan, index);
}

template <typename Bindings>
void addBindings(JSONWriter &json, const Subject &subject, const char *key,
                 const Bindings *bindings) {
  json.key(key).beginArray();
  for (const auto *binding : listOf(bindings)) {
    json.beginObject()
        .member("name", textOf(binding->name()))
        .member("type", typeText(*binding->type()))
        .member("bytes", typeBytes(*binding->type()))
        .member("device", device(subject, binding->device()));
    if (binding->over() != plan::nothingSaid)
      json.member("over", uint64_t(binding->over()));
    json.endObject();
  }
  json.endArray();
}

/// What the op reads and gives, and its attributes.
void addForm(JSONWriter &json, const fb::PlacedOp &op) {
  json.key("operands").beginArray();
  for (const auto *operand : listOf(op.operands())) {
    json.beginObject()
        .member("name", textOf(operand->name()))
        .member("type", typeText(*operand->type()));
    if (operand->constant())
      json.key("constant").boolean(true);
    if (!textOf(operand->value()).empty())
      json.member("value", textOf(operand->value()));
    json.endObject();
  }
  json.endArray().key("results").beginArray();
  for (const auto *result : listOf(op.results()))
    json.value(typeText(*result));
  json.endArray().key("attributes").beginArray();
  for (const auto *attribute : listOf(op.attributes()))
    json.value(textOf(attribute));
  json.endArray();
}

/// `predicted_seconds` is what the op is charged for: its kernel's time if it is the main one in
/// it, so that the ops sum to the device's compute; `alone_seconds` what it would take unfused.
void addOps(JSONWriter &json, const Subject &subject, const fb::Function &function,
            const Launches &launches) {
  json.key("ops").beginArray();
  for (const auto *op : listOf(function.placed_ops())) {
    if (!subject.wants(*op))
      continue;
    json.beginObject();
    addPlacement(json, subject.plan, *op);
    json.member("node", textOf(op->node()))
        .member("source_op", textOf(op->source_op()))
        .member("kind", textOf(op->kind()))
        .member("kernel", textOf(op->kernel_name()))
        .member("flops", uint64_t(op->flops()))
        .member("bytes", uint64_t(op->bytes()));
    addForm(json, *op);
    json.member("predicted_seconds", launches.charged(*op))
        .member("alone_seconds", subject.alone(*op))
        .key("once")
        .boolean(op->once())
        .member("part", fb::EnumNameStepPart(op->part()))
        .key("again")
        .boolean(op->again());
    if (const auto launch = launches.of.find(op); launch != launches.of.end())
      json.member("launch", uint64_t(launch->second));
    json.endObject();
  }
  json.endArray();
}

/// Of a step of training; empty where nothing is differentiated.
void addStepParts(JSONWriter &json, const Subject &subject, const fb::Function &function,
                  const Launches &launches) {
  json.key("step_parts").beginArray();
  for (const StepPartUse &part : subject.stepPartsOf(function, launches))
    json.beginObject()
        .member("part", fb::EnumNameStepPart(part.part))
        .member("ops", part.ops)
        .member("launches", part.launches)
        .member("predicted_seconds", part.seconds)
        .member("bytes", part.bytes)
        .endObject();
  json.endArray();
}

void addLaunches(JSONWriter &json, const Subject &subject, const Launches &launches) {
  json.key("launches").beginArray();
  for (const Launch &launch : launches.all)
    json.beginObject()
        .member("name", launch.name())
        .member("device", device(subject, launch.command->device()))
        .member("kernel",
                textOf(listOf(subject.plan.kernels())[launch.command->kernel()]->symbol()))
        .member("predicted_seconds", launch.seconds)
        .endObject();
  json.endArray();
}

void addCopies(JSONWriter &json, const Subject &subject, const Ledger &ledger) {
  json.key("copies").beginArray();
  for (const LedgerCopy &copy : ledger.copies) {
    if (!subject.wants(copy))
      continue;
    json.beginObject();
    addCopy(json, subject.plan, copy);
    json.member("predicted_seconds", subject.seconds(copy)).endObject();
  }
  json.endArray();
}

void addPrediction(JSONWriter &json, const Subject &subject, const fb::Function &function,
                   const Ledger &ledger) {
  json.member("predicted_seconds", predictedSeconds(subject.plan, function))
      .member("lower_bound_seconds", lowerBoundSeconds(subject.plan, function))
      .key("devices")
      .beginArray();
  const std::vector<DeviceLoad> loads = subject.loadsOf(function, ledger);
  for (uint32_t d = 0; d < loads.size(); ++d)
    json.beginObject()
        .member("device", device(subject, d))
        .member("ops", loads[d].ops)
        .member("launches", loads[d].launches)
        .member("predicted_compute_seconds", loads[d].compute)
        .member("predicted_copy_seconds", loads[d].copies)
        .member("copied_bytes", loads[d].copied)
        .endObject();
  json.endArray();
}

void addKernels(JSONWriter &json, const Subject &subject, const Launches &launches) {
  json.key("kernels").beginArray();
  for (const KernelUse &use : subject.kernelsOf(launches))
    json.beginObject()
        .member("symbol", use.symbol)
        .member("library", use.library)
        .member("device", device(subject, use.device))
        .member("launches", use.launches)
        .member("items", use.items)
        .member("predicted_seconds", use.seconds)
        .member("ops", use.ops)
        .member("nodes", someOf(use.nodes))
        .endObject();
  json.endArray();
}

} // namespace

void addValues(JSONWriter &json, const fb::Function &function) {
  json.key("values").beginArray();
  for (const auto *value : listOf(function.values())) {
    if (!value->buffer() || value->buffer()->space() != fb::Space::arena)
      continue;
    json.beginObject()
        .member("name", textOf(value->name()))
        .member("type", value->type() ? typeText(*value->type()) : std::string())
        .member("arena", uint32_t(value->buffer()->index()))
        .member("offset", uint64_t(value->buffer()->offset()))
        .member("bytes", uint64_t(value->buffer()->size()))
        .member("first", uint32_t(value->first()))
        .member("last", uint32_t(value->last()))
        .endObject();
  }
  json.endArray();
}

namespace {

void addMemory(JSONWriter &json, const Subject &subject) {
  json.key("memory").beginArray();
  for (uint32_t d = 0; d < subject.plan.devices()->size(); ++d) {
    const DeviceMemory memory = subject.memoryOf(d);
    json.beginObject()
        .member("device", device(subject, d))
        .member("constants", memory.sizes[0])
        .member("variables", memory.sizes[1])
        .member("transient", memory.sizes[2])
        .member("lower_bound", memory.lowerBound)
        .member("limit", uint64_t(subject.plan.devices()->Get(d)->memory_limit()))
        .endObject();
  }
  json.endArray();
}

/// Elements of an array.
void addMoments(JSONWriter &json, const Subject &subject, const fb::Function &function,
                const Moments &moments, bool withFunction) {
  const CommandNames names(subject.plan, function);
  for (const Moment &moment : moments ? *moments : predictRun(subject.plan, function)) {
    json.beginObject();
    if (withFunction)
      json.member("function", textOf(function.name()));
    json.member("device", device(subject, moment.command->device()))
        .member("queue", uint32_t(moment.command->queue()))
        .member("name", names.of(*moment.command))
        .member("does", fb::EnumNameOpcode(moment.command->opcode()))
        .member("start", moment.start)
        .member("end", moment.end)
        .endObject();
  }
}

template <typename Strings>
void addTexts(JSONWriter &json, const char *key, const Strings *texts) {
  json.key(key).beginArray();
  for (const auto *text : listOf(texts))
    json.value(textOf(text));
  json.endArray();
}

} // namespace

std::string explanation(const Subject &subject, const MoreOfFunction &more) {
  JSONWriter json;
  json.beginObject()
      .member("source", textOf(subject.plan.source()))
      .member("producer", textOf(subject.plan.producer()))
      .member("plan_bytes", uint64_t(subject.planBytes))
      .key("has_code")
      .boolean(!subject.isOutline)
      .member("placement", textOf(subject.plan.placement()));
  addTexts(json, "constraints", subject.plan.constraints());
  addTexts(json, "remarks", subject.plan.remarks());
  addMemory(json, subject);
  json.key("functions").beginArray();
  for (const fb::Function *function : subject.functions()) {
    const Ledger ledger = Ledger::of(subject.plan, *function);
    json.beginObject().member("name", textOf(function->name()));
    addBindings(json, subject, "inputs", function->inputs());
    addBindings(json, subject, "outputs", function->outputs());
    const Launches launches = subject.launchesOf(*function, ledger);
    addOps(json, subject, *function, launches);
    addCopies(json, subject, ledger);
    addPrediction(json, subject, *function, ledger);
    addKernels(json, subject, launches);
    addStepParts(json, subject, *function, launches);
    addLaunches(json, subject, launches);
    more(json, *function);
    json.endObject();
  }
  return json.endArray().endObject().text();
}

std::string explainAsJson(const Subject &subject, const Moments &moments) {
  const auto more = [&](JSONWriter &json, const fb::Function &function) {
    if (subject.question.memory)
      addValues(json, function);
    if (subject.question.timeline) {
      json.key("timeline").beginArray();
      addMoments(json, subject, function, moments, false);
      json.endArray();
    }
  };
  return explanation(subject, more);
}

std::string timelineAsJson(const Subject &subject, const Moments &moments) {
  JSONWriter json;
  json.beginArray();
  for (const fb::Function *function : subject.functions())
    addMoments(json, subject, *function, moments, true);
  return json.endArray().text();
}

} // namespace gantry::show
