#include "Trial.h"

#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Plan/Outline.h"
#include "gantry/Plan/PlanFile.h"
#include "gantry/Plan/VerifyBytes.h"
#include "gantry/Runtime/Session.h"
#include "gantry/Show/PlacementLog.h"
#include "gantry/Show/PlanDiff.h"
#include "gantry/Show/Report.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Capped.h"

#include <cstring>
#include <sys/mman.h>

namespace gantry::runtime::test {

namespace {
namespace fb = plan::fb;

// What this machine has for many plans at once. A plan that wants more is refused.
constexpr const char *memoryOfEach = "limit:256MiB";
constexpr uint64_t mostBound = uint64_t(64) << 20; // bytes of inputs and outputs

void tell(const plan::PlanFile &file, bool tellsAll) {
  const fb::Plan &plan = file.plan();
  for (const bool isDetailed : {false, true}) {
    if (isDetailed && !tellsAll)
      break;
    show::Question question;
    question.all = question.memory = question.timeline = isDetailed;
    const show::Subject subject(plan, file.bytes().size(), question);
    show::explainForPeople(subject);
    show::explainAsJson(subject);
    const show::Reported reported{subject, {}};
    if (tellsAll)
      show::reportPage({&reported, 1});
  }
  for (const fb::Function *function : *plan.functions())
    show::placementLog(plan, *function, show::Form::people);
  if (tellsAll)
    show::diffForPeople(show::diffPlans(plan, plan), true, show::defaultWidth);
  show::memorySummary(plan);
}

std::shared_ptr<Runtime> makeRuntime(const TrialOptions &options) {
  RuntimeOptions wanted;
  wanted.threads = 2;
  for (const char *type : {"CPU=", "GPU="})
    wanted.memory.push_back(MemorySetting::parse(std::string(type) + memoryOfEach).take());
  return createRuntime(std::move(wanted),
                       options.emulate ? std::optional(EmulatorChecks::memory) : std::nullopt);
}

/// Memory that ends, up to its alignment, where a page begins that nobody may touch.
Expected<Tensor> guarded(const TensorType &type) {
  const uint64_t page = 4096, bytes = alignTo(type.byteSize(), bufferAlignment);
  const uint64_t room = alignTo(bytes, page), all = room + page;
  void *memory = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::doesNotFit("no memory for an array");
  auto *begin = static_cast<uint8_t *>(memory);
  ::mprotect(begin + room, page, PROT_NONE);
  std::shared_ptr<void> owner(memory, [all](void *mapped) { ::munmap(mapped, all); });
  return Tensor::share(type, begin + (room - bytes), std::move(owner));
}

/// Any bytes: what kernels read need not make sense. For every other trial small integers, so that
/// what checks its indices goes on.
void fill(const Tensor &tensor, uint64_t seed, uint64_t &state) {
  const size_t step = elementTypeSize(tensor.type().element);
  const ElementType type = tensor.type().element;
  const bool isWhole = type == ElementType::i32 || type == ElementType::i64;
  const bool isSmall = seed % 2 == 0 && isWhole;
  for (uint64_t at = 0; at < tensor.byteSize(); at += step) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const uint64_t bits = isSmall ? state >> 62 : state ^ (state >> 32);
    std::memcpy(tensor.dataAs<uint8_t>() + at, &bits, step);
  }
}

uint64_t bytesOf(const FunctionInfo &function) {
  uint64_t bytes = 0;
  for (const auto *bindings : {&function.inputs, &function.outputs})
    for (const BindingInfo &binding : *bindings)
      bytes = cappedSum(bytes, binding.type.byteSize());
  return bytes;
}

class Trial {
public:
  Trial(const TrialOptions &options, const Cancel &cancel, std::atomic<Stage> &stage)
      : options(options), cancel(cancel), stage(stage), state(options.seed) {}

  Status run(const AlignedBuffer &bytes) {
    stage = Stage::open;
    Expected<plan::PlanFile> file =
        plan::PlanFile::fromBytes(bytes.bytes(), nullptr, {plan::Check::metadataOnly});
    if (!file)
      return file.status();
    stage = Stage::tell;
    tell(*file, options.tellsAll);
    if (options.tellsAll && options.reader.read)
      readAsText(bytes);
    stage = Stage::load;
    Expected<std::shared_ptr<const LoadedPlan>> loaded =
        LoadedPlan::load(makeRuntime(options), file.take(), "mutant");
    if (!loaded)
      return loaded.status();
    stage = Stage::session;
    Expected<std::shared_ptr<Session>> session = Session::create(*loaded);
    if (!session)
      return session.status();
    for (unsigned i = 0; i < (*loaded)->functions().size(); ++i)
      GANTRY_RETURN_IF_ERROR(runFunction(*loaded, **session, i));
    stage = Stage::done;
    return {};
  }

private:
  const TrialOptions &options;
  const Cancel &cancel;
  std::atomic<Stage> &stage;
  uint64_t state;

  /// Whatever it says.
  void readAsText(const AlignedBuffer &bytes) const {
    gantry_artifact_t *text = nullptr;
    options.reader.read(bytes.data(), bytes.size(), &text);
    options.reader.destroy(text);
  }

  Status runFunction(const std::shared_ptr<const LoadedPlan> &loaded, Session &session,
                     unsigned index) {
    stage = Stage::bind;
    const FunctionInfo &function = loaded->functions()[index];
    if (bytesOf(function) > mostBound)
      return Status::doesNotFit("inputs and outputs of over 64 MiB");
    Expected<std::shared_ptr<Bindings>> bindings = Bindings::create(loaded, index);
    if (!bindings)
      return bindings.status();
    (*bindings)->setCancel(&cancel);
    for (unsigned i = 0; i < function.inputs.size(); ++i) {
      Expected<Tensor> input = guarded(function.inputs[i].type);
      if (!input)
        return input.status();
      fill(*input, options.seed, state);
      GANTRY_RETURN_IF_ERROR((*bindings)->bindInput(i, *input));
    }
    for (unsigned i = 0; i < function.outputs.size(); ++i) {
      Expected<Tensor> output = guarded(function.outputs[i].type);
      if (!output)
        return output.status();
      GANTRY_RETURN_IF_ERROR((*bindings)->bindOutput(i, *output));
    }
    stage = Stage::run;
    GANTRY_RETURN_IF_ERROR(session.run(**bindings));
    return session.runTimed(**bindings).status();
  }
};

} // namespace

Outcome tryPlan(const AlignedBuffer &bytes, const TrialOptions &options, const Cancel &cancel,
                std::atomic<Stage> &stage) {
  const Status status = Trial(options, cancel, stage).run(bytes);
  return {stage, status.ok() ? std::string() : status.message()};
}

} // namespace gantry::runtime::test
