// Placement: which device each op runs on, and why (spec section 2). Knows nothing of IR.
//
// An op has constraints, each of a kind and a softness; ops of one group go to one device. Kinds
// are taken from the strongest to the weakest, each narrows the devices that the stronger ones
// leave. What cannot hold together is told as a minimal set: dropping any one member resolves it.
// The outcome depends on no numbering and on no name (spec P12).
#pragma once

#include "gantry/Device/Topology.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::placement {

/// "No op", "no device" and so on in every index of this layer.
inline constexpr uint32_t none = UINT32_MAX;

/// Where a constraint comes from, strongest first.
enum class Kind : uint8_t {
  assigned,  ///< fixed by Gantry
  resource,  ///< where a variable lives
  requested, ///< in the graph
  lock,      ///< in a lock file
  rule,      ///< from outside the graph
  inferred,  ///< follows from other ops
  proposed,  ///< by a policy: automatic placement
};
inline constexpr unsigned numKinds = 7;

/// "assigned", ..., "default" for proposed.
std::string_view kindName(Kind kind);

/// What may become of a constraint that cannot be met (spec P5).
enum class Softness : uint8_t {
  strict, ///< an error
  prefer, ///< drops the id, then the type
  any,    ///< decides only between devices that are equally good
};

struct Constraint {
  Kind kind = Kind::requested;
  Softness softness = Softness::strict;
  uint32_t name = none;   ///< index into Problem::names, perhaps partial
  uint32_t origin = none; ///< the caller's: a location, a rule, a line
};

/// A value that an op reads: made by another op, or at a device from the start.
struct Operand {
  uint32_t op = none;     ///< its maker; none when it has none
  uint32_t device = none; ///< where it is when no op makes it
  uint64_t bytes = 0;
};

struct Op {
  uint32_t kernels = 0; ///< index into Problem::kernelSets
  std::vector<Constraint> constraints;
  std::vector<uint32_t> groups; ///< ops that share one go to one device
  std::vector<Operand> operands;
};

/// Devices by index.
using DeviceSet = std::vector<bool>;

/// Where ops without a constraint go: GPUs before CPUs, then the lowest id (spec P6), or to their
/// largest inputs.
enum class Policy : uint8_t { first, follow };

struct Problem {
  std::vector<DeviceName> devices; ///< full names
  std::vector<DeviceName> names;   ///< what constraints ask for
  /// Sets of devices that have a kernel; the first one is "all".
  std::vector<DeviceSet> kernelSets;
  std::vector<Op> ops;
  Policy policy = Policy::first;

  explicit Problem(const Topology &topology);

  /// The index of a name in `names`, where it is put when it is new.
  uint32_t intern(const DeviceName &name);
  /// The same for a set of devices.
  uint32_t intern(const DeviceSet &kernels);

private:
  std::map<DeviceName, uint32_t> nameIndex;
  std::map<DeviceSet, uint32_t> setIndex;
};

/// Why a device, or what was asked for, was not taken.
enum class Why : uint8_t {
  unknown,  ///< there is no such device
  noKernel, ///< the op, or one that goes with it, has no kernel there
  givesWay, ///< a stronger constraint, or one of another op of the group, says otherwise
};

struct Rejection {
  uint32_t name = none;   ///< what was asked for; none when it is about `device`
  uint32_t device = none; ///< a device that P6 would have taken
  Why why = Why::unknown;
};

struct Decision {
  uint32_t device = none;
  /// Constraint that decided, `deciderOp` being this op or one of its group; none: the policy.
  uint32_t deciderOp = none, decider = none;
  bool followed = false; ///< decided by the inputs
  bool fallBack = false; ///< a constraint of this op was softened
  std::vector<Rejection> rejected;
};

/// One of the things that cannot hold together.
struct Member {
  enum class Type : uint8_t {
    constraint, ///< constraint `index` of `op`
    kernels,    ///< where `op` has kernels
    group,      ///< `op` being in group `index`
  };
  Type type = Type::constraint;
  uint32_t op = none;
  uint32_t index = none;

  bool operator==(const Member &) const = default;
  auto operator<=>(const Member &) const = default;
};

/// Constraints, kernels and groups that cannot hold together; without any one of them the rest can.
struct Failure {
  enum class Type : uint8_t {
    unknownDevice, ///< one constraint, which no device matches
    noKernel,      ///< one op: what it asks for has no kernel for it, or no device has
    staleLock,     ///< a lock is among them
    conflict,
  };
  Type type = Type::conflict;
  std::vector<Member> members; ///< constraints first, strongest first

  uint32_t op() const { return members.front().op; }
};

struct Outcome {
  std::vector<Decision> decisions; ///< by op; meaningless for ops of a failure
  std::vector<Failure> failures;   ///< at most one a group, by their first op

  bool ok() const { return failures.empty(); }
};

/// Places every op. Linear in ops, constraints and operands. The problem must be sound: indices in
/// range, at least one device.
Outcome solve(const Problem &problem);

/// The judge, apart from the solver: every strict constraint holds or has given way to a stronger
/// one, groups are together, kernels exist, fall-backs are told, and what is left is as P6 says.
/// Errors: INTERNAL, naming op and rule.
Status validate(const Problem &problem, const std::vector<Decision> &decisions);

/// What would have to change for an op to be on a device (spec P10).
struct WhyNot {
  bool isThere = false;     ///< it is there already
  bool hasKernel = true;    ///< without one, nothing helps
  std::vector<Member> drop; ///< each one needed: constraints to drop, groups to leave
  bool askFor = false;      ///< and a request for the device
};

/// What answers come to, for several ops at once.
struct Changes {
  std::vector<Member> drop; ///< constraints, groups to leave
  struct Ask {
    uint32_t op = none, device = none;
  };
  std::vector<Ask> ask; ///< requests to add

  bool empty() const { return drop.empty() && ask.empty(); }
};

/// A minimal set of changes: leaving out any one of them, `op` is not on `device`.
WhyNot whyNot(const Problem &problem, uint32_t op, uint32_t device);

/// The same of each op alone; the problem is solved once for all of them.
std::vector<WhyNot> whyNot(const Problem &problem, std::span<const uint32_t> ops, uint32_t device);

/// Devices that match a perhaps partial name.
DeviceSet matching(const Problem &problem, const DeviceName &name);

/// Order of P6: GPUs before CPUs, then by name. Indices of devices, best first.
std::vector<uint32_t> preference(const Problem &problem);

} // namespace gantry::placement
