// Concat and slice aliasing, so that values need not be moved: operands of a concatenation lie in
// the buffer of its result, results of a slice or split in that of the operand
// (docs/designs/memory.md).
//
// Buffers that share bytes so are a group, with one of them as the base, and all that is asked is
// asked of the positions in their block at which they are used. A move that goes makes bytes of one
// buffer those of another from its position on; any other write there must come when no other
// buffer of those bytes is used again. A move stays where the group would live longer than the
// fullest moment of its device allows.

#include "AliasConcatSlice.h"

#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Dialect/Plan/IR/Exchanges.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memory;

static constexpr uint64_t kAlignment = 64;
/// Larger groups are not made: each of their buffers is compared with each other.
static constexpr size_t kMostMembers = 64;
/// Steps of timelines that are looked at in a function.
static constexpr uint64_t kMostWork = 200'000'000;

namespace {
/// By a command, at twice its position in the block; what is done right before it, at one less.
struct Use {
  uint32_t at;
  bool writes;
};

/// Bytes of a group that are one buffer; without a declaration, what a copy writes in the place of
/// a part of a move.
struct Member {
  plan::ir::BufferDeclOp decl;
  uint64_t begin = 0, size = 0;
  SmallVector<Use> uses;
};

/// What makes the bytes of a member those of another one, too: no command any more.
struct Flow {
  uint32_t from, to, at;
};

struct Group {
  SmallVector<Member> members; ///< the base first
  SmallVector<Flow> flows;
  LiveRange live;

  uint64_t bytes() const { return llvm::alignTo(members.front().size, kAlignment); }
  uint32_t indexOf(plan::ir::BufferDeclOp decl) const {
    return llvm::find_if(members, [&](const Member &m) { return m.decl == decl; }) -
           members.begin();
  }
  /// Takes in another group, whose base lies at `begin`; gives the base's new number.
  uint32_t add(const Group &other, uint64_t begin);
  bool isLegal() const;

private:
  SmallVector<uint64_t> fed() const;
  bool isFreeAt(uint32_t at, uint32_t member) const;
};

/// A part of what a launch moves: a buffer, and where in the large one it lies.
struct MovedPart {
  Value small;
  uint64_t begin, size;
  bool stays = false; ///< is copied
};

/// A launch that only moves.
struct Move {
  plan::ir::LaunchOp launch;
  bool joins;  ///< else it cuts
  Value large; ///< the result of a join, the operand of a cut
  SmallVector<MovedPart> pieces;
  bool goes = false;
};
} // namespace

uint32_t Group::add(const Group &other, uint64_t begin) {
  uint32_t first = members.size();
  for (Member member : other.members) {
    member.begin += begin;
    members.push_back(member);
  }
  for (const Flow &flow : other.flows)
    flows.push_back({flow.from + first, flow.to + first, flow.at});
  live = {std::min(live.first, other.live.first), std::max(live.last, other.live.last)};
  return first;
}

/// By member the set of those that it flows to.
SmallVector<uint64_t> Group::fed() const {
  SmallVector<uint64_t> reached(members.size());
  for (bool changes = true; changes;) {
    changes = false;
    for (const Flow &flow : flows) {
      uint64_t more = reached[flow.from] | (uint64_t(1) << flow.to) | reached[flow.to];
      changes |= more != reached[flow.from];
      reached[flow.from] = more;
    }
  }
  return reached;
}

/// Whether nobody needs what the member holds then.
bool Group::isFreeAt(uint32_t at, uint32_t member) const {
  return llvm::all_of(members[member].uses, [&](const Use &use) { return use.at < at; }) &&
         llvm::all_of(flows, [&](const Flow &flow) { return flow.from != member || flow.at < at; });
}

bool Group::isLegal() const {
  for (const Flow &flow : flows)
    if (!llvm::all_of(members[flow.to].uses, [&](const Use &use) { return use.at > flow.at; }) ||
        !llvm::all_of(members[flow.from].uses,
                      [&](const Use &use) { return !use.writes || use.at < flow.at; }))
      return false;
  SmallVector<uint64_t> reached = fed();
  for (auto [i, member] : llvm::enumerate(members))
    for (const Use &use : member.uses)
      for (uint32_t j = 0; use.writes && j < members.size(); ++j) {
        const Member &other = members[j];
        bool overlaps =
            other.begin < member.begin + member.size && member.begin < other.begin + other.size;
        if (i != j && overlaps && !(reached[i] >> j & 1) && !isFreeAt(use.at, j))
          return false;
      }
  return true;
}

static plan::ir::BufferDeclOp declarationOf(Value buffer) {
  return buffer.getDefiningOp<plan::ir::BufferDeclOp>();
}

static uint64_t sizeOf(Value buffer) {
  return llvm::TypeSwitch<Operation *, uint64_t>(buffer.getDefiningOp())
      .Case<plan::ir::InputOp, plan::ir::OutputOp, plan::ir::UseOp, plan::ir::StateOp,
            plan::ir::BufferDeclOp>([](auto op) { return op.getSize(); });
}

static bool isMove(plan::ir::LaunchOp launch) {
  return launch->hasAttr(kJoinsAttr) || launch->hasAttr(kCutsAttr);
}

/// What the launch is noted to move; without pieces where that does not hold.
static Move moveOf(plan::ir::LaunchOp launch) {
  Move move{launch, launch->hasAttr(kJoinsAttr), {}, {}};
  uint64_t end = 0;
  auto add = [&](Value small, uint64_t begin) {
    move.pieces.push_back({small, begin, sizeOf(small)});
    end = std::max(end, begin + move.pieces.back().size);
  };
  if (auto joined = launch->getAttrOfType<DenseI64ArrayAttr>(kJoinsAttr)) {
    move.large = launch.getOutputs().front();
    for (int64_t operand : joined.asArrayRef())
      add(launch.getInputs()[operand], end);
  } else if (auto cuts = launch->getAttrOfType<DenseI64ArrayAttr>(kCutsAttr)) {
    move.large = launch.getInputs().front();
    for (auto [result, begin] : llvm::zip_equal(launch.getOutputs(), cuts.asArrayRef()))
      add(result, begin);
  }
  if (move.pieces.empty() || (move.joins ? end != sizeOf(move.large) : end > sizeOf(move.large)))
    move.pieces.clear();
  return move;
}

namespace {
/// Bytes of a device that are live, by the numbers of a timeline.
struct Profile {
  std::vector<uint64_t> live;
  uint64_t peak = 0;

  void add(LiveRange range, int64_t bytes) {
    for (uint32_t i = range.first; i < range.last; ++i)
      live[i] += bytes;
  }
};

/// A function.
struct Elider {
  plan::ir::FuncOp func;
  Timeline time;
  DenseMap<Attribute, Profile> profiles; ///< by device
  /// Where groups are, by their number, and the group of a buffer.
  std::vector<Group> groups;
  DenseMap<Operation *, uint32_t> groupOf;
  DenseMap<Operation *, uint32_t> positions; ///< twice, of the ops of the block at hand
  SmallVector<Move> moves;
  uint64_t work = 0;
  int64_t numWholes = 0;

  explicit Elider(plan::ir::FuncOp func) : func(func), time(func) {}

  void run() {
    measure();
    visit(func.getBody().front());
    rewrite();
  }

private:
  void measure();
  void visit(Block &block);
  std::optional<uint32_t> groupFor(Value buffer, Block &block);
  std::optional<SmallVector<Use>> usesOf(plan::ir::BufferDeclOp decl, Block &block);
  void consider(Move &move, Block &block);
  bool mayShare(const MovedPart &piece, const Move &move, Block &block);
  bool tryMove(Move &move);
  void addCopy(Group &group, const Move &move, const MovedPart &piece, uint32_t large, uint32_t at);
  bool isTooFull(const Group &merged, ArrayRef<uint32_t> parts);
  void rewrite();
  Value declarePart(OpBuilder &b, Move &move, const MovedPart &piece);
  void copyWhatStays(Move &move);
  void note(const Group &group);
};
} // namespace

void Elider::measure() {
  func.walk([&](plan::ir::BufferDeclOp decl) {
    Profile &profile = profiles[decl.getDeviceAttr()];
    profile.live.resize(time.ops.size() + 1);
    profile.add(liveRange(decl, time), llvm::alignTo(decl.getSize(), kAlignment));
  });
  for (auto &[device, profile] : profiles)
    profile.peak = *llvm::max_element(profile.live);
}

void Elider::visit(Block &block) {
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      visit(region.front());
  positions.clear();
  SmallVector<plan::ir::LaunchOp> launches;
  for (auto [i, op] : llvm::enumerate(block)) {
    positions[&op] = 2 * (i + 1);
    if (auto launch = dyn_cast<plan::ir::LaunchOp>(op); launch && isMove(launch))
      launches.push_back(launch);
  }
  for (plan::ir::LaunchOp launch : launches) {
    moves.push_back(moveOf(launch));
    consider(moves.back(), block);
  }
}

/// Nothing where the buffer is used elsewhere, too, or brought by another queue: such copies move
/// in time.
std::optional<SmallVector<Use>> Elider::usesOf(plan::ir::BufferDeclOp decl, Block &block) {
  SmallVector<Use> uses;
  for (Operation *user : decl->getUsers()) {
    Operation *around = block.findAncestorOpInBlock(*user);
    if (!around)
      return std::nullopt;
    uint32_t at = positions.lookup(around);
    if (!schedule::isCommand(user)) {
      uses.push_back({at, false}); // a condition
      continue;
    }
    schedule::forEachBuffer(user, [&](Value buffer, bool writes) {
      if (buffer == decl.getResult())
        uses.push_back({at, writes});
    });
  }
  return uses;
}

std::optional<uint32_t> Elider::groupFor(Value buffer, Block &block) {
  plan::ir::BufferDeclOp decl = declarationOf(buffer);
  if (!decl || decl->getBlock() != &block)
    return std::nullopt;
  if (auto known = groupOf.find(decl); known != groupOf.end())
    return known->second;
  std::optional<SmallVector<Use>> uses = usesOf(decl, block);
  if (!uses)
    return std::nullopt;
  Group group;
  group.members.push_back({decl, 0, uint64_t(decl.getSize()), *uses});
  group.live = liveRange(decl, time);
  groups.push_back(std::move(group));
  return groupOf[decl] = groups.size() - 1;
}

static bool isBrought(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    if (auto part = dyn_cast<plan::ir::PartOp>(user))
      return part.getTarget() == buffer;
    auto copy = dyn_cast<plan::ir::CopyOp>(user);
    return copy && copy.getQueue() != 0 && llvm::is_contained(copy.getTargets(), buffer);
  });
}

/// Whether the piece could lie in the large buffer: as a whole, at a place that kernels may use.
bool Elider::mayShare(const MovedPart &piece, const Move &move, Block &block) {
  std::optional<uint32_t> small = groupFor(piece.small, block);
  std::optional<uint32_t> large = groupFor(move.large, block);
  return small && large && small != large && piece.begin % kAlignment == 0 && piece.size > 0 &&
         groups[*small].members.front().decl == declarationOf(piece.small) &&
         declarationOf(piece.small).getDeviceAttr() == declarationOf(move.large).getDeviceAttr() &&
         !isBrought(piece.small) && !isBrought(move.large);
}

/// All that can go, else without what would be in the large buffer for longest. Copies are for the
/// smaller half at most.
void Elider::consider(Move &move, Block &block) {
  DenseSet<Value> seen;
  SmallVector<MovedPart *> going;
  uint64_t bytes = 0, staying = 0;
  for (MovedPart &piece : move.pieces) {
    piece.stays = !mayShare(piece, move, block) || !seen.insert(piece.small).second;
    bytes += piece.size;
    if (piece.stays)
      staying += piece.size;
    else
      going.push_back(&piece);
  }
  // Last what is to stay first.
  llvm::stable_sort(going, [&](MovedPart *a, MovedPart *b) {
    LiveRange first = groups[groupOf[declarationOf(a->small)]].live;
    LiveRange second = groups[groupOf[declarationOf(b->small)]].live;
    return move.joins ? first.first > second.first : first.last < second.last;
  });
  for (; !going.empty() && 2 * staying <= bytes && !tryMove(move); going.pop_back()) {
    going.back()->stays = true;
    staying += going.back()->size;
  }
}

bool Elider::tryMove(Move &move) {
  uint32_t at = positions.lookup(move.launch);
  uint32_t home = groupOf.lookup(declarationOf(move.large));
  SmallVector<uint32_t> parts{home};
  Group merged = groups[home];
  uint32_t large = merged.indexOf(declarationOf(move.large));
  const uint64_t begin = merged.members[large].begin;
  for (const MovedPart &piece : move.pieces) {
    if (piece.stays)
      continue;
    uint32_t own = groupOf.lookup(declarationOf(piece.small));
    uint32_t small = merged.add(groups[own], begin + piece.begin);
    merged.flows.push_back(move.joins ? Flow{small, large, at} : Flow{large, small, at});
    parts.push_back(own);
  }
  for (Member &member : merged.members)
    llvm::erase_if(member.uses, [&](const Use &use) { return use.at == at; });
  for (const MovedPart &piece : move.pieces)
    if (piece.stays)
      addCopy(merged, move, piece, large, at);
  if (merged.members.size() > kMostMembers || !merged.isLegal() || isTooFull(merged, parts))
    return false;
  for (uint32_t part : ArrayRef(parts).drop_front())
    groups[part] = Group();
  for (const Member &member : merged.members)
    if (member.decl)
      groupOf[member.decl] = home;
  groups[home] = std::move(merged);
  return move.goes = true;
}

/// What stays of a join is written right before; of a cut it is read from the whole.
void Elider::addCopy(Group &group, const Move &move, const MovedPart &piece, uint32_t large,
                     uint32_t at) {
  auto read = [&](plan::ir::BufferDeclOp decl, uint32_t when) {
    if (uint32_t i = group.indexOf(decl); decl && i < group.members.size())
      group.members[i].uses.push_back({when, false});
  };
  if (!move.joins)
    return read(declarationOf(move.large), at);
  read(declarationOf(piece.small), at - 1);
  uint64_t begin = group.members[large].begin + piece.begin;
  group.flows.push_back({uint32_t(group.members.size()), large, at});
  group.members.push_back({{}, begin, piece.size, {{at - 1, true}}});
}

/// Whether more would be live than at the fullest moment that there was. If not, that is how it is.
bool Elider::isTooFull(const Group &merged, ArrayRef<uint32_t> parts) {
  plan::ir::BufferDeclOp base = merged.members.front().decl;
  Profile &profile = profiles[base.getDeviceAttr()];
  work += uint64_t(merged.live.last - merged.live.first) * 2;
  if (work > kMostWork)
    return true;
  for (uint32_t part : parts)
    profile.add(groups[part].live, -int64_t(groups[part].bytes()));
  auto live = ArrayRef(profile.live).slice(merged.live.first, merged.live.last - merged.live.first);
  bool isTooFull = !live.empty() && *llvm::max_element(live) + merged.bytes() > profile.peak;
  if (!isTooFull)
    profile.add(merged.live, merged.bytes());
  else
    for (uint32_t part : parts)
      profile.add(groups[part].live, groups[part].bytes());
  return isTooFull;
}

//===----------------------------------------------------------------------===//
// What comes of it
//===----------------------------------------------------------------------===//

void Elider::rewrite() {
  for (Move &move : moves)
    if (move.goes)
      copyWhatStays(move);
  for (Group &group : groups)
    if (group.members.size() > 1)
      note(group);
}

/// The bytes of a move that are copied, as a buffer that shares those of the large one.
Value Elider::declarePart(OpBuilder &b, Move &move, const MovedPart &piece) {
  Group &group = groups[groupOf.lookup(declarationOf(move.large))];
  uint64_t begin = group.members[group.indexOf(declarationOf(move.large))].begin + piece.begin;
  auto part = plan::ir::BufferDeclOp::create(
      b, move.launch.getLoc(), move.large.getType(), b.getI64IntegerAttr(piece.size),
      group.members.front().decl.getDeviceAttr(), FlatSymbolRefAttr(), IntegerAttr(),
      move.launch.getNameAttr(),
      TypeAttr::get(RankedTensorType::get({int64_t(piece.size)}, b.getI8Type())));
  group.members.push_back({part, begin, piece.size, {}});
  return part;
}

void Elider::copyWhatStays(Move &move) {
  plan::ir::LaunchOp launch = move.launch;
  OpBuilder b(launch);
  for (const MovedPart &piece : move.pieces) {
    if (!piece.stays)
      continue;
    Value part = declarePart(b, move, piece);
    plan::ir::CopyOp::create(b, launch.getLoc(), move.joins ? piece.small : part,
                             move.joins ? part : piece.small, launch.getDeviceAttr(),
                             launch.getNameAttr(), launch.getLocationAttr(), b.getI64IntegerAttr(0),
                             b.getStringAttr(""), b.getArrayAttr({}));
  }
  launch.erase();
}

/// On all of its buffers, the base in front of the others.
void Elider::note(const Group &group) {
  plan::ir::BufferDeclOp base = group.members.front().decl, first = base;
  for (const Member &member : group.members)
    if (member.decl && member.decl->isBeforeInBlock(first))
      first = member.decl;
  if (first != base)
    base->moveBefore(first);
  for (const Member &member : group.members)
    if (member.decl)
      setShare(member.decl, {numWholes, member.begin});
  ++numWholes;
}

void gantry::memory::aliasConcatSlice(plan::ir::FuncOp func) {
  WalkResult walk = func.walk([](plan::ir::LaunchOp launch) {
    return isMove(launch) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    Elider(func).run();
}
