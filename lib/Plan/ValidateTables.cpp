// The rules of a plan's tables: what all of its functions share. Each check relies on those before
// it.
#include "Walk.h"

#include "gantry/Plan/KernelVariants.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/PlanTopology.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <vector>

namespace gantry::plan {

namespace {

// An hour: no link is slower, and sums of such times stay exact enough.
constexpr double maxLinkLatency = 3600;

class TableChecker : Walk {
public:
  explicit TableChecker(const Walk &walk) : Walk(walk) {}

  Status run(KernelSignatures &signatures) {
    GANTRY_RETURN_IF_ERROR(checkDevices());
    GANTRY_RETURN_IF_ERROR(checkLinks());
    GANTRY_RETURN_IF_ERROR(checkTasks());
    GANTRY_RETURN_IF_ERROR(checkNetwork());
    GANTRY_RETURN_IF_ERROR(checkExchangeTables(*this));
    GANTRY_RETURN_IF_ERROR(checkArenas());
    GANTRY_RETURN_IF_ERROR(checkConstants());
    GANTRY_RETURN_IF_ERROR(checkVariables());
    GANTRY_RETURN_IF_ERROR(checkTexts());
    return checkKernels(*this, signatures);
  }

private:
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
      Expected<DeviceName> name = nameOf(*device);
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
      GANTRY_RETURN_IF_ERROR(checkDrivers(*device));
      if (device->memory_limit() > INT64_MAX)
        return fail("a memory limit of " + number(device->memory_limit()) + " bytes");
      GANTRY_RETURN_IF_ERROR(checkRate(device->peak_flops(), "peak_flops"));
      GANTRY_RETURN_IF_ERROR(checkRate(device->bandwidth(), "bandwidth"));
      if (!(device->launch() >= 0 && device->launch() <= longestLaunch))
        return fail("a launch of " + std::to_string(device->launch()) +
                    " seconds, expected 0 to 3600");
    }
    return {};
  }

  /// The device's own, which may be left out, and those that stand in.
  Status checkDrivers(const fb::Device &device) {
    GANTRY_RETURN_IF_ERROR(visit(device.also()));
    std::unordered_set<std::string_view> names;
    for (std::string_view driver : driversOf(device)) {
      GANTRY_RETURN_IF_ERROR(checkDriver(driver));
      if (!names.insert(driver).second)
        return fail("the driver '" + std::string(driver) + "' is there twice");
    }
    return {};
  }

  /// A number a second, so large that what divides by it stays finite; NaN fails both comparisons.
  Status checkRate(double rate, const char *what) const {
    if (rate == 0 || (rate >= 1 && rate <= std::numeric_limits<double>::max()))
      return {};
    return fail(std::string(what) + " is " + std::to_string(rate) +
                " a second, expected at least 1, or 0 for unknown");
  }

  Status checkLinks() {
    place = "links";
    GANTRY_RETURN_IF_ERROR(visit(plan.links()));
    std::set<std::pair<uint32_t, uint32_t>> ends;
    uint32_t index = 0;
    for (const fb::Link *link : each(plan.links())) {
      place = "links[" + number(index++) + "]";
      GANTRY_RETURN_IF_ERROR(checkDeviceIndex(link->from()));
      GANTRY_RETURN_IF_ERROR(checkDeviceIndex(link->to()));
      if (link->from() == link->to())
        return fail("it goes from device " + number(link->from()) + " to itself");
      if (!ends.emplace(link->from(), link->to()).second)
        return fail("the link from device " + number(link->from()) + " to " + number(link->to()) +
                    " is there twice");
      GANTRY_RETURN_IF_ERROR(checkRate(link->bandwidth(), "bandwidth"));
      GANTRY_RETURN_IF_ERROR(checkLatency(link->latency()));
    }
    return {};
  }

  Status checkLatency(double seconds) const {
    if (seconds >= 0 && seconds <= maxLinkLatency)
      return {};
    return fail("a latency of " + std::to_string(seconds) + " seconds, expected 0 to 3600");
  }

  /// All tasks of the devices or none, in order, each on a host.
  Status checkTasks() {
    place = "tasks";
    GANTRY_RETURN_IF_ERROR(visit(plan.tasks()));
    GANTRY_RETURN_IF_ERROR(visit(plan.hosts()));
    std::set<TaskName> named;
    for (const fb::Device *device : each(plan.devices()))
      named.insert(taskOf(*nameOf(*device)));
    if (countOf(plan.tasks()) != 0 && countOf(plan.tasks()) != named.size())
      return fail("there are " + number(countOf(plan.tasks())) + " for devices of " +
                  std::to_string(named.size()));
    uint32_t index = 0;
    auto next = named.begin();
    for (const fb::Task *task : each(plan.tasks())) {
      place = "tasks[" + number(index++) + "]";
      GANTRY_RETURN_IF_ERROR(visitText(textOf(task->name())));
      if (textOf(task->name()) != next->str())
        return fail("'" + std::string(textOf(task->name())) + "' stands where '" + next->str() +
                    "' belongs");
      if (task->host() >= countOf(plan.hosts()))
        return fail("it is on host " + number(task->host()) + " of " +
                    number(countOf(plan.hosts())));
      ++next;
    }
    return {};
  }

  Status checkNetwork() {
    place = "network";
    const fb::Network *network = plan.network();
    if (!network)
      return countOf(plan.hosts()) > 1 ? fail("hosts have none that joins them") : Status();
    GANTRY_RETURN_IF_ERROR(checkRate(network->bandwidth(), "bandwidth"));
    GANTRY_RETURN_IF_ERROR(checkRate(network->inside_bandwidth(), "inside_bandwidth"));
    GANTRY_RETURN_IF_ERROR(checkLatency(network->latency()));
    GANTRY_RETURN_IF_ERROR(checkLatency(network->inside_latency()));
    GANTRY_RETURN_IF_ERROR(visit(network->links()));
    uint32_t index = 0;
    for (const fb::HostLink *link : each(network->links())) {
      place = "network.links[" + number(index++) + "]";
      GANTRY_RETURN_IF_ERROR(checkRate(link->bandwidth(), "bandwidth"));
      GANTRY_RETURN_IF_ERROR(checkLatency(link->latency()));
      for (const auto *side : {link->from(), link->to()}) {
        GANTRY_RETURN_IF_ERROR(visit(side));
        if (countOf(side) == 0)
          return fail("it does not join hosts");
        for (uint32_t host : *side)
          if (host >= countOf(plan.hosts()))
            return fail("it names host " + number(host) + " of " + number(countOf(plan.hosts())));
      }
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
      if (arena->load_size() > INT64_MAX ||
          (arena->load_size() != 0 && arena->kind() != fb::ArenaKind::transient))
        return fail(number(arena->load_size()) + " bytes for what runs at load");
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

  /// An index that may be absent.
  Status checkSaid(uint32_t index, uint64_t count, const char *what) const {
    return index == nothingSaid ? Status() : checkIndex(index, count, what);
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
      if (constant->made() == nothingSaid)
        GANTRY_RETURN_IF_ERROR(checkInSegment(constant->segment(), SegmentKind::constants,
                                              constant->segment_offset(), constant->size()));
      GANTRY_RETURN_IF_ERROR(checkSaid(constant->home(), plan.devices()->size(), "home"));
      GANTRY_RETURN_IF_ERROR(checkSaid(constant->cause(), countOf(plan.strings()), "cause"));
      ranges.push_back({constant->arena(), constant->offset(), constant->size(), index++});
    }
    GANTRY_RETURN_IF_ERROR(checkDisjoint(std::move(ranges), "constants"));
    return checkMade();
  }

  /// What is computed at load: each output of the function that runs then is one constant, behind
  /// those that lie in the file.
  Status checkMade() {
    const uint32_t outputs = plan.load() ? countOf(plan.load()->outputs()) : 0;
    const std::vector<uint64_t> begin = beginsOfMade();
    std::vector<bool> isMade(outputs);
    uint32_t index = 0;
    for (const fb::Constant *constant : each(plan.constants())) {
      place = "constants[" + number(index++) + "]";
      if (constant->made() == nothingSaid)
        continue;
      GANTRY_RETURN_IF_ERROR(checkIndex(constant->made(), outputs, "output at load"));
      if (isMade[constant->made()])
        return fail("output " + number(constant->made()) + " at load is another constant");
      isMade[constant->made()] = true;
      const fb::Binding &output = *plan.load()->outputs()->Get(constant->made());
      uint64_t bytes = 0;
      GANTRY_RETURN_IF_ERROR(checkType(output.type(), &bytes));
      if (bytes != constant->size() ||
          output.device() != plan.arenas()->Get(constant->arena())->device())
        return fail("it is not what output " + number(constant->made()) + " at load is");
    }
    place = "the function at load";
    if (std::find(isMade.begin(), isMade.end(), false) != isMade.end())
      return fail("an output is no constant");
    index = 0;
    for (const fb::Constant *constant : each(plan.constants())) {
      place = "constants[" + number(index++) + "]";
      if (constant->made() == nothingSaid && constant->size() != 0 &&
          constant->offset() + constant->size() > begin[constant->arena()])
        return fail("it lies behind one that is computed at load");
    }
    return {};
  }

  /// Whoever writes a variable writes its mirrors, so these have room for as much.
  Status checkMirrors() {
    std::unordered_map<std::string_view, uint64_t> sizes;
    for (const fb::Variable *variable : each(plan.variables()))
      sizes[textOf(variable->name())] = variable->size();
    uint32_t index = 0;
    for (const fb::Variable *variable : each(plan.variables())) {
      place = "variables[" + number(index++) + "]";
      std::string_view original = textOf(variable->mirror_of());
      if (original.empty())
        continue;
      auto found = sizes.find(original);
      if (found == sizes.end() || found->second != variable->size())
        return fail("it mirrors '" + std::string(original) + "', which is no variable of " +
                    number(variable->size()) + " bytes");
    }
    return {};
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
      uint64_t bytes = 0;
      GANTRY_RETURN_IF_ERROR(checkType(variable->type(), &bytes));
      if (bytes != variable->size())
        return fail("its type has " + number(bytes) + " bytes, its place " +
                    number(variable->size()));
      if (variable->initial_segment() != nothingSaid)
        GANTRY_RETURN_IF_ERROR(checkInSegment(variable->initial_segment(), SegmentKind::constants,
                                              variable->initial_offset(), variable->size()));
      ranges.push_back({variable->arena(), variable->offset(), variable->size(), index++});
    }
    GANTRY_RETURN_IF_ERROR(checkMirrors());
    return checkDisjoint(std::move(ranges), "variables");
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
};

} // namespace

Status checkTables(const Walk &walk, KernelSignatures &signatures) {
  return TableChecker(walk).run(signatures);
}

} // namespace gantry::plan
