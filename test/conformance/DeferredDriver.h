// A driver for tests, whose queues work later: nothing is done before the gate is open, and then on
// threads of the queues' own. The work itself is the host's.
#pragma once

#include "gantry/Drivers/HostDriver.h"
#include "gantry/Runtime/ImmediateDevice.h"
#include "gantry/Runtime/ThreadPool.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace gantry::runtime::test {

/// Holds the work of all queues back; open at first.
class Gate {
public:
  void close() { set(false); }
  void open() { set(true); }
  void pass() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return isOpen; });
  }

private:
  void set(bool wanted) {
    std::lock_guard lock(mutex);
    isOpen = wanted;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool isOpen = true;
};

/// What the test shares with the driver.
struct Deferral {
  Gate gate;
  std::atomic<int> launchesToFail{0}; ///< the next so many launches fail, when they are run
  std::atomic<int> codeLoads{0};
  bool runsInline =
      false; ///< memory and kernels are the host's; the queues work later all the same
};

/// Reached when the queue has come to where it was recorded last.
class DeferredEvent final : public Event {
public:
  uint64_t record() {
    std::lock_guard lock(mutex);
    return ++recorded;
  }
  uint64_t last() {
    std::lock_guard lock(mutex);
    return recorded;
  }
  void reach(uint64_t ticket, Outcome outcome) {
    std::lock_guard lock(mutex);
    reached = ticket;
    how = std::move(outcome);
    changed.notify_all();
  }
  Outcome waitFor(uint64_t ticket) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reached >= ticket; });
    return how;
  }
  Status wait() override { return waitFor(last()).status; }

private:
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, reached = 0;
  Outcome how;
};

class DeferredDevice;

class DeferredQueue final : public Queue {
public:
  DeferredQueue(Device &device, ImmediateDevice &host, Deferral &deferral)
      : Queue(device), host(host), deferral(deferral), worker([this] { work(); }) {}
  ~DeferredQueue() override {
    {
      std::lock_guard lock(mutex);
      isEnding = true;
      changed.notify_all();
    }
    worker.join();
  }

  bool isOverOnReturn() const override { return false; }

  Status launch(const Launch &launch) override {
    return later([this, launch]() -> Status {
      if (deferral.launchesToFail.fetch_sub(1) > 0)
        return Status::internal("injected: the launch failed late");
      deferral.launchesToFail.fetch_add(1);
      return host.launch(launch);
    });
  }
  Status copy(void *destination, const void *source, uint64_t bytes) override {
    return later([=, this] { return host.copy(destination, source, bytes); });
  }
  Status upload(void *destination, const void *source, uint64_t bytes) override {
    return copy(destination, source, bytes);
  }
  Status download(void *destination, const void *source, uint64_t bytes) override {
    return copy(destination, source, bytes);
  }
  Status copyFrom(Device &, void *destination, const void *data, uint64_t bytes) override {
    return copy(destination, data, bytes);
  }
  Status fill(void *destination, uint8_t value, uint64_t bytes) override {
    return later([=, this] { return host.fill(destination, value, bytes); });
  }

  Status record(Event &event) override {
    auto &own = static_cast<DeferredEvent &>(event);
    const uint64_t ticket = own.record();
    always([this, &own, ticket] { own.reach(ticket, failure.value_or(Outcome{})); });
    return {};
  }
  Status wait(Event &event) override {
    auto &own = static_cast<DeferredEvent &>(event);
    const uint64_t ticket = own.last();
    always([this, &own, ticket] {
      Outcome outcome = own.waitFor(ticket);
      if (!outcome.status.ok() && !failure)
        failure = std::move(outcome);
    });
    return {};
  }
  void notify(Completion &completion) override {
    always([this, &completion] {
      Outcome outcome = failure.value_or(Outcome{});
      failure.reset();
      completion.finished(std::move(outcome));
    });
  }

private:
  /// Work that is left out after a failure.
  Status later(std::function<Status()> task) {
    always([this, task = std::move(task), mark = currentMark()] {
      if (failure)
        return;
      if (Status status = task(); !status.ok())
        failure = Outcome{std::move(status), mark};
    });
    return {};
  }
  void always(std::function<void()> task) {
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    changed.notify_all();
  }
  void work() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return isEnding || !tasks.empty(); });
      if (tasks.empty())
        return;
      std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      deferral.gate.pass();
      task();
    }
  }

  ImmediateDevice &host;
  Deferral &deferral;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool isEnding = false;
  std::optional<Outcome> failure; ///< of the worker alone
  std::thread worker;             ///< last: it uses all of the above
};

class DeferredDevice final : public Device {
public:
  DeferredDevice(const std::string &name, Driver &driver, std::unique_ptr<Device> host,
                 Deferral &deferral)
      : Device(name, driver, 0), owned(std::move(host)),
        host(static_cast<ImmediateDevice &>(*owned)), deferral(deferral) {}

  bool runsInline() const override { return deferral.runsInline; }
  Expected<MemoryInfo> memoryInfo() override { return host.memoryInfo(); }
  Unmet unmet(const VariantNeeds &needs) const override { return host.unmet(needs); }
  Expected<std::unique_ptr<CodeObject>> loadCode(std::span<const uint8_t> code) override {
    ++deferral.codeLoads;
    return host.loadCode(code);
  }
  std::unique_ptr<Queue> createQueue() override {
    return std::make_unique<DeferredQueue>(*this, host, deferral);
  }
  std::unique_ptr<Event> createEvent() override { return std::make_unique<DeferredEvent>(); }

  Status upload(void *destination, const void *source, uint64_t bytes) override {
    return host.upload(destination, source, bytes);
  }
  Status download(void *destination, const void *source, uint64_t bytes) override {
    return host.download(destination, source, bytes);
  }
  Status fill(void *destination, uint8_t value, uint64_t bytes) override {
    return host.fill(destination, value, bytes);
  }

protected:
  Expected<void *> takeMemory(uint64_t bytes) override {
    void *data = nullptr;
    if (bytes > uint64_t(1) << 40 || posix_memalign(&data, bufferAlignment, bytes) != 0)
      return Status::doesNotFit("there is not as much");
    return data;
  }
  void giveMemory(void *data, uint64_t) override { std::free(data); }

private:
  std::unique_ptr<Device> owned;
  ImmediateDevice &host;
  Deferral &deferral;
};

/// `name` is that of a driver that plans know.
class DeferredDriver final : public Driver {
public:
  DeferredDriver(std::string name, Deferral &deferral)
      : ownName(std::move(name)), deferral(deferral), pool(1), host(createHostDriver(pool)) {}

  std::string_view name() const override { return ownName; }
  Expected<std::unique_ptr<Device>> open(const DeviceRequest &request) override {
    Expected<std::unique_ptr<Device>> inner = host->open(request);
    if (!inner)
      return inner.status();
    return std::unique_ptr<Device>(
        std::make_unique<DeferredDevice>(request.name, *this, inner.take(), deferral));
  }

private:
  std::string ownName;
  Deferral &deferral;
  ThreadPool pool;
  std::unique_ptr<Driver> host;
};

} // namespace gantry::runtime::test
