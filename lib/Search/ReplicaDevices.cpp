// What "GPU:*" is in the list of a gantry.replicate: as many replicas as there are such devices, so
// that a graph need not say how many tasks or devices run it.
#include "ReplicaDevices.h"

#include "gantry/Device/NameRanges.h"
#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Pipeline/Pipeline.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace gantry;

/// Whether it leaves open which device it is. Of a job's device only the whole is one: in names
/// without a job the task is the default one.
static bool meansAll(const DeviceName &name) {
  return !name.type || !name.id || (name.job && !name.task);
}

/// "/job:worker/task:*/device:GPU:*", as Topology::devicesNamed takes it.
static std::string textOf(const DeviceName &name) {
  auto number = [](const std::optional<uint32_t> &part) {
    return part ? std::to_string(*part) : std::string("*");
  };
  const std::string device =
      name.type ? std::string(deviceTypeName(*name.type)) + ":" + number(name.id) : "*";
  return "/job:" + name.job.value_or("*") + "/replica:" + number(name.replica) +
         "/task:" + number(name.task) + "/device:" + device;
}

static LogicalResult expand(ReplicateOp op, const Topology &topology) {
  SmallVector<Attribute> devices;
  bool isOpen = false;
  for (DeviceAttr device : op.getDevices().getAsRange<DeviceAttr>()) {
    if (!meansAll(device.getName())) {
      devices.push_back(device);
      continue;
    }
    isOpen = true;
    Expected<std::vector<DeviceName>> named = topology.devicesNamed(textOf(device.getName()));
    if (!named)
      return op.emitError() << named.status().message();
    for (const DeviceName &name : *named)
      devices.push_back(DeviceAttr::get(op.getContext(), name));
  }
  if (!isOpen)
    return success();
  op.setDevicesAttr(Builder(op.getContext()).getArrayAttr(devices));
  return verify(op); // weights and operands of replicas are as many as devices
}

/// A list that was written for more tasks than there are.
static LogicalResult checkTasks(ReplicateOp op, ArrayRef<TaskName> tasks) {
  std::vector<DeviceName> missing;
  for (DeviceAttr device : op.getDevices().getAsRange<DeviceAttr>())
    if (DeviceName name = device.getName();
        name.job && name.task && !llvm::is_contained(tasks, taskOf(name)))
      missing.push_back(name.withDefaultTask());
  if (missing.empty())
    return success();
  const TaskName first = taskOf(missing.front());
  return op.emitError() << "runs on " << foldDevices(missing) << ", whose tasks are not there; the "
                        << "tasks are " << foldTasks(tasks)
                        << "; for whatever tasks there are, write \"/job:" << first.job
                        << "/task:*/" << StringRef(deviceTypeName(*missing.front().type)) << ":*\"";
}

LogicalResult gantry::findReplicaDevices(ModuleOp module, const CompileOptions &options) {
  const Topology topology = getTopology(module);
  const std::vector<TaskName> tasks = tasksOf(topology);
  const WalkResult result = module.walk([&](ReplicateOp op) {
    const bool isFine =
        succeeded(expand(op, topology)) && (options.place.soft || succeeded(checkTasks(op, tasks)));
    return isFine ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
