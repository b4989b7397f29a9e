// The rules of a block that a library may do: one launch for each rank, in their order, each on a
// device of its own, of a kernel that the library alone has, on buffers of the size that its symbol
// says.
#include "Walk.h"

#include "gantry/Plan/AllReducePart.h"
#include "gantry/Plan/KernelVariants.h"

#include <algorithm>
#include <vector>

namespace gantry::plan {

namespace {

class BlockChecker : Walk {
public:
  BlockChecker(const Walk &walk, const fb::Block &block) : Walk(walk), block(block) {}

  Status run(std::string_view library) {
    if (library != collectiveLibrary)
      return fail("there is no library '" + std::string(library) + "' for a branch");
    if (countOf(block.commands()) < 2)
      return fail("a library's block of " + number(countOf(block.commands())) + " commands");
    for (uint32_t rank = 0; rank < block.commands()->size(); ++rank)
      GANTRY_RETURN_IF_ERROR(checkRank(*block.commands()->Get(rank), rank));
    return {};
  }

private:
  Status checkRank(const fb::Command &command, uint32_t rank) {
    if (command.opcode() != fb::Opcode::launch)
      return fail("a library's block has a command that is no launch");
    const fb::Kernel &kernel = *plan.kernels()->Get(command.kernel());
    if (countOf(kernel.variants()) != 1 || !isCollective(*kernel.variants()->Get(0)))
      return fail("kernel '" + kernel.symbol()->str() + "' in a library's block is not its own");
    Expected<AllReducePart> part =
        AllReducePart::parse(textOf(kernel.variants()->Get(0)->symbol()));
    if (!part)
      return fail(part.status().message());
    AllReducePart wanted = rank == 0 ? *part : first;
    wanted.rank = rank, wanted.ranks = block.commands()->size();
    if (*part != wanted)
      return fail("'" + part->text() + "' is not '" + wanted.text() + "'");
    first = wanted;
    if (std::find(devices.begin(), devices.end(), command.device()) != devices.end())
      return fail("two ranks of a collective are on device " + number(command.device()));
    devices.push_back(command.device());
    if (countOf(command.buffers()) != 2 || command.num_results() != 1 || command.has_scratch() ||
        command.buffers()->Get(0)->size() != part->bytes() ||
        command.buffers()->Get(1)->size() != part->bytes())
      return fail("the buffers of kernel '" + kernel.symbol()->str() + "' are not those of '" +
                  part->text() + "'");
    return {};
  }

  const fb::Block &block;
  AllReducePart first;
  std::vector<uint32_t> devices;
};

} // namespace

Status checkLibraryBlock(const Walk &walk, const fb::Block &block, std::string_view library) {
  return BlockChecker(walk, block).run(library);
}

} // namespace gantry::plan
