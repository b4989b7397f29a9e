// Branches that a library decides when a plan is loaded: the first block is taken when its kernels
// are there and their devices can do it together, else the second one, with a line in the log.
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Driver.h"
#include "gantry/Runtime/LoadedPlan.h"
#include "gantry/Runtime/Runtime.h"

#include <algorithm>

namespace gantry::runtime {

/// What needs no loading to be known. The block has launches only, one for each rank.
void LoadedPlan::chooseBranch(const plan::fb::Command &command, const plan::fb::Block &block) {
  LibraryBranch &branch = branches.emplace_back(LibraryBranch{&command});
  for (const plan::fb::Command *launch : *block.commands()) {
    Device *device = planDevices[launch->device()];
    KernelChoice choice{launch->kernel(), device, 0, {}, {}, launch};
    if (branch.why = chooseVariant(choice, 0); !branch.why.ok())
      return;
    branch.ranks.push_back(std::move(choice));
  }
}

Status LoadedPlan::loadBranch(LibraryBranch &branch) {
  Driver &driver = branch.ranks.front().device->driver();
  std::vector<Device *> devices;
  std::vector<KernelHandle> handles;
  for (KernelChoice &rank : branch.ranks) {
    if (&rank.device->driver() != &driver)
      return Status::unsupported("its devices are of several drivers");
    const KernelChoice *known = choiceOf(rank.kernel, rank.device);
    if (known)
      rank.handle = known->handle;
    else
      GANTRY_RETURN_IF_ERROR(loadVariant(rank));
    devices.push_back(rank.device);
    handles.push_back(rank.handle);
  }
  GANTRY_RETURN_IF_ERROR(driver.connect(devices, handles));
  for (KernelChoice &rank : branch.ranks)
    if (!choiceOf(rank.kernel, rank.device)) {
      choicesOf[rank.kernel].push_back(static_cast<uint32_t>(choices.size()));
      choices.push_back(std::move(rank));
    }
  return {};
}

/// A line in the log for each reason.
void LoadedPlan::loadBranches() {
  std::vector<std::string> said;
  for (LibraryBranch &branch : branches) {
    if (branch.why.ok())
      branch.why = loadBranch(branch);
    const std::string &why = branch.why.message();
    if (branch.why.ok() || std::find(said.begin(), said.end(), why) != said.end())
      continue;
    said.push_back(why);
    owner->log(Severity::remark, "'" + fileName + "': devices exchange directly, without " +
                                     branch.command->library()->str() + ": " + why);
  }
}

bool LoadedPlan::takesLibrary(const plan::fb::Command &command) const {
  const auto found =
      std::find_if(branches.begin(), branches.end(),
                   [&](const LibraryBranch &branch) { return branch.command == &command; });
  return found != branches.end() && found->why.ok();
}

} // namespace gantry::runtime
