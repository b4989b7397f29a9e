// Runs a program whose devices all run inline: each step on the calling thread, kernels on the
// thread pool, in the order of the program.
#include "Executors.h"

#include "gantry/Runtime/CommandRecorder.h"
#include "gantry/Runtime/Program.h"
#include "gantry/Runtime/ThreadPool.h"

namespace gantry::runtime {

namespace {

class InlineExecutor final : public Executor {
public:
  InlineExecutor(const Program &program, ThreadPool &pool) : program(program), pool(pool) {}

  Status run(CommandOrder) override {
    return execute([](const Step &, auto run) { run(); });
  }

  Status runTimed(CommandOrder, std::vector<CommandEvent> &events) override {
    CommandRecorder recorder(program, events);
    return execute([&](const Step &step, auto run) {
      const double start = recorder.now();
      run();
      recorder.add(step, start);
    });
  }

private:
  /// The hot loop. `observe(step, run)` calls run() and may look at the clock around it.
  template <typename Observe>
  Status execute(Observe observe) {
    const Step *begin = program.steps().data();
    const Step *end = begin + program.steps().size();
    for (const Step *step = begin; step != end;) {
      GANTRY_RETURN_IF_ERROR(program.checkCancelled(*step));
      switch (step->kind) {
      case Step::Kind::call:
        observe(*step, [&] {
          pool.parallelFor(reinterpret_cast<KernelFn>(step->kernel), step->buffers, step->items,
                           step->grain);
        });
        ++step;
        break;
      case Step::Kind::jumpIfFalse:
        step = *static_cast<const uint8_t *>(step->buffers[0]) ? step + 1 : begin + step->target;
        break;
      case Step::Kind::jump:
        step = begin + step->target;
        break;
      default: {
        Status status;
        observe(*step, [&] { status = program.perform(*step); });
        if (!status.ok())
          return program.withStep(*step, std::move(status));
        ++step;
      }
      }
    }
    return {};
  }

  const Program &program;
  ThreadPool &pool;
};

} // namespace

std::unique_ptr<Executor> createInlineExecutor(const Program &program, ThreadPool &pool) {
  return std::make_unique<InlineExecutor>(program, pool);
}

} // namespace gantry::runtime
