#include "Options.h"

#include "Info.h"

#include "gantry/Runtime/Budget.h"

using namespace gantry;
using namespace gantry::capi;
using namespace gantry::runtime;

static_assert(int(GANTRY_VERIFY_LAZY) == int(Verify::lazy) &&
              int(GANTRY_VERIFY_OFF) == int(Verify::off));

namespace {

Expected<std::optional<EmulatorChecks>> readEmulation(const gantry_runtime_options_t &given) {
  switch (given.emulate) {
  case GANTRY_EMULATE_OFF:
    return std::optional<EmulatorChecks>();
  case GANTRY_EMULATE_CHECK_ALL:
    return std::optional(EmulatorChecks::all);
  case GANTRY_EMULATE_CHECK_MEMORY:
    return std::optional(EmulatorChecks::memory);
  case GANTRY_EMULATE_CHECK_NOTHING:
    return std::optional(EmulatorChecks::none);
  }
  return Status::invalidArgument("gantry_runtime_options_t: emulate is " +
                                 std::to_string(static_cast<int>(given.emulate)) +
                                 ", which is no gantry_emulate_t");
}

/// Each of the caller's texts as a Made, behind those that are there; `what` is the field's name.
template <typename Made>
Status readTexts(const char *const *texts, size_t count, const char *what,
                 std::vector<Made> &into) {
  auto wrong = [what](const std::string &why) {
    return Status::invalidArgument("gantry_runtime_options_t: " + std::string(what) + why);
  };
  if (count != 0 && !texts)
    return wrong(" is a null pointer, and num_" + std::string(what) + " is " +
                 std::to_string(count));
  for (size_t i = 0; i < count; ++i) {
    if (!texts[i])
      return wrong("[" + std::to_string(i) + "] is a null pointer");
    Expected<Made> made = Made::parse(texts[i]);
    if (!made)
      return made.status();
    into.push_back(made.take());
  }
  return {};
}

/// The environment's memory settings, then the caller's, which count more.
Status readMemory(const gantry_runtime_options_t &given, std::vector<MemorySetting> &memory) {
  Expected<std::vector<MemorySetting>> around = MemorySetting::fromEnvironment();
  if (!around)
    return around.status();
  memory = around.take();
  return readTexts(given.memory, given.num_memory, "memory", memory);
}

Expected<RuntimeOptions> readAll(const gantry_runtime_options_t &given) {
  if (static_cast<unsigned>(given.verify) > static_cast<unsigned>(Verify::off))
    return Status::invalidArgument("gantry_runtime_options_t: verify is " +
                                   std::to_string(static_cast<int>(given.verify)) +
                                   ", which is no gantry_verify_t");
  RuntimeOptions made;
  made.verify = static_cast<Verify>(given.verify);
  made.threads = given.threads;
  made.hostMemoryLimit = given.host_memory_limit;
  if (given.log)
    made.log = [log = given.log, context = given.log_context](Severity severity,
                                                              const std::string &text) {
      log(context, static_cast<gantry_severity_t>(severity), text.c_str());
    };
  if (given.sim_order) {
    Expected<CommandOrder> order = CommandOrder::parse(given.sim_order);
    if (!order)
      return order.status();
    made.commandOrder = *order;
  }
  GANTRY_RETURN_IF_ERROR(readTexts(given.bindings, given.num_bindings, "bindings", made.bindings));
  if (given.topology) {
    Expected<Topology> topology = Topology::fromJSON(given.topology);
    if (!topology)
      return topology.status();
    made.topology = topology.take();
  }
  GANTRY_RETURN_IF_ERROR(readMemory(given, made.memory));
  return made;
}

} // namespace

Expected<GivenOptions> capi::readOptions(const gantry_runtime_options_t *options) {
  Expected<gantry_runtime_options_t> given =
      options ? take(options, "gantry_runtime_options_t") : gantry_runtime_options_t{};
  if (!given)
    return given.status();
  Expected<RuntimeOptions> made = readAll(*given);
  if (!made)
    return made.status();
  Expected<std::optional<EmulatorChecks>> emulate = readEmulation(*given);
  if (!emulate)
    return emulate.status();
  return GivenOptions{made.take(), *emulate, given->sync_each != 0, given->num_memory != 0};
}
