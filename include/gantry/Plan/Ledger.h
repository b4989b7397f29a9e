// The copy ledger (spec X3): every movement of a value between devices that a plan makes, with its
// bytes, direction and cause, at load and per run. The placement log, `gantry explain`, `gantry
// diff` and the comparison with the runtime's counters all read this one account.
#pragma once

#include "gantry/Plan/Views.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gantry::plan {

/// "h2d", "d2h", "d2d", "net"; "same" within one device.
std::string_view copyKindName(fb::CopyKind kind);

/// When a copy happens.
enum class CopyTime : uint8_t {
  load,   ///< once, before the first run
  run,    ///< once in every run
  inside, ///< in a branch or loop: as often as that runs
};

struct LedgerCopy {
  CopyTime time = CopyTime::run;
  fb::CopyKind kind = fb::CopyKind::sameDevice;
  uint32_t from = 0, to = 0; ///< indices into Plan.devices
  uint64_t bytes = 0;
  std::string_view name;     ///< of the value, an input's own; may be empty
  std::string_view cause;    ///< the use that made it; may be empty
  std::string_view location; ///< may be empty
  /// In whose counters it is found: the GPU's, of two GPUs the target's.
  uint32_t countedOn = 0;
  const fb::Command *command = nullptr; ///< null at load
  /// It goes in the transfer of the copy before it in the ledger, and pays no latency of its own.
  bool joined = false;
  /// How often a run makes it, as far as the loops around it say.
  double rounds = 1;
  /// What a member gets of a collective: `from` is the first other member, and the bytes are those
  /// of all of them.
  const fb::Exchange *collective = nullptr;
};

/// How many values are copied, their bytes, and in how many transfers.
struct CopyCount {
  uint64_t copies = 0;
  uint64_t bytes = 0;
  uint64_t transfers = copies;

  void add(const LedgerCopy &copy) { ++copies, bytes += copy.bytes, transfers += !copy.joined; }
  CopyCount &operator+=(const CopyCount &other) {
    copies += other.copies;
    bytes += other.bytes;
    transfers += other.transfers;
    return *this;
  }
  bool operator==(const CopyCount &) const = default;
};

inline constexpr size_t numCopyKinds = 5;

/// Counts by fb::CopyKind. What goes between tasks is counted on both ends: where it is received as
/// its kind, and where it is sent.
struct CopyTally {
  std::array<CopyCount, numCopyKinds> kinds{};
  CopyCount sent;

  CopyCount &operator[](fb::CopyKind kind) { return kinds[static_cast<size_t>(kind)]; }
  const CopyCount &operator[](fb::CopyKind kind) const { return kinds[static_cast<size_t>(kind)]; }
  /// Of all kinds but those within one device, which move nothing between devices.
  CopyCount betweenDevices() const;
  bool operator==(const CopyTally &) const = default;
};

struct Ledger {
  /// At load first, in the plan's order of constants; then as the function's commands stand, those
  /// of a branch or loop behind it. Copies within one device are left out of this list.
  std::vector<LedgerCopy> copies;
  /// What the members of exchanges send, counted on them; in `copies` is what they receive.
  std::vector<LedgerCopy> sent;
  /// By device of Plan.devices, those within one device counted as well.
  std::vector<CopyTally> atLoad, perRun;
  /// Those in branches and loops, each once: a run does them as often as it takes the branch or the
  /// loop goes round, on top of `perRun`.
  std::vector<CopyTally> inside;

  /// What one function does; at load: the constants that it uses.
  static Ledger of(const fb::Plan &plan, const fb::Function &function);

  /// Over all devices.
  CopyTally totalAtLoad() const;
  CopyTally totalPerRun() const;
  CopyTally totalInside() const;
};

/// What loading a plan copies, whichever function uses it: by device.
std::vector<CopyTally> copiesAtLoad(const fb::Plan &plan);

/// The commands of a function in the plan's order, those of a branch or loop behind it.
struct PlacedCommand {
  const fb::Command *command;
  bool inside;   ///< in a branch or loop
  double rounds; ///< how often a run does it, as far as the loops around it say
};
std::vector<PlacedCommand> commandsOf(const fb::Function &function);

/// Where each is in that list: its number in reports, traces and moments.
std::unordered_map<const fb::Command *, size_t> numbersOfCommands(const fb::Function &function);

} // namespace gantry::plan
