#include "gantry/Runtime/Budget.h"

#include "gantry/Runtime/Device.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Environment.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace gantry::runtime {

// ---- settings ----

namespace {

constexpr const char *grammar = "; write DEVICE=SETTING[,SETTING], a device like GPU:0 or GPU:*, "
                                "settings limit:4GiB, fraction:0.5, growth, reserve or serial";

Status wrong(std::string_view text, const std::string &what) {
  return Status::invalidArgument("the memory setting '" + printable(text) + "' " + what + grammar);
}

Status parseLimit(std::string_view text, std::string_view value, MemorySetting &setting) {
  Expected<uint64_t> bytes = parseByteCount(value);
  if (!bytes || *bytes == 0)
    return wrong(text, "has a limit of '" + printable(value) + "', which is no count of bytes");
  setting.limit = *bytes;
  return {};
}

Status parseFraction(std::string_view text, std::string_view value, MemorySetting &setting) {
  double part = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), part);
  if (error != std::errc() || end != value.data() + value.size() || !(part > 0 && part <= 1))
    return wrong(text,
                 "has a fraction of '" + printable(value) + "', which is not over 0 and up to 1");
  setting.fraction = part;
  return {};
}

Status parseWord(std::string_view text, std::string_view word, MemorySetting &setting) {
  if (word.starts_with("limit:"))
    return parseLimit(text, word.substr(6), setting);
  if (word.starts_with("fraction:"))
    return parseFraction(text, word.substr(9), setting);
  if (word == "growth")
    setting.growth = true;
  else if (word == "reserve")
    setting.reserve = true;
  else if (word == "serial")
    setting.serial = true;
  else
    return wrong(text, "says '" + printable(word) + "'");
  return {};
}

} // namespace

Expected<MemorySetting> MemorySetting::parse(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos)
    return wrong(text, "names no setting");
  Expected<DeviceName> device = DeviceName::parse(text.substr(0, equals));
  if (!device)
    return device.status();
  if (!device->type)
    return wrong(text, "names no type of device");
  MemorySetting setting;
  setting.device = device.take();
  for (std::string_view rest = text.substr(equals + 1);;) {
    const size_t comma = rest.find(',');
    GANTRY_RETURN_IF_ERROR(parseWord(text, rest.substr(0, comma), setting));
    if (comma == rest.npos)
      break;
    rest.remove_prefix(comma + 1);
  }
  if (setting.reserve && setting.device.type == DeviceType::CPU)
    return wrong(text, "reserves memory of the host, which is every program's: only that of GPUs "
                       "can be taken ahead");
  return setting;
}

Expected<std::vector<MemorySetting>> MemorySetting::fromEnvironment() {
  std::vector<MemorySetting> settings;
  if (const std::string value = environment("TF_FORCE_GPU_ALLOW_GROWTH"); !value.empty()) {
    if (value != "true" && value != "false")
      return Status::invalidArgument("TF_FORCE_GPU_ALLOW_GROWTH is '" + printable(value) +
                                     "'; it takes true or false");
    settings.emplace_back();
    settings.back().device.type = DeviceType::GPU;
    settings.back().growth = value == "true";
  }
  const std::string given = environment("GANTRY_MEMORY");
  for (std::string_view rest = given; !rest.empty();) {
    const size_t end = std::min(rest.find(';'), rest.size());
    Expected<MemorySetting> setting = parse(rest.substr(0, end));
    if (!setting)
      return Status(setting.status().code(), "GANTRY_MEMORY: " + setting.status().message());
    settings.push_back(setting.take());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return settings;
}

MemorySetting settingFor(std::span<const MemorySetting> settings, DeviceType type,
                         uint32_t physical) {
  MemorySetting sum;
  sum.device = DeviceName::local(type, physical);
  for (bool ofOne : {false, true})
    for (const MemorySetting &each : settings) {
      if (each.device.type != type || each.device.id.has_value() != ofOne ||
          (ofOne && *each.device.id != physical))
        continue;
      if (each.limit)
        sum.limit = each.limit;
      if (each.fraction)
        sum.fraction = each.fraction;
      if (each.growth)
        sum.growth = each.growth;
      sum.reserve |= each.reserve;
      sum.serial |= each.serial;
    }
  return sum;
}

Status checkSettings(std::span<const MemorySetting> settings, std::span<const DeviceName> there) {
  for (const MemorySetting &setting : settings) {
    std::set<uint32_t> known;
    for (const DeviceName &device : there)
      if (device.type == setting.device.type)
        known.insert(device.id.value_or(0));
    if (!setting.device.id || known.empty() || known.contains(*setting.device.id))
      continue;
    const std::string type(deviceTypeName(*setting.device.type));
    std::string names;
    for (uint32_t id : known)
      names += (names.empty() ? "" : ", ") + type + ":" + std::to_string(id);
    return Status::invalidArgument(
        "the memory setting of " + type + ":" + std::to_string(*setting.device.id) +
        " is for a device that is not there; there " + (known.size() == 1 ? "is " : "are ") +
        names + ": name one that is, or all by " + type + ":*");
  }
  return {};
}

// ---- the budget ----

namespace {
/// A limit that will do, to the byte.
std::string inFull(uint64_t bytes) {
  std::string text = formatBytes(bytes);
  Expected<uint64_t> read = parseByteCount(text);
  return read && *read == bytes ? text : std::to_string(bytes) + " bytes";
}
} // namespace

Budget::Budget(const DeviceName &physical, const MemorySetting &setting)
    : deviceName(physical.shortStr() + " of this machine"), setting(setting),
      limit(setting.limit.value_or(0)) {}

namespace {
/// Of what is free, what `reserve` alone leaves: contexts and libraries take memory of their own.
constexpr uint64_t leftByReserve = 20;
} // namespace

Status Budget::addPart(Device &device, std::string *remark) {
  if (!setting.fraction && !setting.reserve)
    return {};
  Expected<MemoryInfo> whole = device.cardMemory();
  if (!whole)
    return whole.status();
  const bool isWhole = whole->total != 0;
  Expected<MemoryInfo> info = isWhole ? whole : device.memoryInfo();
  if (!info)
    return info.status();
  uint64_t ahead = 0;
  {
    std::lock_guard lock(mutex);
    // A device that is known by its parts alone has the memory of those that are open.
    partTotal = (isWhole ? 0 : partTotal) + info->total;
    partFree = (isWhole ? std::max(used, reserved) : partFree) + info->free;
    if (!isWhole || reserved == 0) // else it is known, and taken in part
      setLimit(isWhole, remark);
    ahead = toReserve - std::min(toReserve, reserved);
    if (device.limit() != 0)
      ahead = std::min(ahead, device.limit());
    reserved += ahead;
  }
  if (ahead == 0)
    return {};
  Status status = device.setAside(ahead);
  if (status.ok())
    return {};
  std::lock_guard lock(mutex);
  reserved -= ahead;
  return Status(status.code(), "the memory setting of " + deviceName + " reserves " +
                                   formatBytes(ahead) + ": " + status.message());
}

/// By settings that depend on what the device has. What only its parts tell nobody else can take.
void Budget::setLimit(bool isWhole, std::string *remark) {
  uint64_t share = setting.fraction
                       ? static_cast<uint64_t>(static_cast<double>(partTotal) * *setting.fraction)
                       : setting.limit.value_or(partFree - partFree / leftByReserve);
  if (setting.limit)
    share = std::min(share, *setting.limit);
  if (share > partFree && (isWhole || setting.fraction)) {
    *remark = deviceName + ": " +
              (setting.fraction ? "fraction:" + std::to_string(*setting.fraction).substr(0, 4) +
                                      " are " + formatBytes(share)
                                : formatBytes(share) + " are to be reserved") +
              ", of which " + formatBytes(partFree) + " are free; the budget is that";
    share = partFree;
  }
  share = std::max<uint64_t>(1, share);
  if (setting.reserve)
    toReserve = share;
  if (setting.limit || setting.fraction || !setting.growth.value_or(false))
    limit = share;
}

bool Budget::take(uint64_t bytes) {
  std::lock_guard lock(mutex);
  if (!fits(bytes))
    return false;
  used += bytes;
  highest = std::max(highest, used);
  return true;
}

void Budget::give(uint64_t bytes) {
  std::lock_guard lock(mutex);
  used -= bytes;
}

Status Budget::check(uint64_t bytes, const std::string &what) const {
  std::lock_guard lock(mutex);
  if (fits(bytes))
    return {};
  return Status::doesNotFit(what + " needs " + formatBytes(bytes) + ", the memory setting of " +
                            deviceName + " allows " + formatBytes(limit) + " and " +
                            formatBytes(used) + " are in use; raise it to at least " +
                            inFull(used + bytes));
}

void Budget::resetPeak() {
  std::lock_guard lock(mutex);
  highest = used;
}

BudgetUse Budget::use() const {
  std::lock_guard lock(mutex);
  return {used, highest, limit, reserved};
}

Expected<uint64_t> Budget::admit(uint64_t bytes, const std::string &what, Constants wanted) {
  std::lock_guard lock(mutex);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end(),
                           [](const auto &a, const auto &b) { return a.first == b.first; }),
               wanted.end());
  uint64_t sum = 0, largest = 0, resident = 0, added = 0;
  for (const auto &[ticket, plan] : admitted) {
    sum += plan.bytes;
    largest = std::max(largest, plan.bytes);
  }
  for (const auto &[constant, shared] : constants)
    resident += shared.bytes;
  for (const auto &[constant, size] : wanted)
    added += constants.contains(constant) ? 0 : size;
  const uint64_t loaded = resident + (setting.serial ? largest : sum);
  const uint64_t together =
      resident + added + (setting.serial ? std::max(largest, bytes) : sum + bytes);
  if (limit != 0 && !setting.growth.value_or(false) && together > limit)
    return Status::doesNotFit(what + " needs " + formatBytes(bytes + added) +
                              ", the memory setting of " + deviceName + " allows " +
                              formatBytes(limit) + " and plans that are " + "loaded need " +
                              formatBytes(loaded) + "; raise it to at least " + inFull(together) +
                              (admitted.empty() ? ""
                               : setting.serial ? " or unload a plan"
                                                : ", unload a plan, or declare them serial"));
  for (const auto &[constant, size] : wanted)
    ++constants.try_emplace(constant, Shared{size, 0}).first->second.users;
  admitted[nextTicket] = {bytes, std::move(wanted)};
  return nextTicket++;
}

void Budget::leave(uint64_t ticket) {
  std::lock_guard lock(mutex);
  for (const auto &[constant, size] : admitted[ticket].constants)
    if (auto found = constants.find(constant); --found->second.users == 0)
      constants.erase(found);
  admitted.erase(ticket);
}

} // namespace gantry::runtime
