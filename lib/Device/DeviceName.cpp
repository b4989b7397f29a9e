// A hand-written recursive-descent parser: one cursor, and every refusal says at which column.
#include "gantry/Device/DeviceName.h"

#include <cctype>

namespace gantry {

std::string_view deviceTypeName(DeviceType type) { return type == DeviceType::CPU ? "CPU" : "GPU"; }

namespace {
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isWordChar(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.'; }

std::string toLower(std::string_view text) {
  std::string lower(text);
  for (char &c : lower)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// Whether the device part may be spelt as PyTorch does.
enum class Spelling { own, ownOrTorch };

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Expected<DeviceName> parse() {
    if (text.empty())
      return Status::invalidArgument(
          "the device name is empty; write a name like GPU:0 or /job:worker/task:1/device:GPU:0");
    Status status = peek() == '/' ? parseParts() : parseTypeAndId(Spelling::ownOrTorch);
    if (status.ok() && at != text.size())
      status = fail("unexpected text after the name");
    if (!status.ok())
      return status;
    return std::move(name);
  }

private:
  std::string_view text;
  size_t at = 0;
  DeviceName name;
  // A "*" leaves a part absent but counts as given, so "absent" cannot tell whether it came before.
  bool hasJob = false, hasReplica = false, hasTask = false, hasDevice = false;

  char peek() const { return at < text.size() ? text[at] : '\0'; }

  Status fail(const std::string &why) const { return failAt(at, why); }
  Status failAt(size_t position, const std::string &why) const {
    return Status::invalidArgument("device name '" + std::string(text) + "', column " +
                                   std::to_string(position + 1) + ": " + why);
  }

  std::string_view takeWord() {
    size_t begin = at;
    while (at < text.size() && isWordChar(text[at]))
      ++at;
    return text.substr(begin, at - begin);
  }

  Status parseParts() {
    while (peek() == '/') {
      size_t begin = at++;
      std::string_view key = takeWord();
      if (key == "job")
        GANTRY_RETURN_IF_ERROR(parseJob(begin));
      else if (key == "replica")
        GANTRY_RETURN_IF_ERROR(parseIndex(begin, "replica", hasReplica, name.replica));
      else if (key == "task")
        GANTRY_RETURN_IF_ERROR(parseIndex(begin, "task", hasTask, name.task));
      else if (key == "device" || key == "physical_device")
        GANTRY_RETURN_IF_ERROR(parseDevice(begin, key == "physical_device"));
      else {
        at = begin + 1; // "/GPU:1"
        GANTRY_RETURN_IF_ERROR(claim(begin, "device", hasDevice));
        GANTRY_RETURN_IF_ERROR(parseTypeAndId(Spelling::own));
      }
    }
    return {};
  }

  Status claim(size_t begin, const std::string &part, bool &given) {
    if (given)
      return failAt(begin, "the " + part + " is given twice");
    given = true;
    return {};
  }

  Status expectColon(const std::string &what) {
    if (peek() != ':')
      return fail("expected ':' and " + what);
    ++at;
    return {};
  }

  Status parseJob(size_t begin) {
    GANTRY_RETURN_IF_ERROR(claim(begin, "job", hasJob));
    GANTRY_RETURN_IF_ERROR(expectColon("the job's name"));
    if (takeStar())
      return {};
    if (!isLetter(peek()))
      return fail("expected the job's name, which starts with a letter");
    name.job = std::string(takeWord());
    return {};
  }

  Status parseIndex(size_t begin, const std::string &part, bool &given,
                    std::optional<uint32_t> &value) {
    GANTRY_RETURN_IF_ERROR(claim(begin, part, given));
    GANTRY_RETURN_IF_ERROR(expectColon("the " + part + "'s number"));
    if (takeStar())
      return {};
    return parseNumber(value);
  }

  Status parseDevice(size_t begin, bool physical) {
    GANTRY_RETURN_IF_ERROR(claim(begin, "device", hasDevice));
    GANTRY_RETURN_IF_ERROR(expectColon("a device"));
    name.physical = physical;
    if (takeStar())
      return {};
    return parseTypeAndId(Spelling::own);
  }

  Status parseTypeAndId(Spelling spelling) {
    size_t begin = at;
    std::string word = toLower(takeWord());
    bool torch = spelling == Spelling::ownOrTorch && word == "cuda";
    if (word == "cpu")
      name.type = DeviceType::CPU;
    else if (word == "gpu" || torch)
      name.type = DeviceType::GPU;
    else if (word.empty())
      return failAt(begin, "expected a device type; the types are CPU and GPU");
    else
      return failAt(begin, "'" + std::string(text.substr(begin, word.size())) +
                               "' is not a device type; the types are CPU and GPU");
    if (peek() != ':') {
      if (torch)
        name.id = 0; // what "cuda" means in PyTorch until another device is made current
      return {};
    }
    ++at;
    if (takeStar())
      return {};
    return parseNumber(name.id);
  }

  bool takeStar() {
    if (peek() != '*')
      return false;
    ++at;
    return true;
  }

  Status parseNumber(std::optional<uint32_t> &value) {
    size_t begin = at;
    if (peek() == '-')
      return fail("a negative number; ids count from 0");
    if (!isDigit(peek()))
      return fail("expected a number (0, 1, ...) or '*'");
    uint64_t number = 0;
    for (; isDigit(peek()); ++at) {
      number = number * 10 + static_cast<uint64_t>(peek() - '0');
      if (number > UINT32_MAX)
        return failAt(begin, "the number is over 4294967295");
    }
    value = static_cast<uint32_t>(number);
    return {};
  }
};

std::string deviceText(const DeviceName &name) {
  if (!name.type)
    return "*";
  return std::string(deviceTypeName(*name.type)) + ":" + (name.id ? std::to_string(*name.id) : "*");
}

template <typename T>
bool partMatches(const std::optional<T> &wanted, const std::optional<T> &given) {
  return !wanted || wanted == given;
}
} // namespace

Expected<DeviceName> DeviceName::parse(std::string_view text) { return Parser(text).parse(); }

DeviceName DeviceName::local(DeviceType type, uint32_t id) {
  DeviceName name;
  name.type = type;
  name.id = id;
  return name.withDefaultTask();
}

std::string DeviceName::str() const {
  std::string text;
  if (job)
    text += "/job:" + *job;
  if (replica)
    text += "/replica:" + std::to_string(*replica);
  if (task)
    text += "/task:" + std::to_string(*task);
  // An empty name would not parse, so at least the device part is there.
  if (type || physical || text.empty())
    text += (physical ? "/physical_device:" : "/device:") + deviceText(*this);
  return text;
}

std::string DeviceName::shortStr() const {
  const bool isDefaultTask =
      job.value_or("localhost") == "localhost" && replica.value_or(0) == 0 && task.value_or(0) == 0;
  return isDefaultTask ? deviceText(*this) : str();
}

DeviceName DeviceName::withDefaultTask() const {
  DeviceName full = *this;
  if (!full.job)
    full.job = "localhost";
  if (!full.replica)
    full.replica = 0;
  if (!full.task)
    full.task = 0;
  return full;
}

bool DeviceName::matches(const DeviceName &other) const {
  // D3. Physical and logical devices are numbered apart: they only meet when no device is meant.
  if (type && physical != other.physical)
    return false;
  return partMatches(job, other.job) && partMatches(replica, other.replica) &&
         partMatches(task, other.task) && partMatches(type, other.type) &&
         partMatches(id, other.id);
}

bool DeviceName::isPreferredTo(const DeviceName &other) const {
  const bool isGPU = type == DeviceType::GPU, isOtherGPU = other.type == DeviceType::GPU;
  return isGPU != isOtherGPU ? isGPU : *this < other;
}

DeviceName mergeScopes(const DeviceName &outer, const DeviceName &inner) {
  DeviceName merged = outer;
  if (inner.job)
    merged.job = inner.job;
  if (inner.replica)
    merged.replica = inner.replica;
  if (inner.task)
    merged.task = inner.task;
  if (inner.type) {
    // D3: the id counts within a type (and within physical or logical devices), so it goes with it.
    if (inner.type != outer.type || inner.physical != outer.physical)
      merged.id.reset();
    merged.type = inner.type;
    merged.physical = inner.physical;
  }
  if (inner.id)
    merged.id = inner.id;
  return merged;
}

} // namespace gantry
