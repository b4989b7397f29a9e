// How much of a physical device's memory Gantry may take (spec M4): settings as people write them,
// and the budget between the logical devices of a physical one and their driver.
#pragma once

#include "gantry/Device/DeviceName.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::runtime {

class Device;

/// "GPU:0=limit:4GiB,serial": what holds for a physical device of the machine, or for all of its
/// type. Each task has its own devices of that name, so each has what it says.
struct MemorySetting {
  DeviceName device;              ///< a type, and a number unless it is for all
  std::optional<uint64_t> limit;  ///< bytes
  std::optional<double> fraction; ///< of the device's memory, more than 0 and up to 1
  std::optional<bool> growth;     ///< take memory when it is first needed: no admission
  bool reserve = false; ///< take the budget when the device is opened, or nearly all that is free
  bool serial = false;  ///< plans do not run at the same time: the largest counts

  /// Errors: INVALID_ARGUMENT with the text and how it is written.
  static Expected<MemorySetting> parse(std::string_view text);

  /// Those of GANTRY_MEMORY (several with ';' in between) and, before them, of
  /// TF_FORCE_GPU_ALLOW_GROWTH. Errors: INVALID_ARGUMENT, naming the variable.
  static Expected<std::vector<MemorySetting>> fromEnvironment();
};

/// What the settings say for one device: later ones count more, those of a number more than those
/// for all.
MemorySetting settingFor(std::span<const MemorySetting> settings, DeviceType type,
                         uint32_t physical);

/// INVALID_ARGUMENT when a setting is for a device that is not `there`, whose names are physical.
/// Types of which none is there are left alone: settings of the environment are for many programs.
Status checkSettings(std::span<const MemorySetting> settings, std::span<const DeviceName> there);

/// Bytes that were in use at some time.
struct BudgetUse {
  uint64_t now = 0, peak = 0;
  uint64_t limit = 0;    ///< 0: none
  uint64_t reserved = 0; ///< taken of the device ahead, in use or not
};

/// Thread-safe. Of one physical device; shared by its parts, which it does not outlive.
class Budget {
public:
  /// `physical`: the full name of the device; its number is the machine's.
  Budget(const DeviceName &physical, const MemorySetting &setting);

  /// "GPU:0 of this machine".
  const std::string &name() const { return deviceName; }

  /// Counts the memory of a part that was opened, and reserves its share. What is over the free
  /// memory is given up; `*remark` then says so. DOES_NOT_FIT when it cannot be reserved.
  Status addPart(Device &device, std::string *remark);

  /// Books bytes unless that would pass the limit.
  bool take(uint64_t bytes);
  void give(uint64_t bytes);
  /// Why bytes would not be booked; success when they would. `what` says what for.
  Status check(uint64_t bytes, const std::string &what) const;

  /// Sets the peak to what is in use now.
  void resetPeak();
  BudgetUse use() const;

  /// Constants that plans may share, each with its bytes, by who they are.
  using Constants = std::vector<std::pair<const void *, uint64_t>>;

  /// Lets a plan in whose peak is `bytes` beside those constants, unless the plans that are loaded
  /// and it, all at their peaks, are over the limit; of constants each counts once. Gives a number
  /// to leave with.
  Expected<uint64_t> admit(uint64_t bytes, const std::string &what, Constants constants = {});
  void leave(uint64_t ticket);

private:
  const std::string deviceName;
  const MemorySetting setting;
  mutable std::mutex mutex;
  uint64_t partTotal = 0, partFree = 0; ///< of the parts that are open
  uint64_t limit = 0, used = 0, highest = 0;
  uint64_t toReserve = 0, reserved = 0; ///< of all parts, of those that are open
  uint64_t nextTicket = 1;
  struct Admitted {
    uint64_t bytes;
    Constants constants;
  };
  std::map<uint64_t, Admitted> admitted; ///< by ticket
  struct Shared {
    uint64_t bytes, users;
  };
  std::map<const void *, Shared> constants; ///< of those that are admitted

  void setLimit(bool isWhole, std::string *remark);
  bool fits(uint64_t bytes) const { return limit == 0 || (used <= limit && bytes <= limit - used); }
};

} // namespace gantry::runtime
