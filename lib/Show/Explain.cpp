#include "gantry/Show/Explain.h"

#include "gantry/Plan/KernelVariants.h"
#include "gantry/Plan/Outline.h"
#include "gantry/Plan/PlanTopology.h"
#include "gantry/Show/PlacementLog.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace gantry::show {

using namespace plan;

Subject::Subject(const fb::Plan &plan, uint64_t fileBytes, Question question)
    : question(std::move(question)), plan(plan), planBytes(fileBytes + bytesLeftOut(plan)),
      isOutline(plan::isOutline(plan)), costs(CostModel::of(topologyOf(plan))) {}

std::vector<const fb::Function *> Subject::functions() const {
  std::vector<const fb::Function *> chosen;
  for (const auto *function : listOf(plan.functions()))
    if (question.function.empty() || textOf(function->name()) == question.function)
      chosen.push_back(function);
  return chosen;
}

Status Subject::checkFunction() const {
  if (!functions().empty())
    return {};
  std::string names;
  for (const auto *function : listOf(plan.functions()))
    names += (names.empty() ? "" : ", ") + std::string(textOf(function->name()));
  return Status::notFound("no function is called '" + question.function + "'; the functions are " +
                          names);
}

namespace {

bool describes(const placement::OpPattern &pattern, const fb::PlacedOp &op) {
  const std::string_view ops[] = {textOf(op.log_name()), textOf(op.source_op())};
  const std::string_view names[] = {textOf(op.name()), textOf(op.node())};
  const std::string_view kinds[] = {textOf(op.kind()), "compute"};
  return pattern.matches({ops, names, kinds});
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// What may have been meant by a pattern that describes nothing: the same in other letters, or a
/// part of a name. Else the types that there are.
std::string meant(const placement::OpPattern &pattern,
                  const std::vector<const fb::Function *> &functions) {
  constexpr size_t typesListed = 8;
  std::set<std::string_view> types;
  const std::string wanted = lower(pattern.text);
  bool isPart = false;
  for (const fb::Function *function : functions)
    for (const auto *op : listOf(function->placed_ops())) {
      for (const auto *text : {op->source_op(), op->log_name(), op->name(), op->node()}) {
        if (lower(textOf(text)) == wanted)
          return "; did you mean '" + std::string(textOf(text)) + "'? Case counts";
        isPart |= textOf(text).find(pattern.text) != std::string_view::npos;
      }
      types.insert(typeOf(*op));
    }
  if (isPart)
    return "; did you mean '*" + pattern.text + "*'? All of a name has to match";
  if (std::string near =
          didYouMean(pattern.text, std::vector<std::string>(types.begin(), types.end()));
      !near.empty())
    return near;
  std::string list;
  size_t listed = 0;
  for (std::string_view type : types)
    if (listed++ < typesListed)
      list += (list.empty() ? "" : ", ") + std::string(type);
  return list.empty() ? ""
                      : "; the types of ops are " + list + (listed > typesListed ? ", ..." : "");
}

} // namespace

Status Subject::readPattern() {
  if (question.op.empty())
    return {};
  auto read = placement::parseOpPattern(question.op);
  if (!read)
    return Status::invalidArgument("'" + question.op + "' " + read.status().message());
  pattern = read.take();
  for (const fb::Function *function : functions())
    for (const auto *op : listOf(function->placed_ops()))
      if (wants(*op))
        quotedNames.push_back("'" + std::string(textOf(op->name())) + "'");
  return quotedNames.empty() ? Status::notFound("'" + question.op + "' describes no op" +
                                                meant(pattern, functions()))
                             : Status();
}

bool Subject::wants(const fb::PlacedOp &op) const {
  return question.op.empty() || describes(pattern, op);
}

bool Subject::wants(const LedgerCopy &copy) const {
  const auto isNamed = [&](const std::string &name) {
    return copy.cause.find(name) != std::string_view::npos;
  };
  return question.op.empty() || placement::globMatches(pattern.text, copy.name) ||
         std::any_of(quotedNames.begin(), quotedNames.end(), isNamed);
}

std::string Subject::where(std::string_view text) const {
  const std::string_view source = textOf(plan.source());
  const size_t of = text.rfind(" of ");
  if (of == std::string_view::npos || source.empty())
    return std::string(text);
  const std::string_view file = text.substr(of + 4);
  const bool same = file.ends_with(source) &&
                    (file.size() == source.size() || file[file.size() - source.size() - 1] == '/');
  return std::string(same ? text.substr(0, of) : text);
}

double Subject::alone(const fb::PlacedOp &op) const {
  return op.predicted_seconds() > 0 ? op.predicted_seconds()
                                    : costs.seconds(op.device(), {op.flops(), op.bytes()});
}

double Subject::seconds(const LedgerCopy &copy) const {
  const double alone = costs.copySeconds(copy.from, copy.to, copy.bytes);
  return copy.joined && copy.bytes ? alone - costs.copyLatency(copy.from, copy.to) : alone;
}

std::string_view Launch::name() const { return main ? nodeOf(*main) : textOf(command->name()); }

double Launches::charged(const fb::PlacedOp &op) const {
  const auto launch = of.find(&op);
  return launch != of.end() && all[launch->second].main == &op ? all[launch->second].seconds : 0;
}

Launches Subject::launchesOf(const fb::Function &function, const Ledger &ledger) const {
  Launches launches;
  std::unordered_map<const fb::Command *, size_t> numbers;
  const CommandClock clock(plan, function);
  for (const PlacedCommand &placed : commandsOf(function))
    if (placed.command->opcode() == fb::Opcode::launch) {
      numbers[placed.command] = launches.all.size();
      launches.all.push_back(
          {placed.command, placed.rounds * clock.duration(*placed.command), {}, nullptr});
    }
  for (const LogEntry &entry : executionOrder(plan, function, ledger)) {
    if (!entry.launch)
      continue;
    const size_t number = numbers.at(entry.launch);
    Launch &launch = launches.all[number];
    launch.ops.push_back(entry.op);
    launches.of[entry.op] = number;
    if (!launch.main || alone(*entry.op) > alone(*launch.main))
      launch.main = entry.op;
  }
  return launches;
}

std::string_view Subject::libraryOf(const fb::Kernel &kernel, uint32_t device) const {
  const std::string_view driver = driversOf(*plan.devices()->Get(device)).front();
  for (const auto *variant : listOf(kernel.variants()))
    if (textOf(variant->driver()) == driver)
      return textOf(variant->library());
  return {};
}

std::string Subject::codeOf(std::string_view symbol, uint32_t device) const {
  for (const auto *kernel : listOf(plan.kernels()))
    if (textOf(kernel->symbol()) == symbol)
      if (const std::string_view library = libraryOf(*kernel, device); !library.empty())
        return std::string(library) + ", else " + std::string(symbol);
  return std::string(symbol);
}

std::vector<KernelUse> Subject::kernelsOf(const Launches &launches) const {
  std::vector<KernelUse> uses;
  std::map<std::pair<uint32_t, uint32_t>, size_t> places;
  for (const Launch &launch : launches.all) {
    const fb::Command &command = *launch.command;
    auto [place, isNew] = places.try_emplace({command.kernel(), command.device()}, uses.size());
    if (isNew) {
      KernelUse &use = uses.emplace_back();
      const fb::Kernel &kernel = *listOf(plan.kernels())[command.kernel()];
      use.symbol = textOf(kernel.symbol());
      use.library = libraryOf(kernel, command.device());
      use.device = command.device();
      for (const auto *name : listOf(command.log_names()))
        use.ops += (use.ops.empty() ? "" : " ") + std::string(textOf(name));
    }
    KernelUse &use = uses[place->second];
    ++use.launches;
    use.items += command.items();
    use.seconds += launch.seconds;
    // The node's name alone would not tell its way back from the way there.
    const bool isForward = !launch.main || launch.main->part() == fb::StepPart::forward;
    use.nodes.push_back(isForward ? launch.name() : textOf(launch.main->name()));
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const KernelUse &a, const KernelUse &b) { return a.seconds > b.seconds; });
  return uses;
}

std::vector<StepPartUse> Subject::stepPartsOf(const fb::Function &function,
                                              const Launches &launches) const {
  std::vector<StepPartUse> parts;
  for (const fb::StepPart part : fb::EnumValuesStepPart())
    parts.push_back({part});
  for (const auto *op : listOf(function.placed_ops()))
    ++parts[static_cast<size_t>(op->part())].ops;
  if (parts.front().ops == listOf(function.placed_ops()).size())
    return {};
  for (const Launch &launch : launches.all) {
    StepPartUse &use =
        parts[static_cast<size_t>(launch.main ? launch.main->part() : fb::StepPart::forward)];
    ++use.launches;
    use.seconds += launch.seconds;
    use.bytes += launch.command->bytes();
  }
  return parts;
}

ComputedAgain Subject::computedAgain(const Launches &launches) const {
  ComputedAgain again;
  for (const Launch &launch : launches.all)
    for (const fb::PlacedOp *op : launch.ops) {
      if (!op->again())
        continue;
      if (op != launch.main) {
        ++again.inside;
        continue;
      }
      again.alone.push_back(nodeOf(*op));
      again.seconds += launch.seconds;
    }
  return again;
}

std::vector<NodeRow> Subject::nodesOf(const fb::Function &function) const {
  std::vector<NodeRow> rows;
  std::unordered_map<std::string_view, size_t> places;
  for (const auto *op : listOf(function.placed_ops())) {
    const std::string_view node = textOf(op->node());
    size_t place = rows.size();
    if (!node.empty())
      place = places.try_emplace(node, place).first->second;
    if (place == rows.size())
      rows.push_back({nodeOf(*op), typeOf(*op), {}});
    rows[place].ops.push_back(op);
  }
  return rows;
}

std::vector<DeviceLoad> Subject::loadsOf(const fb::Function &function, const Ledger &ledger) const {
  std::vector<DeviceLoad> loads(plan.devices()->size());
  for (const auto *op : listOf(function.placed_ops()))
    ++loads[op->device()].ops;
  const CommandClock clock(plan, function);
  for (const PlacedCommand &placed : commandsOf(function))
    if (placed.command->opcode() == fb::Opcode::launch) {
      ++loads[placed.command->device()].launches;
      loads[placed.command->device()].compute += placed.rounds * clock.duration(*placed.command);
    }
  for (const LedgerCopy &copy : ledger.copies)
    if (copy.time != CopyTime::load) {
      loads[copy.countedOn].copies += copy.rounds * seconds(copy);
      loads[copy.countedOn].copied += static_cast<uint64_t>(copy.rounds) * copy.bytes;
    }
  return loads;
}

DeviceMemory Subject::memoryOf(uint32_t device) const {
  DeviceMemory memory;
  for (uint32_t a = 0; a < listOf(plan.arenas()).size(); ++a) {
    const auto *arena = plan.arenas()->Get(a);
    if (arena->device() != device)
      continue;
    memory.sizes[static_cast<size_t>(arena->kind())] += arena->size();
    if (arena->kind() == fb::ArenaKind::transient) {
      memory.lowerBound += arena->lower_bound();
      memory.transient = a;
    }
  }
  return memory;
}

} // namespace gantry::show
